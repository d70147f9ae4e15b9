"""Find the function inside a wrapper; list the variables, defaults and parameters of a function."""

from __future__ import annotations

import functools
import inspect
import itertools
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jaxmeter._measure.case import is_partial


def unwrapped(fn: Any) -> Any:
    """Return the function inside all partials and wrappers."""
    while True:
        if is_partial(fn):
            fn = fn.func
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        else:
            return fn


def cells(fn: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the variables that a function closes over, without variables
    that have no value."""
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue


def defaults(fn: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the name and the default of each parameter that has a default."""
    code = fn.__code__
    values = fn.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    yield from zip(positional[len(positional) - len(values) :], values, strict=True)
    yield from (fn.__kwdefaults__ or {}).items()


def code_names(code: types.CodeType) -> Iterator[str]:
    """Yield the names of the globals and attributes that a code object and its nested functions
    use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_names(constant)


def parameters(fn: Any) -> list[inspect.Parameter]:
    """Return the parameters that a caller can set; [] if the signature is unknown. The ``self`` of
    a bound method and the parameters that a partial sets by position are left out."""
    if is_partial(fn):  # a library may have its own class of partials
        fn = functools.partial(fn.func, *fn.args, **fn.keywords)
    try:
        return list(inspect.signature(fn).parameters.values())
    except Exception:  # an object may compute its attributes, and may raise any exception
        return []


def positional_names(fn: Any) -> Iterator[str]:
    """Yield the names of a callable's positional parameters, then ``args[0]``, ``args[1]``, ...
    without end. If the callable has a parameter ``*xs``, yield ``xs[0]``, ``xs[1]``, ... instead of
    ``args[0]``, ``args[1]``, ..."""
    rest = "args"
    for parameter in parameters(fn):
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            yield parameter.name
        elif parameter.kind == parameter.VAR_POSITIONAL:
            rest = parameter.name
    yield from (f"{rest}[{number}]" for number in itertools.count())


def named_arguments(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dictionary from parameter names to the arguments of a call."""
    return {**dict(zip(positional_names(fn), args, strict=False)), **kwargs}
