"""Jit, trace and lower a case, without compiling or running it."""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any

import jax
import jax.extend.core

from jaxmeter._measure.case import Case
from jaxmeter._measure.counts import ExecutionCounter
from jaxmeter._program.jaxprs import JIT, inner
from jaxmeter.errors import JaxmeterError


@dataclasses.dataclass(frozen=True)
class Staged:
    """A traced and lowered program."""

    jaxpr: Any
    lowered: jax.stages.Lowered


def staged(case: Case) -> Staged:
    """Trace and lower a case; options of jit for a function that is already jitted are an error."""
    return lowered_of(case, jitted(case).trace(*case.args, **case.kwargs))


def lowered_of(case: Case, traced: Any) -> Staged:
    """Lower a traced case; of a function that another library jitted, the program inside."""
    programs = [
        equation.params["jaxpr"]
        for equation in inner(traced.jaxpr).eqns
        if equation.primitive.name in JIT
    ]
    if not programs or not _jitted_by_others(case.fn):
        return Staged(traced.jaxpr, traced.lower())
    # Such as by equinox: arrays that it passes to its own jit are not captured.
    program = programs[-1]
    arguments = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in program.in_avals]
    run = jax.extend.core.jaxpr_as_fun(program)
    return Staged(program, jax.jit(run).lower(*arguments))


def _jitted_by_others(fn: Any) -> bool:
    return (
        not isinstance(fn, (jax.stages.Wrapped, types.FunctionType, functools.partial))
        and hasattr(fn, "lower")
        and hasattr(fn, "__wrapped__")
    )


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
    """Return the function of a case as if never called, and a counter of its executions.

    A function that is already jitted has its cache cleared, and there is no counter; a function
    that another library has jitted is returned as it is.
    """
    if _jitted_by_others(case.fn) and not case.jit_options:
        return case.fn, None
    if isinstance(case.fn, jax.stages.Wrapped):
        # Functions jitted by another library may lack it.
        getattr(case.fn, "clear_cache", lambda: None)()
        return jitted(case), None
    counter = ExecutionCounter(case.fn)
    return jitted(case, counter), counter
