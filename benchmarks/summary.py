"""Summarise the records of a case as the numbers that asv keeps.

A time has one sample for each *process*. All calls in a process have the same memory layout and
nearly the same machine noise. The times in a process therefore agree far better with each other
than with the times in another process. The bytes of captured arrays, constants and temporaries must
be equal in all processes.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from jaxmeter import Record


EXACT = (
    ("constants", "captured_bytes"),
    ("constants", "embedded_bytes"),
    ("memory", "temp_bytes"),
)


class Summary(TypedDict):
    """The results of a case, as the ``track_`` methods of a suite read them.

    A summary is plain data, so reading a summary does not import JAX.
    """

    status: str
    """The first status other than "ok" in the records, or "ok" if all records are "ok".

    It is "failed" if an exact number differs between processes, or if there is no record.
    """
    message: str
    """The reason if the status is not "ok"; otherwise empty."""
    times: dict[str, list[float]]
    """Seconds by name, with one sample for each process.

    The times are compile times, steady-state times, and the entries of `Record.checks` and
    `Record.extras` with names that end in ``_seconds``.
    """
    numbers: dict[str, float]
    """Other numbers by name, such as bytes, counts and errors.

    Each number is the maximum over all processes, or NaN if any process has NaN.
    """


def summarise(records: Sequence[Record]) -> Summary:
    """Return the summary of a case from its records, one record for each process."""
    bad = [record for record in records if record.status != "ok"]
    summary = Summary(status="ok", message="", times={}, numbers={})
    if bad or not records:
        summary["status"] = bad[0].status if bad else "failed"
        failure = bad[0].failure if bad else None
        summary["message"] = "the reason is not recorded" if bad else "no record"
        if failure:
            summary["message"] = f"{failure.phase}: {failure.kind}: {failure.message}"
        return summary
    for part, name in EXACT:
        values = {getattr(getattr(record, part), name) for record in records} - {None}
        if len(values) > 1:
            summary["status"] = "failed"
            summary["message"] = f"{name} differs between processes: {sorted(values)}"
        summary["numbers"].update((name, value) for value in values)
    samples = [{**record.checks, **record.extras, **_times(record)} for record in records]
    for name in samples[0]:
        values = [value for one in samples if (value := one.get(name)) is not None]
        if not values:
            continue
        if name.endswith("_seconds"):
            summary["times"][name] = values
        else:
            # `max` would lose a NaN.
            summary["numbers"][name] = math.nan if any(map(math.isnan, values)) else max(values)
    return summary


def _times(record: Record) -> dict[str, float | None]:
    least, samples = record.least_compile(), record.samples_seconds
    parts = (least.trace_seconds, least.lower_seconds, least.compile_seconds)
    known = [seconds for seconds in parts if seconds is not None]
    return {
        "compile_seconds": least.compile_seconds,
        "trace_lower_compile_seconds": sum(known) if len(known) == len(parts) else None,
        "steady_median_seconds": statistics.median(samples) if samples else None,
        "steady_std_seconds": statistics.stdev(samples) if len(samples) > 1 else None,
    }
