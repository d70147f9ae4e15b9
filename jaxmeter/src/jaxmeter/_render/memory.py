"""What memory a program takes, as text, and as sheets of tables."""

from __future__ import annotations

from jaxmeter._records.memory import Allocator, Buffer, MemoryUse, Tradeoff, TradeoffPoint
from jaxmeter._render.sheet import Code, Sheet, Table
from jaxmeter._render.units import bytes_text, seconds_text

_BUFFERS_SHOWN_COUNT = 10


def memory_table(use: MemoryUse) -> str:
    """The compiler's account, the peaks, the largest buffers, and the allocator in force."""
    rows = [use.name]
    numbers = _numbers(use)
    width = max(len(name) for name, _ in numbers)
    rows += [f"  {name:<{width}}  {text}" for name, text in numbers]
    shown = use.buffers[:_BUFFERS_SHOWN_COUNT]
    if shown:
        rows.append(f"  {_title(use)}")
    rows += [f"    {bytes_text(one.bytes):>10}  {one.kind:<9}  {_origin(one)}" for one in shown]
    rows.append(f"  {allocator_text(use.allocator, use.backend)}")
    return "\n".join(rows)


def memory_sheet(use: MemoryUse) -> Sheet:
    """The same as tables."""
    numbers = Table(("what", "memory:"), tuple(_numbers(use)))
    buffers = Table(
        ("bytes:", "kind", "type", "operation", "from"),
        tuple(
            (f"{one.bytes:,}", one.kind, Code(one.shape), one.opcode, Code(one.scope))
            for one in use.buffers[:_BUFFERS_SHOWN_COUNT]
        ),
        _title(use),
    )
    return Sheet(
        use.name, tables=(numbers, buffers), notes=(allocator_text(use.allocator, use.backend),)
    )


def tradeoff_table(tradeoff: Tradeoff) -> str:
    """A line for each choice, the fastest first; the best are marked."""
    rows = [f"{tradeoff.name}: {len(tradeoff.front)} of {len(tradeoff.points)} choices are best"]
    width = max((len(_params(point)) for point in tradeoff.points), default=0)
    for point in tradeoff.points:
        mark = "*" if point.is_best else " "
        numbers = f"{seconds_text(point.seconds):>8}  {bytes_text(point.temp_bytes)}"
        rows.append(f"  {mark} {_params(point):<{width}}  {point.failure or numbers}".rstrip())
    return "\n".join(rows)


def tradeoff_sheet(tradeoff: Tradeoff) -> Sheet:
    """The same as a table."""
    choices = Table(
        ("choice", "seconds:", "temporaries:", "best"),
        tuple(
            (
                Code(_params(point)),
                point.failure if point.seconds is None else f"{point.seconds:.4g}",
                bytes_text(point.temp_bytes),
                "yes" if point.is_best else "",
            )
            for point in tradeoff.points
        ),
    )
    return Sheet(tradeoff.name, tables=(choices,))


def allocator_text(allocator: Allocator, backend: str) -> str:
    """One line: how JAX takes memory of the device."""
    if allocator.preallocate is None:
        return f"on {backend} JAX preallocates nothing"
    share = f"{100 * (allocator.fraction or 0):g} %"
    how = "takes at the start" if allocator.preallocate else "takes as it needs, up to"
    if allocator.kind == "platform":
        how, share = "asks the platform for each array, up to", "100 %"
    limit = "" if allocator.limit_bytes is None else f" ({bytes_text(allocator.limit_bytes)})"
    return f"on {backend} JAX {how} {share} of the device's memory{limit}"


def _numbers(use: MemoryUse) -> list[tuple[str, str]]:
    memory = use.memory
    above = None
    if memory.peak_rss_bytes is not None and memory.baseline_rss_bytes is not None:
        above = memory.peak_rss_bytes - memory.baseline_rss_bytes
    numbers = (
        ("arguments", memory.argument_bytes),
        ("outputs", memory.output_bytes),
        ("temporaries", memory.temp_bytes),
        ("of arguments reused", memory.alias_bytes or None),
        ("process, above start", above),
        ("device peak", memory.device_peak_bytes),
    )
    return [(name, bytes_text(size)) for name, size in numbers if size is not None]


def _title(use: MemoryUse) -> str:
    return {
        "assignment": "largest buffers",
        "instructions": "largest results of instructions (the compiler tells no buffers)",
    }[use.source]


def _origin(buffer: Buffer) -> str:
    scope = f" of {buffer.scope}" if buffer.scope else ""
    return f"{buffer.shape}  {buffer.opcode or buffer.instruction}{scope}"


def _params(point: TradeoffPoint) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.params.items())
