"""From the records of one case to the numbers that asv keeps.

The samples of a time are one number a *process*: within a process the calls share one memory
layout and one stretch of the machine's mood, so they agree far better among themselves than with
the next process. Exact metrics (bytes, counts) must be equal in all of them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from typing import TypedDict

from jaxmeter import Record


class Summary(TypedDict):
    """What a suite's ``track_`` methods read; plain data, so that reading it imports no JAX."""

    status: str
    """"ok", or the status of the first record that is not."""
    message: str
    """Why a case is not ok."""
    times: dict[str, list[float]]
    """Seconds, one a process."""
    numbers: dict[str, float]
    """Exact metrics, and errors (the largest of all processes)."""


def compile_seconds(record: Record) -> float | None:
    """Seconds from the call to the program: trace, lower and compile, of each the least build."""
    build = record.least_compile()
    parts = (build.trace_seconds, build.lower_seconds, build.compile_seconds)
    known = [seconds for seconds in parts if seconds is not None]
    return sum(known) if len(known) == len(parts) else None


def steady_median_seconds(record: Record) -> float | None:
    """Median of the steady-state calls of one process."""
    return statistics.median(record.samples_seconds) if record.samples_seconds else None


def steady_std_seconds(record: Record) -> float | None:
    """Standard deviation of the steady-state calls of one process."""
    samples = record.samples_seconds
    return statistics.stdev(samples) if len(samples) > 1 else None


_TIMES: dict[str, Callable[[Record], float | None]] = {
    "compile_seconds": compile_seconds,
    "steady_median_seconds": steady_median_seconds,
    "steady_std_seconds": steady_std_seconds,
}

_EXACT: dict[str, Callable[[Record], float | None]] = {
    "captured_bytes": lambda record: record.constants.captured_bytes,
    "embedded_bytes": lambda record: record.constants.embedded_bytes,
    "temp_bytes": lambda record: record.memory.temp_bytes,
}


def summarise(records: Sequence[Record]) -> Summary:
    """Gather one case's records, one a process, into the numbers asv keeps.

    Extras and checks ending in ``_seconds`` become times as well; all others become numbers, the
    largest over the processes.
    """
    ok = [record for record in records if record.status == "ok"]
    bad = [record for record in records if record.status != "ok"]
    summary = Summary(status="ok", message="", times={}, numbers={})
    if bad or not ok:
        summary["status"] = bad[0].status if bad else "failed"
        failure = bad[0].failure if bad else None
        summary["message"] = (
            f"{failure.phase}: {failure.kind}: {failure.message}" if failure else "no record"
        )
        return summary
    for name, quantity in _TIMES.items():
        _add_time(summary, name, [quantity(record) for record in ok])
    for name, quantity in _EXACT.items():
        values = {value for record in ok if (value := quantity(record)) is not None}
        if len(values) > 1:
            summary["status"] = "failed"
            summary["message"] = f"{name} differs between processes: {sorted(values)}"
        for value in values:
            summary["numbers"][name] = value
    for name in {**ok[0].extras, **ok[0].checks}:
        values = [record.extras.get(name, record.checks.get(name)) for record in ok]
        if name.endswith("_seconds"):
            _add_time(summary, name, values)
        else:
            summary["numbers"][name] = _largest([value for value in values if value is not None])
    return summary


def _largest(values: Sequence[float]) -> float:
    """The largest; NaN where one is NaN, which `max` would lose."""
    return math.nan if any(map(math.isnan, values)) else max(values)


def _add_time(summary: Summary, name: str, values: Sequence[float | None]) -> None:
    known = [value for value in values if value is not None]
    if known:
        summary["times"][name] = known
