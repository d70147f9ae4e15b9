"""Find the function inside a wrapper, closure variables, defaults, parameters and used names."""

from __future__ import annotations

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
    """Yield the names and values of the variables that a function closes over.

    Variables without a value are left out.
    """
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # a variable that has no value yet
            continue


def defaults(fn: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the name and the default of each parameter that has a default."""
    code = fn.__code__
    values = fn.__defaults__ or ()
    positional = code.co_varnames[: code.co_argcount]
    yield from zip(positional[len(positional) - len(values) :], values, strict=True)
    yield from (fn.__kwdefaults__ or {}).items()


def code_names(code: types.CodeType) -> Iterator[str]:
    """Yield the names of the globals and attributes that a code object uses.

    The names that nested functions use are included.
    """
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_names(constant)


def parameter_names(fn: Any) -> tuple[str, ...]:
    """Return the names of the parameters that a call can fill by position.

    Parameters that a partial fills by position are left out, and also the ``self`` of a bound
    method.
    """
    taken = 0
    while is_partial(fn):
        taken += len(fn.args)
        fn = fn.func
    fn = unwrapped(fn)
    if hasattr(fn, "__func__") and hasattr(fn, "__self__"):
        fn, taken = fn.__func__, taken + 1
    code = getattr(fn, "__code__", None)
    return () if code is None else code.co_varnames[taken : code.co_argcount]


def named_arguments(fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a dictionary from parameter names to the arguments of a call."""
    names = (*parameter_names(fn), *(f"args[{n}]" for n in range(len(args))))
    return {**dict(zip(names, args, strict=False)), **kwargs}
