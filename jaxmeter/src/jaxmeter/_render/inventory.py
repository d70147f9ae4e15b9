"""Describe an inventory of a program, and the differences between two programs."""

from __future__ import annotations

from collections import Counter

from jaxmeter._records.inventory import Change, Fusion, Inventory, ProgramDiff
from jaxmeter._render.sheet import Code, Row, Sheet, Table, quantities
from jaxmeter._render.units import bytes_text, devices_notes, quantity_text

_OPERATIONS_SHOWN_COUNT = 8
_SIZES = {
    "flops": "program.flops",
    "accessed": "program.accessed_bytes",
    "arguments": "memory.argument_bytes",
    "outputs": "memory.output_bytes",
    "temporaries": "memory.temp_bytes",
    "embedded": "constants.embedded_bytes",
}


def diff_sheet(diff: ProgramDiff) -> Sheet:
    """Describe the numbers, source lines and fusions that differ between two programs."""
    numbers = [
        Row((f"{prefix}:", Code(change.name)) if prefix else change.name, *_change(change))
        for prefix, changes in _sections(diff)
        for change in changes
    ]
    fusions = [
        Row(
            change.kind,
            details=(
                *(("-", Code(_fusion(fusion))) for fusion in change.before),
                *(("+", Code(_fusion(fusion))) for fusion in change.now),
            ),
        )
        for change in diff.fusions
    ]
    lines = [
        Row(
            Code(f"{change.line.file}:{change.line.line} {change.line.function}"),
            f"{change.equations_change:+}",
            f"{'+-'[change.bytes_change < 0]}{bytes_text(abs(change.bytes_change))}",
            Code(change.line.text),
        )
        for change in diff.lines
    ]
    tables = (
        Table(("quantity", "before:", "now:", "change:"), numbers, limit=100),
        Table(("line", "equations:", "results:", "text"), lines, limit=12),
        Table(("fusions",), fusions, details="before (-) and now (+)", limit=12, details_limit=20),
    )
    return Sheet(_headline(diff), diff.same or None, tables)


def inventory_sheet(inventory: Inventory) -> Sheet:
    """Describe the sizes of a program, count its primitives, HLO instructions and constants, and
    list its fusions."""
    rows = list(quantities(inventory, _SIZES))
    counted = {
        "primitives": inventory.primitives,
        "HLO": inventory.opcodes,
        "constants": inventory.arrays,
    }
    for name, counts in counted.items():
        if counts:
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            rows.append(Row(name, ", ".join(f"{kind} {count}" for kind, count in ordered)))
    rows += [Row("fusion", Code(_fusion(fusion))) for fusion in inventory.fusions or ()]
    table = Table(("quantity", "value"), rows, limit=1000)
    return Sheet(
        inventory.name, tables=(table,), notes=devices_notes(inventory.memory.devices_count)
    )


def _headline(diff: ProgramDiff) -> str:
    changes = [change for _, section in _sections(diff) for change in section]
    verdict = {
        True: "the same optimised program",
        False: "different programs",
        None: "the known quantities differ" if changes else "no known difference",
    }[diff.same]
    if diff.values is False and not diff.fusions and not changes:
        verdict = "the same except for captured values"
    elif diff.values is False:
        verdict += ", with different captured values"
    if diff.versions is not None:
        verdict += f", with JAX {diff.versions[0]} and {diff.versions[1]}"
    return f"{diff.before} -> {diff.now}: {verdict}"


def _sections(diff: ProgramDiff) -> list[tuple[str, tuple[Change, ...]]]:
    return [
        ("", diff.sizes),
        ("jaxpr", diff.primitives),
        ("HLO", diff.opcodes),
        ("constants", diff.arrays),
    ]


def _change(change: Change) -> tuple[str, str, str]:
    before, now = (quantity_text(change.name, size) for size in (change.before, change.now))
    if not change.before:
        return before, now, "appeared"
    if not change.now:
        return before, now, "vanished"
    return before, now, f"{100 * (change.now / change.before - 1):+.3g} %"


def _fusion(fusion: Fusion) -> str:
    counted = Counter(operation.partition(" ")[0] for operation in fusion.operations)
    names = [name if count == 1 else f"{count} {name}" for name, count in counted.items()]
    if len(names) > _OPERATIONS_SHOWN_COUNT:
        names = [*names[:_OPERATIONS_SHOWN_COUNT], "..."]
    scopes = {operation.partition(" ")[2].rpartition("/")[0] for operation in fusion.operations}
    inside = ", ".join(sorted(scopes - {""}))
    text = f"{', '.join(names) or 'data moved'} -> {fusion.shape}"
    return f"{text} in {inside}" if inside else text
