"""In what two programs differ, as text, and as a sheet of tables."""

from __future__ import annotations

from collections import Counter

from jaxmeter._records.inventory import Change, Fusion, FusionChange, Inventory, ProgramDiff
from jaxmeter._render.sheet import Code, Lines, Sheet, Table
from jaxmeter._render.units import bytes_text

_FUSIONS_SHOWN_COUNT = 12
_OPERATIONS_SHOWN_COUNT = 8


def diff_table(diff: ProgramDiff) -> str:
    """A line for each number that differs, and for each fusion that is another."""
    rows = [_headline(diff)]
    for title, changes in _sections(diff):
        if changes:
            width = max(len(change.name) for change in changes)
            rows.append(f"  {title}")
            rows += [f"    {change.name:<{width}}  {_change(change)}" for change in changes]
    if diff.fusions:
        rows.append("  fusions")
    for change in diff.fusions[:_FUSIONS_SHOWN_COUNT]:
        rows.append(f"    {change.kind}")
        rows += [f"      {line}" for line in _fusion_lines(change)]
    if len(diff.fusions) > _FUSIONS_SHOWN_COUNT:
        rows.append(f"    and {len(diff.fusions) - _FUSIONS_SHOWN_COUNT} more")
    return "\n".join(rows)


def diff_sheet(diff: ProgramDiff) -> Sheet:
    """The same as tables."""
    numbers = Table(
        ("what", "before:", "now:", "change:"),
        tuple(
            (
                change.name if title == "sizes" else (f"{title}:", Code(change.name)),
                *_numbers(change),
            )
            for title, changes in _sections(diff)
            for change in changes
        ),
    )
    fusions = Table(
        ("fusion", "before", "now"),
        tuple(
            (
                change.kind,
                Lines(tuple(Code(_fusion(fusion)) for fusion in change.before)),
                Lines(tuple(Code(_fusion(fusion)) for fusion in change.now)),
            )
            for change in diff.fusions
        ),
    )
    return Sheet(_headline(diff), "good" if diff.same else "plain", (numbers, fusions))


def inventory_table(inventory: Inventory) -> str:
    """What a program is made of: its sizes, and how much there is of each kind."""
    rows = [inventory.name]
    for name, number, text in (
        ("flops", inventory.program.flops, "{:,.0f}".format),
        ("accessed", inventory.program.accessed_bytes, bytes_text),
        ("arguments", inventory.memory.argument_bytes, bytes_text),
        ("outputs", inventory.memory.output_bytes, bytes_text),
        ("temporaries", inventory.memory.temp_bytes, bytes_text),
        ("embedded", inventory.constants.embedded_bytes, bytes_text),
    ):
        if number is not None:
            rows.append(f"  {name:<11}  {text(number)}")
    for name, counts in (
        ("primitives", inventory.primitives),
        ("HLO", inventory.opcodes),
        ("constants", inventory.arrays),
    ):
        if counts:
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            rows.append(f"  {name:<11}  " + ", ".join(f"{n} {count}" for n, count in ordered))
    for fusion in inventory.fusions or ():
        rows.append(f"  {'fusion':<11}  {_fusion(fusion)}")
    return "\n".join(rows)


def _headline(diff: ProgramDiff) -> str:
    verdict = {
        True: "the same optimised program",
        False: "another program",
        None: "not known to differ",
    }
    told = verdict[diff.same]
    if diff.same is None and any(changes for _, changes in _sections(diff)):
        told = "differ in what is known"
    if diff.values is False:
        is_alone = not diff.fusions and not any(changes for _, changes in _sections(diff))
        told = "the same but for captured values" if is_alone else f"{told}, other values captured"
    if diff.versions is not None:
        told += f", of JAX {diff.versions[0]} and {diff.versions[1]}"
    return f"{diff.before} -> {diff.now}: {told}"


def _sections(diff: ProgramDiff) -> list[tuple[str, tuple[Change, ...]]]:
    return [
        ("sizes", diff.sizes),
        ("jaxpr", diff.primitives),
        ("HLO", diff.opcodes),
        ("constants", diff.arrays),
    ]


def _numbers(change: Change) -> tuple[str, str, str]:
    before, now = (
        bytes_text(number) if change.name.endswith(" bytes") else f"{number:,.0f}"
        for number in (change.before, change.now)
    )
    if not change.before:
        return before, now, "appeared"
    if not change.now:
        return before, now, "vanished"
    return before, now, f"{100 * (change.now / change.before - 1):+.3g} %"


def _change(change: Change) -> str:
    before, now, ratio = _numbers(change)
    return f"{before} -> {now}  ({ratio})"


def _fusion_lines(change: FusionChange) -> list[str]:
    return [f"- {_fusion(fusion)}" for fusion in change.before] + [
        f"+ {_fusion(fusion)}" for fusion in change.now
    ]


def _fusion(fusion: Fusion) -> str:
    counted = Counter(operation.partition(" ")[0] for operation in fusion.operations)
    names = [name if count == 1 else f"{count} {name}" for name, count in counted.items()]
    if len(names) > _OPERATIONS_SHOWN_COUNT:
        names = [*names[:_OPERATIONS_SHOWN_COUNT], "..."]
    scopes = {operation.partition(" ")[2].rpartition("/")[0] for operation in fusion.operations} - {
        ""
    }
    inside = f" in {', '.join(sorted(scopes))}" if scopes else ""
    return f"{', '.join(names) or 'data moved'} -> {fusion.shape}{inside}"
