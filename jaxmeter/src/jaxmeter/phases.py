"""The phases of a program's life, each timed alone: trace, lower, compile, first call, settled.

A settled run is one that nothing but running is left to do in. The first call is none: it is
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

from jaxmeter.case import name_of
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
    with _no_tracing(call):
        # The context is part of what JAX's fast path looks up, so the first run in it is slow.
        args, kwargs = arguments()
        jax.block_until_ready(call(*args, **kwargs))
        answer = None
        for taken in range(repeat):
            if taken >= LEAST_SAMPLES_COUNT and spent > limit:
                break
            answer = None  # or two answers would be in memory at once
            args, kwargs = arguments()
            with _no_collection():
                answer, seconds = timed(clock, functools.partial(call, *args, **kwargs))
            spent += seconds
            on_sample(seconds)
    return answer


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
def _no_tracing(call: Callable[..., Any]) -> Iterator[None]:
    forbid = getattr(jax, "no_tracing", None)
    if forbid is None:  # not in every version
        yield
        return
    try:
        with forbid(True):
            yield
    except RuntimeError as error:
        if "no_tracing" not in str(error):
            raise
        raise RetraceError(
            f"a settled run of {name_of(call)}: got a new trace for the same arguments ({error}); "
            "look for a static argument that does not equal itself, or for state that the "
            "function changes"
        ) from error


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    # As timeit does: a garbage collection that happens to fall into a run is not its time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
