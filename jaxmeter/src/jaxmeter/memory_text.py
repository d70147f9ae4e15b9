"""What memory a program takes, as text: for the terminal, and in Markdown."""

from __future__ import annotations

from jaxmeter.audit_text import code
from jaxmeter.memory_record import Allocator, Buffer, MemoryUse, Trade, TradePoint
from jaxmeter.units import bytes_text, seconds_text

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


def memory_markdown(use: MemoryUse) -> str:
    """The same as Markdown tables."""
    rows = [f"### {use.name}", "", "| what | memory |", "| --- | ---: |"]
    rows += [f"| {name} | {text} |" for name, text in _numbers(use)]
    rows += ["", f"{_title(use)[0].upper()}{_title(use)[1:]}:", ""]
    rows += ["| bytes | kind | type | operation | from |", "| ---: | --- | --- | --- | --- |"]
    rows += [
        f"| {one.bytes:,} | {one.kind} | {code(one.shape)} | {one.opcode} | {code(one.scope)} |"
        for one in use.buffers[:_BUFFERS_SHOWN_COUNT]
    ]
    text = allocator_text(use.allocator, use.backend)
    return "\n".join([*rows, "", text[0].upper() + text[1:] + "."])


def trade_table(trade: Trade) -> str:
    """A line for each choice, the fastest first; the best are marked."""
    rows = [f"{trade.name}: {len(trade.front)} of {len(trade.points)} choices are best"]
    width = max((len(_params(point)) for point in trade.points), default=0)
    for point in trade.points:
        mark = "*" if point.is_best else " "
        numbers = f"{seconds_text(point.seconds):>8}  {bytes_text(point.temp_bytes)}"
        rows.append(f"  {mark} {_params(point):<{width}}  {point.failure or numbers}".rstrip())
    return "\n".join(rows)


def trade_markdown(trade: Trade) -> str:
    """The same as a Markdown table."""
    rows = [f"### {trade.name}", "", "| choice | seconds | temporaries | best |"]
    rows += ["| --- | ---: | ---: | --- |"]
    for point in trade.points:
        seconds = point.failure if point.seconds is None else f"{point.seconds:.4g}"
        best = "yes" if point.is_best else ""
        size = bytes_text(point.temp_bytes)
        rows.append(f"| {code(_params(point))} | {seconds} | {size} | {best} |")
    return "\n".join(rows)


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


def _params(point: TradePoint) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.params.items())
