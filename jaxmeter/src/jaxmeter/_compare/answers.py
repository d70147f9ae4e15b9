"""Compare the answers of two functions bit by bit, and measure their largest difference."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
from jax.tree_util import keystr, tree_flatten_with_path

from jaxmeter._capture.constants import captured_values, plain
from jaxmeter._measure.staging import is_traceable
from jaxmeter._records.comparison import Answers


def answers_of(a: Any, b: Any) -> Answers:
    """Compare the answers of two functions: pytrees of arrays and numbers of any dtype and shape.
    The largest difference is None if trees, shapes or dtypes differ. Leaves that are neither arrays
    nor numbers are ignored."""
    found = [
        [leaf for leaf in tree_flatten_with_path(tree)[0] if is_traceable(leaf[1])]
        for tree in (a, b)
    ]
    trees = [
        " ".join([_containers(jax.tree.structure(tree)), *(keystr(path) for path, _ in leaves)])
        for tree, leaves in zip((a, b), found, strict=True)
    ]
    arrays_a, arrays_b = ([on_host(leaf) for _, leaf in leaves] for leaves in found)
    kinds = [[(one.dtype, one.shape) for one in arrays] for arrays in (arrays_a, arrays_b)]
    is_alike = trees[0] == trees[1] and kinds[0] == kinds[1]
    pairs = zip(arrays_a, arrays_b, strict=True) if is_alike else ()
    compared = [_compared(*pair) for pair in pairs]
    return Answers(
        a_fingerprint=values_fingerprint(arrays_a, trees[0]),
        b_fingerprint=values_fingerprint(arrays_b, trees[1]),
        max_difference=max((one for one, _ in compared), default=0.0) if is_alike else None,
        largest=max([0.0, *map(_largest, arrays_a)]),
        a_not_finite_count=sum(map(_not_finite_count, arrays_a)),
        b_not_finite_count=sum(map(_not_finite_count, arrays_b)),
        numbers_count=sum(one.size for one in arrays_a),
        is_not_finite_alike=all(is_same for _, is_same in compared),
    )


def _containers(tree: Any) -> str:
    """Return the types of the containers in a tree, with ``*`` for each leaf, such as
    ``tuple(*, list(*, *))``. The static data of containers are left out, because these data may
    change from call to call. None counts as a leaf, because jaxmeter may have put None in place of
    a leaf that is neither an array nor a number."""
    node = tree.node_data()
    if node is None or node[0] is type(None):
        return "*"
    return f"{node[0].__name__}({', '.join(map(_containers, tree.children()))})"


def values_fingerprint(arrays: Iterable[Any], about: str = "") -> str:
    """Return one SHA-256 hash for the string ``about`` and for arrays: their order, dtypes, shapes
    and bits."""
    digest = hashlib.sha256(about.encode())
    for array in map(on_host, arrays):
        digest.update(f"{array.dtype} {array.shape}\n".encode())
        # View the array as bytes, because hashlib cannot read arrays of dtypes such as bfloat16.
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def captured_fingerprint(closed_jaxpr: Any) -> str:
    """Return the SHA-256 hash of the arrays that a jaxpr captures, in the order of
    `captured_values`."""
    return values_fingerprint(array for array, _ in captured_values(closed_jaxpr).values())


def on_host(array: Any) -> np.ndarray:
    """Return an array as a numpy array; for random keys, return the data of the keys."""
    return np.asarray(plain(array))


def _compared(a: np.ndarray, b: np.ndarray) -> tuple[float, bool]:
    """Return the largest difference between two arrays at the positions where both arrays are
    finite. Also return whether the arrays are the same at all other positions."""
    a, b = _numbers(a), _numbers(b)
    is_finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(np.max(np.abs(b - a), where=is_finite, initial=0.0))
    return largest, np.array_equal(a[~is_finite], b[~is_finite], equal_nan=True)


def _largest(a: np.ndarray) -> float:
    a = _numbers(a)
    return float(np.max(np.abs(a), where=np.isfinite(a), initial=0.0))


def _not_finite_count(a: np.ndarray) -> int:
    return int(a.size - np.count_nonzero(np.isfinite(_numbers(a))))


def _numbers(a: np.ndarray) -> np.ndarray:
    """Return an array in double precision, so that dtypes such as bfloat16 can be compared."""
    return a.astype(np.complex128 if np.iscomplexobj(a) else np.float64)
