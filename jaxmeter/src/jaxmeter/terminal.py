"""A record as a plain text table, for the terminal."""

from __future__ import annotations

import statistics

from jaxmeter.record import Record

_ARRAYS_SHOWN_COUNT = 10


def table(record: Record) -> str:
    """What a record says, a line for each thing that is known.

    The settled runs are shown by their median, least and greatest; all are in the record.
    """
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
    if record.samples_seconds:
        samples = record.samples_seconds
        rows.append(
            (
                "settled run",
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
        arrays = "array" if count == 1 else "arrays"
        rows.append((label, "" if size is None else f"{bytes_text(size)} in {count} {arrays}"))
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
    shown = [(label, text) for label, text in rows if text]
    width = max(len(label) for label, _ in shown)
    return "\n".join([record.name] + [f"  {label:<{width}}  {text}" for label, text in shown])


def seconds_text(seconds: float | None) -> str:
    """Seconds with the unit that suits them; empty for None."""
    if seconds is None:
        return ""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def bytes_text(size: float | None) -> str:
    """Bytes, in powers of 1024 from 10 KiB on; empty for None."""
    if size is None:
        return ""
    if size < 10 * 1024:
        return f"{size:.0f} B"
    for unit, factor in (("KiB", 2**10), ("MiB", 2**20)):
        if size < 1024 * factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size / 2**30:.4g} GiB"
