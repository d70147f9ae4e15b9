"""Make the table of time and memory for several choices of parameters.

The table marks the Pareto front: the choices for which every faster choice has larger temporaries.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import pandas as pd

from jaxmeter._program.memory import allocator, pareto_front
from jaxmeter._records.argument_types import checking_types
from jaxmeter._records.record import Record
from jaxmeter._tables.schemas import frame
from jaxmeter.errors import JaxmeterError

_RESERVED = ("pool_bytes", "bytes_reserved")
"""The names that JAX's allocators give to reserved memory in their statistics."""


@dataclasses.dataclass(frozen=True)
class Point:
    """A choice of parameters and its records, one for each process."""

    params: Mapping[str, Any]
    records: Sequence[Record]


@checking_types
def memory_table(points: Sequence[Point]) -> pd.DataFrame:
    """Return the table ``memory``: time and memory of each choice, with the Pareto front marked.

    Parameters
    ----------
    points : sequence of Point
        The choices with their records. A choice has failed if it has no record, or if one of its
        records has a status other than ``ok``. The columns that describe the allocator are filled
        if the checks of a choice's first record include the numbers from `allocator_checks`.

    Raises
    ------
    JaxmeterError
        If a choice of parameters occurs twice.
    """
    rows = [_row(point) for point in points]
    if len({row["parameters"] for row in rows}) < len(rows):
        raise JaxmeterError(
            f"memory_table: got {', '.join(row['parameters'] for row in rows):.200}, some of which "
            "are the same; give one Point for each choice, with all its records"
        )
    good = [row for row in rows if row["status"] == "ok"]
    ranked = pareto_front([(row["seconds"], row["temp_bytes"]) for row in good])
    fastest_first = [{**good[n], "is_front": best} for n, best in ranked]
    failed = [{**row, "is_front": False} for row in rows if row["status"] != "ok"]
    return frame("memory", [*fastest_first, *failed])


def _row(point: Point) -> dict[str, Any]:
    records = point.records
    row = {
        "parameters": json.dumps(dict(point.params), sort_keys=True),
        "status": "ok" if records else "failed",
        "failure": "",
        "rounds_count": len(records),
    }
    for record in records:
        if record.status != "ok":
            failure = record.failure
            text = f"{failure.phase}: {failure.kind}: {failure.message}" if failure else ""
            return {**row, "status": record.status, "failure": text[:300]}
    if not records:
        return row
    medians = [statistics.median(record.samples_seconds) for record in records]
    memory, checks = records[0].memory, records[0].checks
    return {
        **row,
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
        "is_preallocated": checks.get("allocator_is_preallocating"),
        "limit_bytes": checks.get("allocator_limit_bytes"),
        "reserved_bytes": checks.get("allocator_reserved_bytes"),
        "error_relative": checks.get("error_relative"),
    }


def _largest(records: Sequence[Record], name: str) -> int | None:
    """Return the maximum over processes of the memory peak minus the baseline, in bytes.

    Return None if no process has both numbers. `name` is the field of the peak in `Record.memory`.
    """
    peaks = [
        peak - record.memory.baseline_rss_bytes
        for record in records
        if (peak := getattr(record.memory, name)) is not None
        and record.memory.baseline_rss_bytes is not None
    ]
    return max(peaks, default=None)


def allocator_checks() -> dict[str, float]:
    """Return numbers that describe the first device's allocator, to add to the checks of a case.

    The dictionary is empty on a CPU.
    """
    found = allocator()
    stats = jax.local_devices()[0].memory_stats() or {}
    reserved = next((stats[name] for name in _RESERVED if name in stats), None)
    numbers = {
        "allocator_is_preallocating": found.preallocate,
        "allocator_limit_bytes": found.limit_bytes,
        "allocator_reserved_bytes": reserved,
    }
    return {name: float(value) for name, value in numbers.items() if value is not None}
