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


def staged(case: Case, call: str) -> tuple[Any, jax.stages.Lowered]:
    """Trace and lower a case; return its closed jaxpr and its lowered program.

    Error messages name ``call``, the jaxmeter function that needs the program, such as ``audit``.

    Raises
    ------
    JaxmeterError
        If the function, an argument or a jit option cannot be used, for example because a static
        argument has no hash.
    Exception
        Any exception of tracing or lowering.
    """
    case = prepared(case)
    traced = trace(call, jitted(case)[0], case)
    return traced.jaxpr, traced.lower()


def prepared(case: Case) -> Case:
    """Return a case that JAX can trace.

    If the callable only calls a jitted function, and the case has no jit options, the new case
    contains the jitted function. For example, the callable may be a jitted method, or a function
    that another library has jitted.

    If the callable is not jitted, the new case holds some leaves of the arguments fixed: all leaves
    that are neither arrays nor numbers. Such leaves of the answer become None. The case is returned
    unchanged if there are no such leaves, or if its jit options name static arguments.
    """
    jit = jit_of(case.fn)
    if jit is not None and (jit is case.fn or not case.jit_options):
        args, kwargs = case.args, dict(case.kwargs)
        if isinstance(jit, KnownJit) and jit.attribute:
            # A library may treat a jax.ShapeDtypeStruct as part of the structure, not as a leaf.
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
    """Trace a prepared case.

    Error messages name ``call``, the jaxmeter function that needs the trace.
    """
    try:
        return jitted.trace(*case.args, **case.kwargs)
    except Exception as error:
        raise_from_call(call, case.fn, case.args, case.kwargs, error)


def jitted(case: Case) -> tuple[Any, ExecutionCounter | None]:
    """Return the jitted function of a case, and a counter of the runs of its Python body.

    A function that is already jitted is returned unchanged, and the counter is None. A plain
    function is wrapped in the counter and then jitted. The wrapper makes JAX trace the function
    again. Without the wrapper, JAX might use an earlier trace, although a global array may have
    changed since that trace.

    Raises
    ------
    JaxmeterError
        If the function is already jitted and the case has jit options.
    """
    if not isinstance(case.fn, jax.stages.Wrapped):
        counter = ExecutionCounter(case.fn)
        return jax.jit(counter.wrapped, **case.jit_options), counter
    if case.jit_options:
        raise JaxmeterError(
            f"Case: got jit_options {sorted(case.jit_options)} for a function that is "
            "already jitted; give them to the jax.jit that made the function"
        )
    return case.fn, None


def fresh(case: Case) -> tuple[Any, ExecutionCounter | None]:
    """Clear the cache of a function that is already jitted; then return the result of `jitted`."""
    if isinstance(case.fn, jax.stages.Wrapped):
        # Functions jitted by another library may lack clear_cache.
        getattr(case.fn, "clear_cache", lambda: None)()
    return jitted(case)
