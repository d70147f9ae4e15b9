"""What memory a function takes, and what the tradeoff of memory for time is."""

from __future__ import annotations

import dataclasses
import os
import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax

from jaxmeter._measure.accounting import (
    compiler_account,
    device_peak_bytes,
    peak_rss_bytes,
    reset_peak_rss,
    rss_bytes,
)
from jaxmeter._measure.case import Case, case_of, name_of
from jaxmeter._measure.meter import measure
from jaxmeter._measure.phases import fresh_arguments
from jaxmeter._measure.staging import staged
from jaxmeter._program.buffers import compiled_with_buffers
from jaxmeter._records.memory import Allocator, MemoryUse, Tradeoff, TradeoffPoint
from jaxmeter._records.record import Memory, Record
from jaxmeter.errors import JaxmeterError

_BUFFERS_KEPT_COUNT = 100
_DEFAULT_FRACTION = 0.75
_ALLOCATING = {"cuda", "gpu", "rocm"}


def memory(fn: Case | Callable[..., Any], *args: Any, run: bool = True, **kwargs: Any) -> MemoryUse:
    """What memory a function takes: its largest buffers, and the peaks while it runs.

    Parameters
    ----------
    fn : Case or callable
        The function, jitted or not; or a case, which may hold options of jit.
    *args, **kwargs : Any
        Its arguments; arrays may be given as `jax.ShapeDtypeStruct`, and then it is not run.
    run : bool
        Whether to run it once, for the peaks.

    Returns
    -------
    MemoryUse
        ``memory`` holds the compiler's account, which is exact, and the peaks of the process and
        the device; ``buffers`` the hundred largest.

    Raises
    ------
    JaxmeterError
        If an argument is not of its kind.
    Exception
        Whatever the function raises.
    """
    case = case_of("memory", fn, args, kwargs)
    reset_peak_rss()
    baseline = rss_bytes()
    lowered = staged(case).lowered
    compiled, buffers, source = compiled_with_buffers(lowered)
    peaks: dict[str, int | None] = {
        "baseline_rss_bytes": baseline,
        "compile_peak_rss_bytes": peak_rss_bytes(),
    }
    leaves = jax.tree.leaves((case.args, dict(case.kwargs)))
    run = run and not any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
    if run:
        _run(case, lowered, compiled)
        peaks["peak_rss_bytes"] = peak_rss_bytes()
        peaks["device_peak_bytes"] = device_peak_bytes()
    return MemoryUse(
        name=name_of(case.fn),
        jax=jax.__version__,
        backend=jax.default_backend(),
        memory=Memory(**compiler_account(compiled), **peaks),
        buffers=buffers[:_BUFFERS_KEPT_COUNT],
        source=source,
        ran=run,
        allocator=allocator(),
    )


def _run(case: Case, lowered: jax.stages.Lowered, compiled: jax.stages.Compiled) -> None:
    kwargs = dict(case.kwargs)
    if jax.tree.structure((case.args, kwargs)) != lowered.in_tree:
        # Static arguments, which a compiled program does not take; or what others have jitted.
        measure(case, repeat=1)
        return
    args, kwargs = fresh_arguments(lowered, case.args, kwargs)()
    jax.block_until_ready(compiled(*args, **kwargs))


def allocator() -> Allocator:
    """How JAX takes memory of the first device."""
    device = jax.local_devices()[0]
    stats = device.memory_stats() or {}
    limit, in_use = stats.get("bytes_limit"), stats.get("bytes_in_use")
    if device.platform not in _ALLOCATING:
        return Allocator(None, None, None, limit, in_use)
    environment = os.environ
    kind = environment.get("XLA_PYTHON_CLIENT_ALLOCATOR", "default").lower()
    preallocate = environment.get("XLA_PYTHON_CLIENT_PREALLOCATE", "") not in (
        "false",
        "False",
        "0",
    )
    fraction = environment.get("XLA_CLIENT_MEM_FRACTION") or environment.get(
        "XLA_PYTHON_CLIENT_MEM_FRACTION"
    )
    return Allocator(
        # The platform's own allocator asks for each buffer alone.
        preallocate=preallocate and kind != "platform",
        fraction=float(fraction) if fraction else _DEFAULT_FRACTION,
        kind=kind,
        limit_bytes=limit,
        in_use_bytes=in_use,
    )


def tradeoff(
    make: Callable[..., Case],
    parameters: Iterable[Mapping[str, Any]],
    *,
    repeat: int = 10,
    max_seconds: float | None = None,
    measured: Callable[[Case], Record] | None = None,
) -> Tradeoff:
    """Measure a function over choices of parameters: which are best in time against memory?

    Parameters
    ----------
    make : callable
        ``make(**parameters)`` returns the `Case` of a choice.
    parameters : iterable of mapping
        The choices, such as ``[{"chunk": 16}, {"chunk": 64}]``.
    repeat, max_seconds : int, float or None
        Of each, as for `jaxmeter.measure`.
    measured : callable, optional
        Measures a case; tests give their own.

    Returns
    -------
    Tradeoff
        A choice that cannot be measured, for want of memory perhaps, is kept with its failure.

    Raises
    ------
    JaxmeterError
        If a choice is no mapping or ``make`` returns no case.
    """
    measured = measured or (lambda case: measure(case, repeat=repeat, max_seconds=max_seconds))
    points: list[TradeoffPoint] = []
    name = ""
    for params in parameters:
        if not isinstance(params, Mapping):
            raise JaxmeterError(
                f'tradeoff: got {params!r:.80} among the parameters; give dictionaries, {{"n": 3}}'
            )
        case = make(**params)
        if not isinstance(case, Case):
            raise JaxmeterError(
                f"tradeoff: got {case!r:.80} from {name_of(make)}; let it return "
                "jaxmeter.Case(fn, args)"
            )
        name = name_of(case.fn)
        told = {key: value if _is_plain(value) else str(value) for key, value in params.items()}
        try:
            record = measured(case)
        except Exception as error:
            failure = f"{type(error).__name__}: {error}".strip().splitlines()[0]
            points.append(TradeoffPoint(told, None, None, False, failure))
        else:
            seconds = statistics.median(record.samples_seconds)
            points.append(TradeoffPoint(told, seconds, record.memory.temp_bytes, False))
    return Tradeoff(name, tuple(_judged(points)), jax.__version__)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool, int, float))


def _judged(points: list[TradeoffPoint]) -> Iterable[TradeoffPoint]:
    """The fastest first, those marked that nothing faster undercuts in memory."""
    good = [point for point in points if point.seconds is not None]
    least: float = float("inf")
    for point in sorted(good, key=lambda one: (one.seconds, one.temp_bytes or 0)):
        size = point.temp_bytes or 0
        yield dataclasses.replace(point, is_best=size < least)
        least = min(least, size)
    yield from (point for point in points if point.seconds is None)
