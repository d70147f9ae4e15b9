"""Measure the memory of a function, and the tradeoff between its memory and its time."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax

from jaxmeter._measure.accounting import (
    compiler_account,
    device_peak_bytes,
    peak_rss_bytes,
    reset_peak_rss,
    rss_bytes,
)
from jaxmeter._measure.benchmark import Count, Limit
from jaxmeter._measure.case import Case, case_of, name_of
from jaxmeter._measure.environment import scalar
from jaxmeter._measure.failures import beginning_in_users_code
from jaxmeter._measure.meter import measure
from jaxmeter._measure.phases import fresh_arguments
from jaxmeter._measure.progress import message_of
from jaxmeter._measure.staging import staged
from jaxmeter._program.buffers import compiled_with_buffers
from jaxmeter._records.memory import Allocator, MemoryUse, Tradeoff, TradeoffPoint
from jaxmeter._records.plain_data import checked
from jaxmeter._records.record import Memory, Scalar
from jaxmeter.errors import JaxmeterError

_BUFFERS_KEPT_COUNT = 100
_DEFAULT_FRACTION = 0.75
_ALLOCATING = {"cuda", "gpu", "rocm"}


@beginning_in_users_code
def memory(fn: Case | Callable[..., Any], *args: Any, run: bool = True, **kwargs: Any) -> MemoryUse:
    """Return the largest buffers of a function, and the peak memory of the process and the device.

    The function is compiled without the persistent cache.

    Parameters
    ----------
    fn : Case or callable
        The function, jitted or not; or a case, which may have jit options.
    *args, **kwargs : Any
        The arguments of the function. If any leaf of the arguments is a `jax.ShapeDtypeStruct`, the
        function is not run.
    run : bool
        Whether to run the function to measure its peak memory.

    Returns
    -------
    MemoryUse
        ``memory`` contains the compiler's memory plan, which is exact, and the peak memory of the
        process and of the device. All sizes are in bytes. ``buffers`` contains at most 100
        buffers, the largest first.

    Raises
    ------
    JaxmeterError
        If ``fn``, an argument or a jit option cannot be used, or if arguments are given with a
        case.
    FileError
        If no temporary folder can be made, or if the compiler's file of buffers is larger than
        256 MiB.
    Exception
        Any exception that is raised while the function is traced, compiled or run.
    """
    case = case_of("memory", fn, args, kwargs)
    reset_peak_rss()
    baseline = rss_bytes()
    _, lowered = staged(case, "memory")
    compiled, buffers, source = compiled_with_buffers(lowered)
    compile_peak = peak_rss_bytes()
    peaks: dict[str, int | None] = {
        "baseline_rss_bytes": baseline,
        "compile_peak_rss_bytes": compile_peak,
    }
    leaves = jax.tree.leaves((case.args, dict(case.kwargs)))
    run = run and not any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
    if run:
        _run(case, lowered, compiled)  # may reset the peak
        peaks["peak_rss_bytes"] = max(compile_peak, peak_rss_bytes())
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
    """Run a case, so that the peak memory of the run can be read."""
    kwargs = dict(case.kwargs)
    if jax.tree.structure((case.args, kwargs)) != lowered.in_tree:
        # The function has static arguments, or was jitted by another library.
        measure(case, repeat=1)
        return
    args, kwargs = fresh_arguments(lowered, case.args, kwargs)()
    jax.block_until_ready(compiled(*args, **kwargs))


def allocator() -> Allocator:
    """Return how JAX allocates memory on the first local device."""
    device = jax.local_devices()[0]
    limit = (device.memory_stats() or {}).get("bytes_limit")
    if device.platform not in _ALLOCATING:
        return Allocator(None, None, None, limit)
    kind = os.environ.get("XLA_PYTHON_CLIENT_ALLOCATOR", "default").lower()
    preallocate = os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE")
    fraction = os.environ.get("XLA_CLIENT_MEM_FRACTION") or os.environ.get(
        "XLA_PYTHON_CLIENT_MEM_FRACTION"
    )
    return Allocator(
        # The allocator "platform" allocates each buffer separately, so nothing is preallocated.
        preallocate=preallocate not in ("false", "False", "0") and kind != "platform",
        fraction=float(fraction) if fraction else _DEFAULT_FRACTION,
        kind=kind,
        limit_bytes=limit,
    )


def tradeoff(
    make: Callable[..., Case],
    parameters: Iterable[Mapping[str, Any]],
    *,
    repeat: int = 10,
    max_seconds: float | None = None,
) -> Tradeoff:
    """Measure the time and memory of a function for several choices of parameters.

    Parameters
    ----------
    make : callable
        ``make(**choice)`` returns the `Case` to measure for one choice of parameters.
    parameters : iterable of mapping
        The choices, such as ``[{"chunk": 16}, {"chunk": 64}]``.
    repeat, max_seconds : int, float or None
        The number of samples and the time limit for each choice, as in `jaxmeter.measure`.

    Returns
    -------
    Tradeoff
        The median time of each choice in seconds, the size of its temporaries in bytes, and whether
        every faster choice needs more memory. If a choice fails, for example for lack of memory,
        its error is kept instead.

    Raises
    ------
    JaxmeterError
        If an argument is invalid, or ``make`` does not return a case.
    Exception
        Any exception that ``make`` raises.
    """
    checked("tradeoff", "repeat", repeat, Count)
    checked("tradeoff", "max_seconds", max_seconds, Limit)
    measured: list[tuple[dict[str, Scalar], float, int | None]] = []
    failures: list[TradeoffPoint] = []
    name = name_of(make)
    for params in parameters:
        if not isinstance(params, Mapping):
            raise JaxmeterError(
                f"tradeoff: got {params!r:.80} among the parameters; give each choice as a "
                'dictionary, such as {"n": 3}'
            )
        case = make(**params)
        if not isinstance(case, Case):
            raise JaxmeterError(
                f"tradeoff: got {case!r:.80} from {name_of(make)}; make this function return "
                "jaxmeter.Case(fn, args)"
            )
        name = name_of(case.fn)
        plain = {key: scalar(value) for key, value in params.items()}
        try:
            record = measure(case, repeat=repeat, max_seconds=max_seconds)
        except Exception as error:
            failure = f"{type(error).__name__}: {message_of(error)}".strip().splitlines()[0]
            failures.append(TradeoffPoint(plain, None, None, False, failure))
        else:
            seconds = statistics.median(record.samples_seconds)
            measured.append((plain, seconds, record.memory.temp_bytes))
    front = pareto_front([(seconds, size) for _, seconds, size in measured])
    ranked = [TradeoffPoint(*measured[n], is_best) for n, is_best in front]
    return Tradeoff(name, (*ranked, *failures), jax.__version__)


def pareto_front(sizes: Sequence[tuple[float, int | None]]) -> Iterator[tuple[int, bool]]:
    """Yield the position of each pair (seconds, bytes), the fastest first, and whether the pair is
    best. The fastest pair is best. A later pair is best if it has fewer bytes than all pairs before
    it. Unknown bytes count as infinite."""
    known = [(time, math.inf if size is None else size) for time, size in sizes]
    smallest = math.inf
    for place, n in enumerate(sorted(range(len(known)), key=known.__getitem__)):
        yield n, place == 0 or known[n][1] < smallest
        smallest = min(smallest, known[n][1])
