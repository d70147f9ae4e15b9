"""Describe a record, and a calibration."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from jaxmeter._records.calibration import Calibration
from jaxmeter._records.record import Constants, Record
from jaxmeter._render.memory import peak_above_start
from jaxmeter._render.sheet import Row, Sheet, Table
from jaxmeter._render.units import bytes_text, count_text, seconds_text


def record_sheet(record: Record) -> Sheet:
    """Describe everything that is known.

    The steady-state runs are shown by their median, minimum and maximum; the record has all.
    """
    rows = tuple(Row((name, text), details) for name, text, details in _rows(record) if text)
    table = Table(("quantity", "value"), rows, limit=1000, details_limit=10)
    return Sheet(record.name, record.status == "ok", (table,))


def calibration_sheet(made: Calibration) -> Sheet:
    """Describe the cost of an embedded megabyte, and how much it varied."""
    samples = made.samples_seconds_per_megabyte
    low, high = (seconds_text(of(samples), 2) if samples else "" for of in (min, max))
    spread = f", {low} to {high} in {len(samples)} rounds," if samples else ""
    return Sheet(
        f"compiling takes {seconds_text(made.seconds_per_megabyte, 2)}{spread} for each megabyte "
        f"that is embedded (JAX {made.jax}, {made.device_kind}, {made.cpu_model}, "
        f"{made.measured_utc})"
    )


def _rows(record: Record) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the name of each quantity, its value, empty if unknown, and its details."""
    constants, counts, program, memory, phases = (
        record.constants,
        record.counts,
        record.program,
        record.memory,
        record.phases,
    )
    yield "status", record.status, ()
    if (failure := record.failure) is not None:
        yield "failure", f"{failure.kind} in {failure.phase}", (failure.message,)
    for name, seconds in (
        ("setup", record.setup_seconds),
        ("trace", phases.trace_seconds),
        ("lower", phases.lower_seconds),
        ("compile", phases.compile_seconds),
        ("first call", phases.first_call_seconds),
    ):
        yield name, seconds_text(seconds), ()
    again = (one.compile_seconds for one in record.recompiles)
    yield "compile again", ", ".join(seconds_text(s) for s in again if s is not None), ()
    if samples := record.samples_seconds:
        median, low, high = (seconds_text(of(samples)) for of in (statistics.median, min, max))
        yield "steady-state run", f"{median} median of {len(samples)}, {low} to {high}", ()
    for name, size, count, details in (
        ("captured", constants.captured_bytes, constants.captured_count, _arrays(constants)),
        ("embedded", constants.embedded_bytes, constants.embedded_count, ()),
        (
            "hidden arguments",
            constants.hidden_argument_bytes,
            constants.hidden_argument_count,
            (),
        ),
    ):
        arrays = count_text(count or 0, "array")
        yield name, "" if size is None else f"{bytes_text(size)} in {arrays}", details
    for name, number in (
        ("Python executions", counts.python_executions_count),
        ("traces", counts.traces_count),
        ("compiles", counts.compiles_count),
        ("jaxpr equations", program.jaxpr_equations_count),
        ("HLO instructions", program.hlo_instructions_count),
        ("fusions", program.fusions_count),
        ("flops", program.flops),
    ):
        yield name, "" if number is None else f"{number:,.0f}", ()
    for name, size in (
        ("bytes accessed", program.accessed_bytes),
        ("temporaries", memory.temp_bytes),
        ("peak above start", peak_above_start(memory)),
        ("device peak", memory.device_peak_bytes),
    ):
        yield name, bytes_text(size), ()
    for name, value in (*record.checks.items(), *record.extras.items()):
        yield name, f"{value:.6g}", ()


def _arrays(constants: Constants) -> tuple[str, ...]:
    return tuple(
        f"{array.dtype}[{', '.join(map(str, array.shape))}] {bytes_text(array.bytes)}"
        + (f" in {array.where}" if array.where else "")
        for array in sorted(constants.arrays, key=lambda array: -array.bytes)
    )
