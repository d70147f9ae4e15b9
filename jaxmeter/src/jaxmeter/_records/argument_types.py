"""Check the types of the arguments of a public function."""

from __future__ import annotations

import functools
import inspect
import os
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from types import UnionType
from typing import Any, ParamSpec, TypeVar

from jaxmeter.errors import JaxmeterError

P = ParamSpec("P")
T = TypeVar("T")


def checking_types(public: Callable[P, T]) -> Callable[P, T]:
    """Wrap a public function so that its arguments are checked against its annotations.

    A string or path for an argument with the annotation `Path` becomes a `Path`. The wrapper raises
    a `JaxmeterError` if an argument does not fit its annotation.
    """
    signature = inspect.signature(public)
    name = public.__name__

    @functools.wraps(public)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError:  # missing, extra or unknown arguments: Python's own message is clear
            return public(*args, **kwargs)
        hints = _hints(public)
        for argument, value in given.arguments.items():
            hint = hints[argument]
            if not _fits(value, hint):
                wanted = signature.parameters[argument].annotation
                raise JaxmeterError(
                    f"{name}: got {argument}={value!r:.80}; give a value of type {wanted}"
                )
            if hint is Path:
                given.arguments[argument] = Path(value)
        return public(*given.args, **given.kwargs)

    return call


_hints = functools.cache(typing.get_type_hints)


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value fits an annotation.

    The annotations ``Any`` and ``bool`` are not checked: every value fits. A string fits `Path`,
    and any integer fits ``int``. The items of a `Sequence` and the values of a `Mapping` are also
    checked. A string does not fit `Sequence` or `Iterable`.
    """
    kind, parts = typing.get_origin(hint) or hint, typing.get_args(hint)
    if kind in (typing.Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if kind in (Any, bool):
        return True
    kinds = {Path: (str, os.PathLike), int: Integral}
    if kind in (Sequence, Iterable) and isinstance(value, str):
        return False
    if not isinstance(value, kinds.get(kind, kind)):
        return False
    items = value.values() if kind is Mapping else value if kind is Sequence else ()
    return all(_fits(item, parts[-1]) for item in items)
