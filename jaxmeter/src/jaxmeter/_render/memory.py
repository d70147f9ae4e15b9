"""Describe the memory that a program takes, and tradeoffs of memory for time."""

from __future__ import annotations

from jaxmeter._records.memory import Allocator, MemoryUse, Tradeoff
from jaxmeter._records.record import Memory
from jaxmeter._render.sheet import Code, Row, Sheet, Table
from jaxmeter._render.units import bytes_text, seconds_text

_BUFFERS_SHOWN_COUNT = 10
_TITLES = {
    "assignment": "largest buffers",
    "instructions": "largest results of instructions (the compiler reports no buffers)",
}


def memory_sheet(use: MemoryUse) -> Sheet:
    """Describe the compiler's account, the peaks, the largest buffers, and the allocator."""
    memory = use.memory
    numbers = (
        ("arguments", memory.argument_bytes),
        ("outputs", memory.output_bytes),
        ("temporaries", memory.temp_bytes),
        ("of arguments reused", memory.alias_bytes or None),
        ("process, above start", peak_above_start(memory)),
        ("device peak", memory.device_peak_bytes),
    )
    rows = tuple(Row((name, bytes_text(size))) for name, size in numbers if size is not None)
    buffers = Table(
        ("bytes:", "kind", "type", "operation", "from"),
        tuple(
            Row(
                (
                    f"{buffer.bytes:,}",
                    buffer.kind,
                    Code(buffer.shape),
                    buffer.opcode or buffer.instruction,
                    Code(buffer.scope),
                )
            )
            for buffer in use.buffers[:_BUFFERS_SHOWN_COUNT]
        ),
        _TITLES[use.source],
    )
    notes = (allocator_text(use.allocator, use.backend),)
    return Sheet(use.name, tables=(Table(("quantity", "memory:"), rows), buffers), notes=notes)


def tradeoff_sheet(tradeoff: Tradeoff) -> Sheet:
    """Describe each choice, the fastest first."""
    rows = tuple(
        Row(
            (
                "yes" if point.is_best else "",
                Code(", ".join(f"{name}={value}" for name, value in point.params.items())),
                seconds_text(point.seconds),
                bytes_text(point.temp_bytes),
            ),
            (point.failure,) if point.failure else (),
        )
        for point in tradeoff.points
    )
    choices = Table(
        ("best", "choice", "time:", "temporaries:"), rows, details="failure", limit=1000
    )
    best = f"{len(tradeoff.front)} of {len(tradeoff.points)} choices are best"
    return Sheet(f"{tradeoff.name}: {best}", tables=(choices,))


def peak_above_start(memory: Memory) -> int | None:
    """Return the peak of the process's resident set above that at the start; None if unknown."""
    if memory.peak_rss_bytes is None or memory.baseline_rss_bytes is None:
        return None
    return memory.peak_rss_bytes - memory.baseline_rss_bytes


def allocator_text(allocator: Allocator, backend: str) -> str:
    """Return one line: how JAX takes memory of the device."""
    if allocator.preallocate is None:
        return f"on {backend} JAX preallocates nothing"
    share = f"{100 * (allocator.fraction or 0):g} %"
    how = "takes at the start" if allocator.preallocate else "takes as it needs, up to"
    if allocator.kind == "platform":
        how, share = "allocates each array from the platform, up to", "100 %"
    limit = "" if allocator.limit_bytes is None else f" ({bytes_text(allocator.limit_bytes)})"
    return f"on {backend} JAX {how} {share} of the device's memory{limit}"
