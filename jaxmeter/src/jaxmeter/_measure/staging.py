"""Jit, trace and lower a case, without compiling or running it."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax

from jaxmeter._measure.case import Case, name_of
from jaxmeter._measure.counts import ExecutionCounter
from jaxmeter._measure.failures import raise_from_call
from jaxmeter._measure.jits import KnownJit, jit_of
from jaxmeter._measure.leaves import filled, is_traceable, merged, split
from jaxmeter.errors import JaxmeterError


@dataclasses.dataclass(frozen=True)
class Staged:
    """A traced and lowered program."""

    jaxpr: Any
    lowered: jax.stages.Lowered


def staged(case: Case, *, call: str = "staged") -> Staged:
    """Trace and lower a case; options of jit for a function that is already jitted are an error.

    Errors name the ``call`` of jaxmeter that needs it, such as ``audit``.
    """
    case = prepared(case)
    traced = trace(call, jitted(case), case)
    return Staged(traced.jaxpr, traced.lower())


def prepared(case: Case) -> Case:
    """Return a case that JAX can trace.

    A callable whose call goes to a jitted function, such as a method or a function that another
    library has jitted, becomes that function. Of a function that has yet to be jitted, the leaves
    of arguments that are not arrays or numbers are held fixed, unless options of jit name static
    arguments; such leaves of its answer are None.
    """
    jit = jit_of(case.fn)
    if jit is not None and (jit is case.fn or not case.jit_options):
        args, kwargs = case.args, dict(case.kwargs)
        if isinstance(jit, KnownJit) and jit.attribute:
            # A library may take a shape for a part of the structure.
            args, kwargs = filled((args, kwargs))
        return dataclasses.replace(case, fn=jit, args=args, kwargs=kwargs)
    fixed, (args, kwargs) = split(case.args, case.kwargs)
    if not fixed or {"static_argnums", "static_argnames"} & case.jit_options.keys():
        return case

    @functools.wraps(case.fn)
    def with_fixed(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = merged(fixed, args, kwargs)
        answer = case.fn(*args, **kwargs)
        return jax.tree.map(lambda leaf: leaf if is_traceable(leaf) else None, answer)

    with_fixed.__name__ = name_of(case.fn)
    return dataclasses.replace(case, fn=with_fixed, args=args, kwargs=kwargs)


def trace(call: str, jitted: Any, case: Case) -> Any:
    """Trace a prepared case; an error names the call of jaxmeter, and begins in the user's code."""
    try:
        return jitted.trace(*case.args, **case.kwargs)
    except Exception as error:
        raise_from_call(call, case.fn, case.args, case.kwargs, error)


def jitted(case: Case, counter: ExecutionCounter | None = None) -> Any:
    """Return the jitted function of a case: its own if it is jitted already.

    A plain function gets a wrapper, ``counter``'s if there is one: without it JAX would use its
    earlier trace of the function, though a global may be another array now.
    """
    if not isinstance(case.fn, jax.stages.Wrapped):
        counter = counter or ExecutionCounter(case.fn)
        return jax.jit(counter.wrapped, **case.jit_options)
    if case.jit_options:
        raise JaxmeterError(
            f"Case: got jit_options {sorted(case.jit_options)} for a function that is "
            "already jitted; give them to its own jax.jit"
        )
    return case.fn


def fresh(case: Case) -> tuple[Any, ExecutionCounter | None]:
    """Return the function of a prepared case as if never called, and a counter of its executions.

    A function that is already jitted has its cache cleared, and there is no counter.
    """
    if isinstance(case.fn, jax.stages.Wrapped):
        # Functions jitted by another library may lack it.
        getattr(case.fn, "clear_cache", lambda: None)()
        return jitted(case), None
    counter = ExecutionCounter(case.fn)
    return jitted(case, counter), counter
