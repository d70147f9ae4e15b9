"""Make the `Sheet` that describes a record."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from jaxmeter._records.record import Record
from jaxmeter._render.sheet import Row, Sheet, Table, quantities
from jaxmeter._render.units import bytes_text, count_text, devices_notes, seconds_text, type_text

_PHASES = {
    "setup": "setup_seconds",
    "trace": "phases.trace_seconds",
    "lower": "phases.lower_seconds",
    "compile": "phases.compile_seconds",
    "first call": "phases.first_call_seconds",
}
_CONSTANTS = {"captured": "captured", "embedded": "embedded", "hidden arguments": "hidden_argument"}
_ARRAYS_COUNT = 10
_SIZES = {
    "Python executions": "counts.python_executions_count",
    "traces": "counts.traces_count",
    "compiles": "counts.compiles_count",
    "jaxpr equations": "program.jaxpr_equations_count",
    "HLO instructions": "program.hlo_instructions_count",
    "fusions": "program.fusions_count",
    "flops": "program.flops",
    "bytes accessed": "program.accessed_bytes",
    "temporaries": "memory.temp_bytes",
    "peak above start": "memory.peak_above_start_bytes",
    "device peak": "memory.device_peak_bytes",
}


def record_sheet(record: Record) -> Sheet:
    """Describe the main quantities of a record. Quantities that are not known are left out."""
    message = "" if record.failure is None else record.failure.message
    details_limit = max(_ARRAYS_COUNT, len(message.splitlines()))
    rows = list(_rows(record))
    table = Table(("quantity", "value"), rows, limit=1000, details_limit=details_limit)
    notes = devices_notes(record.memory.devices_count) + _notes_about_phases(record)
    return Sheet(record.name, record.status == "ok", (table,), notes)


def _notes_about_phases(record: Record) -> tuple[str, ...]:
    """Return a note that names the phases for which JAX used an earlier result."""
    phases, stages = record.phases, ("trace", "lower", "compile")
    earlier = [name for name in stages if getattr(phases, f"{name}_seconds") is None]
    if not earlier or record.counts.traces_count != 0 or phases.first_call_seconds is None:
        return ()
    return (
        f"no time for {', '.join(earlier)}: JAX used an earlier result; measure in a process that "
        "did not trace the function before",
    )


def _rows(record: Record) -> Iterator[Row]:
    yield Row("status", record.status)
    if (failure := record.failure) is not None:
        lines = failure.message.splitlines()
        yield Row("failure", f"{failure.kind} in {failure.phase}", details=lines)
    yield from quantities(record, _PHASES)
    again = [one.compile_seconds for one in record.recompiles if one.compile_seconds is not None]
    if again:
        yield Row("compile again", ", ".join(map(seconds_text, again)))
    if samples := record.samples_seconds:
        median, low, high = (seconds_text(of(samples)) for of in (statistics.median, min, max))
        yield Row("steady-state run", f"{median} median of {len(samples)}, {low} to {high}")
    for name, field in _CONSTANTS.items():
        size, count = (getattr(record.constants, f"{field}_{unit}") for unit in ("bytes", "count"))
        if size is not None:
            text = f"{bytes_text(size)} in {count_text(count or 0, 'array')}"
            yield Row(name, text, details=_arrays(record) if field == "captured" else ())
    yield from quantities(record, _SIZES)
    for name, value in (*record.checks.items(), *record.extras.items()):
        yield Row(name, f"{value:.6g}")


def _arrays(record: Record) -> Iterator[str]:
    for array in sorted(record.constants.arrays, key=lambda array: -array.bytes):
        where = f" in {array.where}" if array.where else ""
        yield f"{type_text(array)} {bytes_text(array.bytes)}{where}"
