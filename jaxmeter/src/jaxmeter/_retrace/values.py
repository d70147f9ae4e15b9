"""Find the differences between two static values, and show values as short texts."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import types
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from jaxmeter._capture.functions import cells, defaults, unwrapped
from jaxmeter._measure.case import is_partial
from jaxmeter._records.retraces import Difference
from jaxmeter._render.units import type_text

_TEXT_CHARACTERS = 80
_CONTEXT_CHARACTERS = 20
_ARRAYS = (jax.Array, np.ndarray)
_COMPARED_BYTES = 1_000_000
"""Larger arrays count as different, because each call is compared with all earlier calls."""
_SEARCHED_DEPTH = 20
_SEARCHED_COUNT = 1000
"""The largest number of pairs of values that are searched for a difference."""


def static_differences(
    path: str, before: Any, now: Any, seen: set[tuple[int, int]], depth: int = 0
) -> Iterator[Difference]:
    """Yield the differences between two static values, or between two values that static objects
    hold. ``seen`` contains the ids of the pairs that were compared before, because objects may hold
    each other."""
    if same(before, now) or (id(before), id(now)) in seen:
        return
    seen.add((id(before), id(now)))
    texts = value_text(before), value_text(now)
    if isinstance(now, _ARRAYS) and texts[0] == texts[1]:
        texts = texts[0], f"another {texts[1]}"
    is_searched = depth < _SEARCHED_DEPTH and len(seen) < _SEARCHED_COUNT
    is_container = is_searched and _is_container(before, now)
    if not is_container and not _made_again(before, now, texts):
        # Two objects that hold functions, or a NaN, may be unequal although they are made alike.
        kind = "new object" if depth > 0 and _same_texts(texts) else "static value"
        yield Difference(kind, path, *contrast(*texts))
        return
    old, new = _held(path, before), _held(path, now)
    names = dict.fromkeys((*old, *new)) if is_searched else ()
    inside = [
        list(static_differences(name, old.get(name), new.get(name), seen, depth + 1))
        for name in names
    ]
    inside = [differences for differences in inside if differences]
    values = [[one for one in differences if one.kind != "new object"] for differences in inside]
    values = [differences for differences in values if differences]
    if is_container and len(values) > 1 and not _same_texts(texts):
        yield Difference("static value", path, *contrast(*texts))
    elif values:
        yield from itertools.chain(*values)
    elif is_container and len(inside) == 1:
        # If only one item changed, name that item: equinox passes many values at once.
        yield from inside[0]
    else:
        yield Difference("new object", path, *map(cut, texts))


def same(before: Any, now: Any) -> bool:
    """Return whether two static values, or two values that static objects hold, are the same.
    Values of different types, such as 20 and 20.0, are not the same."""
    if before is now:
        return True
    try:
        if type(before) is not type(now):
            return False
        leaves, tree = jax.tree.flatten(now)
        if not any(isinstance(leaf, _ARRAYS) for leaf in leaves):
            return bool(before == now)
        # JAX would compile a program for before == now.
        others, other_tree = jax.tree.flatten(before)
        return tree == other_tree and all(map(_same_leaves, others, leaves))
    except Exception:
        return False  # values that cannot be compared count as different


def _same_leaves(before: Any, now: Any) -> bool:
    if before is now or not (isinstance(before, _ARRAYS) and isinstance(now, _ARRAYS)):
        return before is now or (type(before) is type(now) and bool(before == now))
    if type_text(before) != type_text(now) or now.nbytes > _COMPARED_BYTES:
        return False
    if jax.numpy.issubdtype(now.dtype, jax.dtypes.extended):
        return True  # JAX would compile a program to read random keys
    return np.asarray(before).tobytes() == np.asarray(now).tobytes()


def _is_container(before: Any, now: Any) -> bool:
    """Return whether two values are containers of the same type, with the same keys."""
    if type(before) is not type(now) or not isinstance(now, (tuple, list, dict)):
        return False
    return _held("", before).keys() == _held("", now).keys()


def _made_again(before: Any, now: Any, texts: tuple[str, str]) -> bool:
    """Return whether two unequal objects are probably the same thing created twice, unless they
    hold different values: two functions with the same code, or two objects of a class that does not
    define ``__eq__``. Apart from addresses, their texts are the same."""
    if type(before) is not type(now) or _code(before) is not _code(now):
        return False
    # Objects that are compared by identity are unequal even if their content is the same.
    by_identity = _code(now) is not None or type(now).__eq__ is object.__eq__
    return by_identity and _same_texts(texts)


def _same_texts(texts: tuple[str, str]) -> bool:
    """Return whether the texts of two objects are the same apart from addresses."""
    return len({re.sub(" at 0x[0-9a-fA-F]+", "", text) for text in texts}) == 1


def _held(path: str, value: Any) -> dict[str, Any]:
    """Return the values that an object holds, by their paths: the items of a container, the
    variables of a function, or the attributes of any other object."""
    if isinstance(value, (tuple, list, dict)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {f"{path}[{text_of(key)}]": held for key, held in items}
    if is_partial(value):
        return {f"{path}.{name}": getattr(value, name) for name in ("func", "args", "keywords")}
    if isinstance(value, types.MethodType):
        return {f"{path}.__self__": value.__self__}
    if isinstance(value, types.FunctionType):
        variables = (*cells(value), *defaults(value))
        return {f"{name} in {path}": held for name, held in variables}
    if (wrapped := _attribute(value, "__wrapped__")) is not None:  # a jitted function
        return {path: wrapped}
    attributes = _attribute(value, "__dict__") or {}
    return {f"{path}.{name}": held for name, held in attributes.items()}


def _code(value: Any) -> Any:
    with contextlib.suppress(Exception):  # as in _attribute
        return getattr(unwrapped(value), "__code__", None) if callable(value) else None


def _attribute(value: Any, name: str) -> Any:
    with contextlib.suppress(Exception):  # an object may compute its attributes
        return getattr(value, name, None)


def value_text(value: Any) -> str:
    """Show a static value: the line of a function, the type of an array, or else the value."""
    code = _attribute(value, "__code__")
    if code is not None:
        return f"{value.__name__} of {code.co_filename}:{code.co_firstlineno}"
    if isinstance(value, _ARRAYS):
        return type_text(value)
    if type(value).__repr__ is object.__repr__:
        return f"a {type(value).__name__}"
    return text_of(value)


def contrast(before: str, now: str) -> tuple[str, str]:
    """Shorten two long strings to the parts that show where the strings begin to differ."""
    same = len(os.path.commonprefix((before, now)))
    start = max(0, same - _CONTEXT_CHARACTERS)
    if same < _TEXT_CHARACTERS // 2 or before == now:
        start = 0
    return cut(before, start), cut(now, start)


def cut(text: str, start: int = 0) -> str:
    """Shorten a long text, beginning with the character at the position ``start``."""
    end = start + _TEXT_CHARACTERS
    return "..." * (start > 0) + text[start:end] + "..." * (len(text) > end)


def text_of(value: Any) -> str:
    """Return the repr of a value in one line."""
    try:
        return " ".join(repr(value).split())
    except Exception:
        return f"a {type(value).__name__}"
