"""Make errors of the user's function clear: add notes, and hide the frames of jaxmeter."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, NoReturn, ParamSpec, TypeVar

import jax

from jaxmeter._measure.case import name_of
from jaxmeter._measure.progress import ADVICE, message_of
from jaxmeter._program.places import owner
from jaxmeter._render.units import type_text
from jaxmeter.errors import JaxmeterError

P = ParamSpec("P")
T = TypeVar("T")
_CALLS_WITH_A_CASE = ("tables.dump_program", "tables.hlo_of")
"""The functions of jaxmeter that take the arguments of the user's function only inside a `Case`."""


def beginning_in_users_code(public: Callable[P, T]) -> Callable[P, T]:
    """Wrap a public function so that tracebacks omit jaxmeter's frames before the user's code."""

    @functools.wraps(public)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return public(*args, **kwargs)
        except Exception as error:
            shown = None  # the message of a JaxmeterError is sufficient
            if not isinstance(error, JaxmeterError):
                frames = error.__traceback__
                shown = _first_frame(frames) or _first_frame(frames, in_packages=True) or frames
            error.__traceback__ = shown
            raise

    return call


def raise_from_call(
    call: str,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    error: Exception,
    *,
    where: str = "",
) -> NoReturn:
    """Raise an error after a call of the user's function ``fn`` has failed with ``error``.

    If the cause is known, raise a `JaxmeterError`. Otherwise, raise ``error`` with a note that
    names ``call``, the jaxmeter function that called ``fn``. If ``error`` is about a tracer,
    another note says what to try. ``where`` says which of several calls failed, such as
    `` in call 2``.
    """
    if isinstance(fn, jax.stages.Compiled):
        raise JaxmeterError(
            f"{call}: got a compiled program, which JAX cannot trace; give the function from which "
            "the program was compiled"
        ) from None
    name, given, message = name_of(fn), _given(args, kwargs), message_of(error)
    # A TypeError from the body of the function is not about the arguments of the call.
    is_binding = isinstance(error, TypeError) and _first_frame(error.__traceback__) is None
    if is_binding and (problem := _unbound(fn, args, kwargs)):
        names = ", ".join(inspect.signature(fn).parameters)
        given_once = f"({names},)" if names else "()"
        how = f"jaxmeter.{call}({', '.join(filter(None, (name, names)))})"
        if call == "retraces":
            how = f"jaxmeter.retraces({name}, [{given_once}])"
        elif call in _CALLS_WITH_A_CASE:
            how = f"jaxmeter.Case({name}, {given_once})"
        raise JaxmeterError(
            f"{call}: got {given} for {name}({names}): {problem}; give the arguments that the "
            f"function takes, as in {how}"
        ) from None
    if message.startswith("Non-hashable static arguments"):
        # JAX's message names the type of the static argument, but not the argument.
        values = [v for v in (*args, *kwargs.values()) if str(type(v)) in message]
        static = (
            f"the static argument {values[0]!r:.80}" if len(values) == 1 else "a static argument"
        )
        raise JaxmeterError(
            f"{call}: {name} got {static}, which JAX cannot hash; give a tuple instead of a list, "
            "or a frozen dataclass instead of a dictionary; pass an array as an ordinary argument"
        ) from error
    error.add_note(f"jaxmeter.{call}: raised by {name}{where}, which got {given}")
    if "tracer" in f"{type(error).__name__} {message}".lower():
        error.add_note(ADVICE + _advice(name, args, kwargs))
    raise error


def is_for_filter_jit(value: Any) -> bool:
    """Return whether a value is an equinox module with leaves that are not arrays, such as
    functions or Python numbers. equinox.filter_jit holds such leaves fixed, but jax.jit does
    not."""
    return any(base.__module__.startswith("equinox.") for base in type(value).__mro__) and any(
        not hasattr(leaf, "shape") for leaf in jax.tree.leaves(value)
    )


def _first_frame(
    traceback: TracebackType | None, *, in_packages: bool = False
) -> TracebackType | None:
    """Return the part of a traceback that begins with the first frame of the user's code; None if
    there is no such frame. If ``in_packages`` is true, frames of installed packages also count."""
    wanted = ("package", "user") if in_packages else ("user",)
    while traceback is not None:
        if owner(traceback.tb_frame.f_code.co_filename) in wanted:
            return traceback
        traceback = traceback.tb_next
    return None


def _unbound(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Return why arguments do not match the signature of a function. Return an empty string if the
    arguments match, or if the signature is unknown."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return ""


def _advice(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    nodes = jax.tree.leaves((args, dict(kwargs)), is_leaf=is_for_filter_jit)
    if any(map(is_for_filter_jit, nodes)):
        return (
            f"give equinox.filter_jit({name}) in place of {name}: filter_jit holds the Python "
            "numbers in the arguments fixed, but a plain function gets them as tracers"
        )
    return (
        "if Python needs the value of an argument, make the argument static: give --static NAME on "
        f"the command line, or jaxmeter.Case({name}, args, "
        "jit_options={'static_argnames': 'NAME'}) in Python"
    )


def _given(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    texts = [_text(value) for value in args]
    texts += [f"{name}={_text(value)}" for name, value in kwargs.items()]
    return f"({', '.join(texts)})" if texts else "no arguments"


def _text(value: Any) -> str:
    if isinstance(value, (bool, int, float, complex, str)):
        return f"{value!r:.40}"
    try:
        return type_text(value)
    except Exception:  # a value without a dtype or a shape
        return f"a {type(value).__name__}"
