"""Describe the memory that a program uses, and tradeoffs between memory and time."""

from __future__ import annotations

import dataclasses

from jaxmeter._records.memory import Allocator, MemoryUse, Tradeoff
from jaxmeter._render.sheet import Code, Row, Sheet, Table, quantities
from jaxmeter._render.units import bytes_text, devices_notes, seconds_text

_TITLES = {
    "assignment": "largest buffers",
    "instructions": "largest results of instructions (the compiler reports no buffers)",
}
_SIZES = {
    "arguments": "argument_bytes",
    "outputs": "output_bytes",
    "temporaries": "temp_bytes",
    "reused arguments": "alias_bytes",
    "process peak above start": "peak_above_start_bytes",
    "device peak": "device_peak_bytes",
}


def memory_sheet(use: MemoryUse) -> Sheet:
    """Describe the memory that the compiler reports, the measured peaks, the largest buffers, and
    JAX's allocator."""
    memory = dataclasses.replace(use.memory, alias_bytes=use.memory.alias_bytes or None)
    buffers = [
        Row(
            f"{buffer.bytes:,}",
            buffer.kind,
            Code(buffer.shape),
            buffer.opcode or buffer.instruction,
            Code(buffer.scope),
        )
        for buffer in use.buffers
    ]
    columns = ("bytes:", "kind", "type", "operation", "from")
    tables = (
        Table(("quantity", "memory:"), list(quantities(memory, _SIZES))),
        Table(columns, buffers, _TITLES[use.source], limit=10),
    )
    notes = (*devices_notes(memory.devices_count), allocator_text(use.allocator, use.backend))
    return Sheet(use.name, tables=tables, notes=notes)


def tradeoff_sheet(tradeoff: Tradeoff) -> Sheet:
    """Describe the time and temporaries of each choice of parameters, the fastest first."""
    rows = [
        Row(
            "yes" if point.is_best else "",
            Code(", ".join(f"{name}={value}" for name, value in point.params.items())),
            seconds_text(point.seconds),
            bytes_text(point.temp_bytes),
            details=filter(None, [point.failure]),
        )
        for point in tradeoff.points
    ]
    columns = ("best", "choice", "time:", "temporaries:")
    best = f"{len(tradeoff.front)} of {len(tradeoff.points)} choices are best"
    choices = Table(columns, rows, details="failure", limit=1000)
    return Sheet(f"{tradeoff.name}: {best}", tables=(choices,))


def allocator_text(allocator: Allocator, backend: str) -> str:
    """Return one line that describes how JAX allocates the memory of the device."""
    if allocator.preallocate is None:
        return f"on {backend} JAX preallocates nothing"
    share = f"{100 * (allocator.fraction or 0):g} %"
    how = "preallocates" if allocator.preallocate else "takes memory as needed, up to"
    if allocator.kind == "platform":
        how, share = "allocates each array from the platform, up to", "100 %"
    limit = "" if allocator.limit_bytes is None else f" ({bytes_text(allocator.limit_bytes)})"
    return f"on {backend} JAX {how} {share} of the device's memory{limit}"
