"""Time each phase separately: trace, lower, compile, first call, steady state.

In the first call, JAX sets up the fast path for later calls, so this call is not a steady-state
run. For a fast function, the first call may take tens of times as long as later calls.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax
from jax.experimental.compilation_cache import compilation_cache

from jaxmeter._measure.case import Call, Case
from jaxmeter._records.record import Phases
from jaxmeter.errors import JaxmeterError, RetraceError

T = TypeVar("T")
Clock = Callable[[], float]


def timed(clock: Clock, call: Callable[[], T]) -> tuple[T, float]:
    """Return the result of a call and its time in seconds, including the work on the device."""
    start = clock()
    result = jax.block_until_ready(call())
    return result, clock() - start


def timed_recompile(clock: Clock, jitted: Any, case: Case) -> Phases:
    """Clear the caches of JAX, then trace, lower and compile a case again, without the persistent
    cache; return the time of each phase."""
    jax.clear_caches()
    gc.collect()
    with no_garbage_collection(), no_persistent_cache():
        traced, trace_seconds = timed(clock, lambda: jitted.trace(*case.args, **case.kwargs))
        lowered, lower_seconds = timed(clock, traced.lower)
        _, compile_seconds = timed(clock, lowered.compile)
    return Phases(trace_seconds, lower_seconds, compile_seconds)


def retrace_error(name: str) -> RetraceError:
    return RetraceError(
        f"steady-state run of {name}: got another trace or compile for the same arguments; "
        "look for a static argument that does not equal itself, for state that the "
        "function changes, and for jax_disable_jit"
    )


def fresh_arguments(
    lowered: jax.stages.Lowered,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    bound: tuple[Any, ...] = (),
) -> Callable[[], Call]:
    """Return a function that returns the arguments for each run.

    If the program donates any argument, the returned function copies all JAX arrays in the
    arguments, because a call deletes donated arrays. ``bound`` are the positional arguments that a
    partial or a method adds before ``args``. If the program donates an array in ``bound``, raise a
    `JaxmeterError`.
    """
    leaves = jax.tree.leaves(lowered.args_info, is_leaf=lambda x: hasattr(x, "donated"))
    donated = [getattr(leaf, "donated", False) for leaf in leaves]
    # Count only the bound arrays, because bound arguments that are not arrays may be static.
    bound_count = sum(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(bound))
    if any(donated[:bound_count]):
        raise JaxmeterError(
            "first call: got a function that can run only once, because it donates an array held "
            "by a functools.partial or a method; pass this array as an argument instead"
        )
    if not any(donated):
        return lambda: (args, kwargs)
    return lambda: (tuple(map(_copied, args)), {k: _copied(v) for k, v in kwargs.items()})


def _copied(argument: Any) -> Any:
    """Copy the JAX arrays of an argument. An argument without arrays may be static: return it."""

    def copy(leaf: Any) -> Any:
        return jax.block_until_ready(leaf.copy()) if isinstance(leaf, jax.Array) else leaf

    has_arrays = any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(argument))
    return jax.tree.map(copy, argument) if has_arrays else argument


@contextlib.contextmanager
def no_persistent_cache() -> Iterator[None]:
    """Turn off JAX's persistent compilation cache within a ``with`` block."""
    option = "jax_enable_compilation_cache"

    def set_option(value: bool) -> None:
        jax.config.update(option, value)
        compilation_cache.reset_cache()  # JAX reads the option only in its first compile

    was_enabled = getattr(jax.config, option)
    set_option(False)
    try:
        yield
    finally:
        set_option(was_enabled)


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Turn off Python's garbage collector within a ``with`` block, as timeit does."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
