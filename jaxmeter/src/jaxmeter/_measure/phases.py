"""Time each phase alone: trace, lower, compile, first call, steady state.

A steady-state run is one that nothing but running is left to do in. The first call is none: it is
tens of times slower, since JAX sets up its fast path in it.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import jax

from jaxmeter._measure.case import name_of
from jaxmeter.errors import RetraceError

T = TypeVar("T")
Clock = Callable[[], float]
Arguments = tuple[tuple[Any, ...], dict[str, Any]]

LEAST_SAMPLES_COUNT = 3
"""So many samples are taken even if they take longer than wanted."""


def timed(clock: Clock, call: Callable[[], T]) -> tuple[T, float]:
    """The result of a call and the seconds it took, the work on the device included."""
    start = clock()
    result = jax.block_until_ready(call())
    return result, clock() - start


def settle(
    call: Callable[..., Any],
    arguments: Callable[[], Arguments],
    *,
    repeat: int,
    max_seconds: float | None,
    clock: Clock,
    traces_count: Callable[[], int],
    on_sample: Callable[[float], None],
) -> Any:
    """Run a function that is compiled and has been called, again and again.

    Parameters
    ----------
    call : callable
        The jitted function.
    arguments : callable
        Gives the arguments of the next run; not timed.
    repeat : int
        The number of samples.
    max_seconds : float or None
        End when the samples so far add up to more, once there are `LEAST_SAMPLES_COUNT`.
    clock : callable
        Gives seconds.
    traces_count : callable
        How often the function was traced, compiled or run by Python until now.
    on_sample : callable
        Called with the seconds of each run after it.

    Returns
    -------
    Any
        What the last run returned.

    Raises
    ------
    RetraceError
        If a run is traced again, which would make its time that of another thing.
    """
    limit = math.inf if max_seconds is None else max_seconds
    spent = 0.0
    answer = None
    traces_before = traces_count()
    # One run more than samples: the second call still meets cold caches.
    for taken in range(-1, repeat):
        if taken >= LEAST_SAMPLES_COUNT and spent > limit:
            break
        answer = None  # or two answers would be in memory at once
        args, kwargs = arguments()
        with no_collection():
            answer, seconds = timed(clock, functools.partial(call, *args, **kwargs))
        # Counted after the run rather than forbidden by jax.no_tracing: that also refuses
        # programs with effects, which do not take JAX's fast path, though they are not traced.
        if traces_count() != traces_before:
            raise retraced(name_of(call))
        if taken >= 0:
            spent += seconds
            on_sample(seconds)
    return answer


def retraced(name: str) -> RetraceError:
    """The error of a function that was traced again for the same arguments."""
    return RetraceError(
        f"steady-state run of {name}: got another trace for the same arguments; "
        "look for a static argument that does not equal itself, for state that the "
        "function changes, and for jax_disable_jit"
    )


def fresh_arguments(
    lowered: jax.stages.Lowered, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[], Arguments]:
    """A maker of arguments for each run: the same ones, or copies if the program takes any over.

    An array that was donated is gone after the call.
    """
    donates = any(
        getattr(leaf, "donated", False)
        for leaf in jax.tree.leaves(lowered.args_info, is_leaf=lambda x: hasattr(x, "donated"))
    )
    if not donates:
        return lambda: (args, kwargs)

    def copy(leaf: Any) -> Any:
        return jax.block_until_ready(leaf.copy()) if isinstance(leaf, jax.Array) else leaf

    return lambda: jax.tree.map(copy, (args, kwargs))


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    # As timeit does: a garbage collection that happens to fall into a run is not its time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
