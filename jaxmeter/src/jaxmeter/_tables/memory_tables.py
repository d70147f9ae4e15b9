"""Memory and time of a function over choices of parameters, as a table with its Pareto front."""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from jaxmeter._measure.case import Case
from jaxmeter._program.memory import tradeoff
from jaxmeter._records.record import Memory, Record
from jaxmeter._tables.schemas import REAL, TEXT, TRUTH, WHOLE, frame, schema
from jaxmeter.errors import JaxmeterError

schema(
    "memory",
    "A choice of parameters, measured in processes of their own; the fastest first, failures last.",
    {
        "parameters": (TEXT, "what was chosen, as JSON"),
        "status": (TEXT, "`ok`, `failed`, `timeout`, ..."),
        "failure": (TEXT, "why there are no numbers"),
        "rounds_count": (WHOLE, "processes"),
        "seconds": (REAL, "median over processes of the median of steady-state runs, seconds"),
        "least_seconds": (REAL, "the least of the processes' medians, seconds"),
        "largest_seconds": (REAL, "the largest of them, seconds"),
        "argument_bytes": (WHOLE, "compiler's account: arguments, bytes"),
        "output_bytes": (WHOLE, "compiler's account: results, bytes"),
        "temp_bytes": (WHOLE, "compiler's account: temporaries, bytes"),
        "embedded_bytes": (WHOLE, "constants handed to the compiler, bytes"),
        "compile_peak_bytes": (WHOLE, "process: peak while compiling above the start, bytes"),
        "run_peak_bytes": (WHOLE, "process: peak up to the last run above the start, bytes"),
        "device_peak_bytes": (WHOLE, "device: peak in use since the process began; no CPU tells"),
        "is_preallocated": (TRUTH, "whether it takes its share of the device when it starts"),
        "limit_bytes": (WHOLE, "the most it may take, bytes"),
        "reserved_bytes": (WHOLE, "what it has taken of the device, bytes"),
        "error_relative": (REAL, "of the answer, where the case checks it"),
        "is_front": (TRUTH, "no other choice is both faster and smaller in temporaries"),
    },
)

RESERVED = ("pool_bytes", "bytes_reserved")
"""Names under which allocators of JAX tell what they have taken."""


@dataclasses.dataclass(frozen=True)
class Point:
    """A choice of parameters and its records, one a process."""

    params: Mapping[str, Any]
    records: Sequence[Record]


def memory_table(points: Sequence[Point]) -> pd.DataFrame:
    """Time, memory by the compiler's account and real peaks, and who is on the Pareto front.

    Parameters
    ----------
    points : sequence of Point
        A point whose records are not all ``ok`` counts as failed. Numbers of the allocator are
        looked for among a record's checks: `allocator_checks`.
    """
    by_text = {_text(point.params): point for point in points}
    if len(by_text) < len(points):
        raise JaxmeterError("memory_table: got a choice of parameters twice; give each once")
    measured = tradeoff(
        lambda parameters: Case(_never, kwargs={"parameters": parameters}),
        [{"parameters": text} for text in by_text],
        measured=lambda case: _together(by_text[case.kwargs["parameters"]].records),
    )
    rows = []
    for point in measured.points:
        text = str(point.params["parameters"])
        row = {"parameters": text, "is_front": point.is_best, **_row(by_text[text].records)}
        rows.append(row)
    return frame("memory", rows)


def _text(params: Mapping[str, Any]) -> str:
    return json.dumps(dict(params), sort_keys=True)


def _never() -> None:
    raise AssertionError("measured elsewhere")


def _together(records: Sequence[Record]) -> Record:
    """A record whose samples are the medians of the processes'."""
    bad = next((one for one in records if one.status != "ok"), None)
    if bad is not None or not records:
        raise JaxmeterError("no record" if bad is None or bad.failure is None else bad.failure.kind)
    medians = tuple(statistics.median(one.samples_seconds) for one in records)
    return dataclasses.replace(records[0], samples_seconds=medians)


def _row(records: Sequence[Record]) -> dict[str, Any]:
    bad = next((one for one in records if one.status != "ok"), None)
    if bad is not None or not records:
        failure = None if bad is None else bad.failure
        told = "" if failure is None else f"{failure.phase}: {failure.kind}: {failure.message}"
        return {
            "status": "failed" if bad is None else bad.status,
            "failure": told[:300],
            "rounds_count": len(records),
        }
    medians = [statistics.median(one.samples_seconds) for one in records]
    memory, checks = records[0].memory, records[0].checks
    return {
        "status": "ok",
        "failure": "",
        "rounds_count": len(records),
        "seconds": statistics.median(medians),
        "least_seconds": min(medians),
        "largest_seconds": max(medians),
        "argument_bytes": memory.argument_bytes,
        "output_bytes": memory.output_bytes,
        "temp_bytes": memory.temp_bytes,
        "embedded_bytes": records[0].constants.embedded_bytes,
        "compile_peak_bytes": _largest(records, "compile_peak_rss_bytes"),
        "run_peak_bytes": _largest(records, "peak_rss_bytes"),
        "device_peak_bytes": memory.device_peak_bytes,
        "is_preallocated": _truth(checks.get("allocator_is_preallocating")),
        "limit_bytes": _whole(checks.get("allocator_limit_bytes")),
        "reserved_bytes": _whole(checks.get("allocator_reserved_bytes")),
        "error_relative": checks.get("error_relative"),
    }


def _largest(records: Sequence[Record], name: str) -> int | None:
    """Over processes, of a peak above what the process took before it traced."""

    def above(memory: Memory) -> int | None:
        peak, start = getattr(memory, name), memory.baseline_rss_bytes
        return None if peak is None or start is None else peak - start

    return max((n for one in records if (n := above(one.memory)) is not None), default=None)


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _truth(value: float | None) -> bool | None:
    return None if value is None else bool(value)


def allocator_checks() -> dict[str, float]:
    """What the allocator of the first device says of itself, as numbers for a case's check; none
    on a CPU, which has no such thing."""
    import jax

    from jaxmeter._program.memory import allocator

    told, found = allocator(), {}
    stats = jax.local_devices()[0].memory_stats() or {}
    if told.preallocate is not None:
        found["allocator_is_preallocating"] = float(told.preallocate)
    if told.limit_bytes is not None:
        found["allocator_limit_bytes"] = float(told.limit_bytes)
    reserved = next((stats[name] for name in RESERVED if name in stats), None)
    if reserved is not None:
        found["allocator_reserved_bytes"] = float(reserved)
    return found
