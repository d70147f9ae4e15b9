"""A record as a plain text table, and as a sheet."""

from __future__ import annotations

import statistics

from jaxmeter._records.record import Record
from jaxmeter._render.sheet import Sheet, Table
from jaxmeter._render.units import bytes_text, count_text, seconds_text

_ARRAYS_SHOWN_COUNT = 10


def record_table(record: Record) -> str:
    """What a record says, a line for each thing that is known.

    The steady-state runs are shown by their median, least and greatest; all are in the record.
    """
    shown = _rows(record)
    width = max(len(label) for label, _ in shown)
    return "\n".join([record.name] + [f"  {label:<{width}}  {text}" for label, text in shown])


def record_sheet(record: Record) -> Sheet:
    """The same as a sheet."""
    mood = "good" if record.status == "ok" else "bad"
    return Sheet(record.name, mood, (Table(("quantity", "value"), tuple(_rows(record))),))


def _rows(record: Record) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = [("status", record.status)]
    if record.failure is not None:
        rows.append(("failure", f"{record.failure.kind} in {record.failure.phase}"))
        rows.append(("", record.failure.message))
    for label, seconds in (
        ("setup", record.setup_seconds),
        ("trace", record.phases.trace_seconds),
        ("lower", record.phases.lower_seconds),
        ("compile", record.phases.compile_seconds),
        ("first call", record.phases.first_call_seconds),
    ):
        rows.append((label, seconds_text(seconds)))
    if record.recompiles:
        again = [
            one.compile_seconds for one in record.recompiles if one.compile_seconds is not None
        ]
        told = ", ".join(seconds_text(seconds) for seconds in again)
        rows.append(("compile again", told))
    if record.samples_seconds:
        samples = record.samples_seconds
        rows.append(
            (
                "steady-state run",
                f"{seconds_text(statistics.median(samples))} median of {len(samples)}, "
                f"{seconds_text(min(samples))} to {seconds_text(max(samples))}",
            )
        )
    constants, counts, program, memory = (
        record.constants,
        record.counts,
        record.program,
        record.memory,
    )
    for label, size, count in (
        ("captured", constants.captured_bytes, constants.captured_count),
        ("embedded", constants.embedded_bytes, constants.embedded_count),
        ("hidden arguments", constants.hidden_argument_bytes, constants.hidden_argument_count),
    ):
        arrays = count_text(count or 0, "array")
        rows.append((label, "" if size is None else f"{bytes_text(size)} in {arrays}"))
    largest = sorted(constants.arrays, key=lambda array: -array.bytes)
    for array in largest[:_ARRAYS_SHOWN_COUNT]:
        at = f" in {array.where}" if array.where else ""
        shape = ", ".join(map(str, array.shape))
        rows.append(("", f"{array.dtype}[{shape}] {bytes_text(array.bytes)}{at}"))
    if len(largest) > _ARRAYS_SHOWN_COUNT:
        rows.append(("", f"and {len(largest) - _ARRAYS_SHOWN_COUNT} more"))
    for label, number in (
        ("Python executions", counts.python_executions_count),
        ("traces", counts.traces_count),
        ("compiles", counts.compiles_count),
        ("jaxpr equations", program.jaxpr_equations_count),
        ("HLO instructions", program.hlo_instructions_count),
        ("fusions", program.fusions_count),
        ("flops", program.flops),
    ):
        rows.append((label, "" if number is None else f"{number:,.0f}"))
    rss = None
    if memory.peak_rss_bytes is not None and memory.baseline_rss_bytes is not None:
        rss = memory.peak_rss_bytes - memory.baseline_rss_bytes
    for label, size in (
        ("bytes accessed", program.accessed_bytes),
        ("temporaries", memory.temp_bytes),
        ("peak above start", rss),
        ("device peak", memory.device_peak_bytes),
    ):
        rows.append((label, bytes_text(size)))
    for name, value in (*record.checks.items(), *record.extras.items()):
        rows.append((name, f"{value:.6g}"))
    return [(label, text) for label, text in rows if text]
