"""Describe an inventory of a program, and the differences of two."""

from __future__ import annotations

from collections import Counter

from jaxmeter._records.inventory import Change, Fusion, Inventory, ProgramDiff
from jaxmeter._render.sheet import Code, Row, Sheet, Table, Text
from jaxmeter._render.units import bytes_text

_OPERATIONS_SHOWN_COUNT = 8


def diff_sheet(diff: ProgramDiff) -> Sheet:
    """Describe the numbers and the fusions that differ."""
    numbers = Table(
        ("quantity", "before:", "now:", "change:"),
        tuple(
            Row(((f"{prefix}:", Code(change.name)) if prefix else change.name, *_change(change)))
            for prefix, changes in _sections(diff)
            for change in changes
        ),
        limit=100,
    )
    fusions = Table(
        ("fusions",),
        tuple(
            Row(
                (change.kind,),
                (
                    *(("-", Code(_fusion(fusion))) for fusion in change.before),
                    *(("+", Code(_fusion(fusion))) for fusion in change.now),
                ),
            )
            for change in diff.fusions
        ),
        details="before (-) and now (+)",
        limit=12,
        details_limit=20,
    )
    return Sheet(_headline(diff), diff.same or None, (numbers, fusions))


def inventory_sheet(inventory: Inventory) -> Sheet:
    """Describe the sizes of a program, and how much it has of each kind."""
    sizes = (
        ("flops", inventory.program.flops, "{:,.0f}".format),
        ("accessed", inventory.program.accessed_bytes, bytes_text),
        ("arguments", inventory.memory.argument_bytes, bytes_text),
        ("outputs", inventory.memory.output_bytes, bytes_text),
        ("temporaries", inventory.memory.temp_bytes, bytes_text),
        ("embedded", inventory.constants.embedded_bytes, bytes_text),
    )
    counted = (
        ("primitives", inventory.primitives),
        ("HLO", inventory.opcodes),
        ("constants", inventory.arrays),
    )
    rows: list[tuple[Text, ...]] = [
        (name, text(number)) for name, number, text in sizes if number is not None
    ]
    for name, counts in counted:
        if counts:
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            rows.append((name, ", ".join(f"{kind} {count}" for kind, count in ordered)))
    rows += [("fusion", Code(_fusion(fusion))) for fusion in inventory.fusions or ()]
    table = Table(("quantity", "value"), tuple(map(Row, rows)), limit=1000)
    return Sheet(inventory.name, tables=(table,))


def _headline(diff: ProgramDiff) -> str:
    changes = [change for _, section in _sections(diff) for change in section]
    verdict = {
        True: "the same optimised program",
        False: "another program",
        None: "different in what is known" if changes else "no known difference",
    }[diff.same]
    if diff.values is False:
        is_alone = not diff.fusions and not changes
        verdict = (
            "the same but for captured values" if is_alone else f"{verdict}, other values captured"
        )
    if diff.versions is not None:
        verdict += f", of JAX {diff.versions[0]} and {diff.versions[1]}"
    return f"{diff.before} -> {diff.now}: {verdict}"


def _sections(diff: ProgramDiff) -> list[tuple[str, tuple[Change, ...]]]:
    return [
        ("", diff.sizes),
        ("jaxpr", diff.primitives),
        ("HLO", diff.opcodes),
        ("constants", diff.arrays),
    ]


def _change(change: Change) -> tuple[str, str, str]:
    before, now = (
        bytes_text(number) if change.name.endswith(" bytes") else f"{number:,.0f}"
        for number in (change.before, change.now)
    )
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
