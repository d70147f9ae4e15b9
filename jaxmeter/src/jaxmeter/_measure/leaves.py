"""Split arguments into leaves that JAX can trace and other leaves, which are held fixed."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

import jax

from jaxmeter._measure.case import Call

Static = tuple[Collection[int], Collection[str]]
"""The positions and the names of the static arguments."""


@dataclasses.dataclass(frozen=True, eq=False)
class Whole:
    """A static argument, which is treated as one leaf."""

    value: Any

    def __eq__(self, other: object) -> bool:
        try:
            return isinstance(other, Whole) and bool(self.value == other.value)
        except (TypeError, ValueError):  # an array, which cannot be static
            return False


def is_traceable(leaf: Any) -> bool:
    """Return whether JAX can trace a leaf: an array, a `jax.ShapeDtypeStruct`, or a number."""
    return hasattr(leaf, "shape") or isinstance(leaf, (bool, int, float, complex))


def split(
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    static: Static = ((), ()),
) -> tuple[dict[int, Any], Call]:
    """Return the leaves that JAX cannot trace, and the arguments without these leaves.

    The first value maps the position of each such leaf to the leaf. Each static argument counts as
    one such leaf. In the returned arguments, None replaces each of these leaves.
    """
    leaves, tree = _flat(_marked(args, kwargs, static))
    fixed = {
        number: leaf
        for number, leaf in enumerate(leaves)
        if leaf is not None and not is_traceable(leaf)
    }
    return fixed, tree.unflatten(
        None if number in fixed else leaf for number, leaf in enumerate(leaves)
    )


def merged(fixed: Mapping[int, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call:
    """Return the arguments of a call, with the fixed leaves from `split` put back."""
    leaves, tree = _flat((args, dict(kwargs)))
    args, kwargs = tree.unflatten(fixed.get(number, leaf) for number, leaf in enumerate(leaves))
    return tuple(map(_inside, args)), {name: _inside(value) for name, value in kwargs.items()}


def filled(tree: Any) -> Any:
    """Return a pytree with each `jax.ShapeDtypeStruct` replaced by an array of ones or of random
    keys."""

    def fill(leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        if jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.split(jax.random.key(0), leaf.shape)
        return jax.numpy.ones(leaf.shape, leaf.dtype)

    return jax.tree.map(fill, tree)


def _marked(args: tuple[Any, ...], kwargs: Mapping[str, Any], static: Static) -> Call:
    """Return the arguments with each static argument wrapped as one leaf."""
    numbers, names = static
    numbers = {n % len(args) for n in numbers if -len(args) <= n < len(args)}
    marked = tuple(Whole(value) if n in numbers else value for n, value in enumerate(args))
    named = {name: Whole(value) if name in names else value for name, value in kwargs.items()}
    return marked, named


def _flat(tree: Any) -> tuple[list[Any], Any]:
    return jax.tree.flatten(tree, is_leaf=lambda leaf: leaf is None)


def _inside(value: Any) -> Any:
    return value.value if isinstance(value, Whole) else value
