"""Find the differences between two static values, and show values as short texts."""

from __future__ import annotations

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


def static_differences(
    path: str, before: Any, now: Any, seen: set[tuple[int, int]]
) -> Iterator[Difference]:
    """Yield the differences between two static values. ``seen`` contains the ids of the pairs of
    objects that were searched before, because objects may hold each other."""
    if _same(before, now) or (id(before), id(now)) in seen:
        return
    seen.add((id(before), id(now)))
    while isinstance(now, (tuple, list)) and type(before) is type(now) and len(before) == len(now):
        # If only one item changed, name that item: equinox passes many values at once.
        changed = [index for index in range(len(now)) if not _same(before[index], now[index])]
        if len(changed) != 1:
            break
        (index,) = changed
        path, before, now = f"{path}[{index}]", before[index], now[index]
    texts = value_text(before), value_text(now)
    if isinstance(now, _ARRAYS) and texts[0] == texts[1]:
        texts = texts[0], f"another {texts[1]}"
    if not _made_again(before, now, texts):
        yield Difference("static value", path, *contrast(*texts))
        return
    old, new = _held(path, before), _held(path, now)
    inside = [
        difference
        for name in dict.fromkeys((*old, *new))
        for difference in static_differences(name, old.get(name), new.get(name), seen)
        if difference.kind != "new object"
    ]
    yield from inside or [Difference("new object", path, *map(cut, texts))]


def _same(before: Any, now: Any) -> bool:
    """Return whether two static values, or two values that static objects hold, are the same.
    Values of different types, such as 20 and 20.0, are not the same."""
    if before is now:
        return True
    try:
        if type(before) is not type(now):
            return False
        if isinstance(now, _ARRAYS):  # JAX would compile a program for before == now
            is_small = type_text(before) == type_text(now) and now.nbytes <= _COMPARED_BYTES
            return is_small and np.asarray(before).tobytes() == np.asarray(now).tobytes()
        return bool(before == now)
    except Exception:
        return False  # values that cannot be compared count as different


def _made_again(before: Any, now: Any, texts: tuple[str, str]) -> bool:
    """Return whether two unequal objects are probably the same thing created twice, unless they
    hold different values: two functions with the same code, or two objects of a class that does not
    define ``__eq__``. Apart from addresses, their texts are the same."""
    if type(before) is not type(now) or _code(before) is not _code(now):
        return False
    # Objects that are compared by identity are unequal even if their content is the same.
    by_identity = _code(now) is not None or type(now).__eq__ is object.__eq__
    return by_identity and len({re.sub(" at 0x[0-9a-fA-F]+", "", text) for text in texts}) == 1


def _held(path: str, value: Any) -> dict[str, Any]:
    """Return the values that an object holds, by their paths: the variables of a function, or the
    attributes of any other object."""
    if is_partial(value):
        return {f"{path}.{name}": getattr(value, name) for name in ("func", "args", "keywords")}
    if isinstance(value, types.MethodType):
        return {f"{path}.__self__": value.__self__}
    if isinstance(value, types.FunctionType):
        variables = (*cells(value), *defaults(value))
        return {f"{name} in {path}": held for name, held in variables}
    if (wrapped := getattr(value, "__wrapped__", None)) is not None:  # a jitted function
        return {path: wrapped}
    return {f"{path}.{name}": held for name, held in getattr(value, "__dict__", {}).items()}


def _code(value: Any) -> Any:
    return getattr(unwrapped(value), "__code__", None) if callable(value) else None


def value_text(value: Any) -> str:
    """Show a static value: the line of a function, the type of an array, or else the value."""
    code = getattr(value, "__code__", None)
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
