"""What differs between two commits, metric by metric, each by the means its kind allows."""

import pandas as pd

from jaxmeter._records.comparison import Rule

from ..frames import Row
from ..metrics import KNOWN, Metric, metrics_of
from .certain import certain
from .findings import PRIMARY, Finding, Lost
from .sides import Cell, Sides
from .timed import tested
from .values import is_more_often

MOST_CHARACTERS = 300  # of an error's message


def find(
    sides: Sides, *, rule: Rule, gate_times: bool = False
) -> tuple[tuple[Finding, ...], tuple[Lost, ...]]:
    """Compare every cell that both sides have, and tell of those that they have not.

    Parameters
    ----------
    rule : Rule
        jaxmeter's: the least effect on a time that counts, and how often equal commits may be
        called different in any of their times (Holm's correction over all cells).
    gate_times : bool
        Whether a slower time fails the review.
    """
    base, head = sides.base.cells, sides.head.cells
    lost = [entry for name in sorted(base.keys() | head.keys()) if (entry := _lost(name, sides))]
    gone = {entry.cell for entry in lost}
    names = [name for name in sorted(base.keys() & head.keys()) if name not in gone]
    found: list[Finding] = []
    noisy: list[tuple[str, Metric]] = []
    for name in names:
        pair = (base[name], head[name])
        for metric in _metrics(pair):
            if metric.kind == "noisy":
                noisy.append((name, metric))
            elif (one := certain(name, metric, pair)) is not None:
                found.append(one)
    for is_primary in (True, False):
        family = [(c, m) for c, m in noisy if (m.name in PRIMARY) == is_primary]
        found += tested(family, sides, rule, is_gated=gate_times and is_primary)
    told = {finding.cell for finding in found}
    lost += [Lost(name, "its processes measured nothing") for name in names if name not in told]
    order = {metric.name: index for index, metric in enumerate(KNOWN)}
    found.sort(key=lambda f: (f.cell, order.get(f.metric.name, len(order))))
    return tuple(found), tuple(lost)


def _metrics(pair: tuple[Cell, Cell]) -> tuple[Metric, ...]:
    both = [row for cell in pair for row in cell.good.values()]
    return metrics_of(pd.DataFrame(both))


def _lost(name: str, sides: Sides) -> Lost | None:
    base, head = sides.base.cells.get(name), sides.head.cells.get(name)
    if base is None or head is None:
        there, said = (head, "BASE: new") if base is None else (base, "HEAD: removed")
        failed = _failed(there, "BASE" if head is None else "HEAD") if there else ""
        return Lost(name, f"not measured at {said}, or on another grid{failed and f'; {failed}'}")
    if base.good and is_more_often(_count(head), _count(base)):
        first = head.broken[0]
        failed, whole = _count(base)
        reason = f"{_failed(head, 'HEAD')}, at BASE in {failed} of {whole}: {_why(first)}"
        return Lost(name, reason, True, str(first["failure_kind"]))
    if not base.good or not head.good:
        return Lost(name, _nothing_good(base, head))
    if base.definition != head.definition:
        return Lost(
            name, "its function or its parameters changed, so its numbers have another sense"
        )
    return None


def _nothing_good(base: Cell, head: Cell) -> str:
    both = (("BASE", base), ("HEAD", head))
    reason = f"no process ended well at {' and '.join(n for n, c in both if not c.good)}"
    told = [_failed(cell, n) for n, cell in both if cell.broken]
    skipped = [f"skipped at {n}" for n, cell in both if not cell.good and not cell.broken]
    why = next((_why(c.failed[0]) for _, c in both if not c.good), "")
    return f"{reason} ({'; '.join(told + skipped)}): {why}"


def told_failures(sides: Sides, name: str) -> str:
    """`failed at HEAD in 1 of 6 processes: KIND: message`; nothing if all ended well."""
    cells = (("BASE", sides.base.cells[name]), ("HEAD", sides.head.cells[name]))
    told = [_failed(cell, side) for side, cell in cells if cell.broken]
    first = next((cell.broken[0] for _, cell in cells if cell.broken), None)
    return f"{', '.join(told)}: {_why(first)}" if first else ""


def _failed(cell: Cell, side: str) -> str:
    """`failed at HEAD in 5 of 6 processes`; nothing if none did."""
    failed, whole = _count(cell)
    return f"failed at {side} in {failed} of {whole} processes" if failed else ""


def _count(cell: Cell) -> tuple[int, int]:
    return len(cell.broken), len(cell.broken) + len(cell.good)


def _why(row: Row) -> str:
    why = " ".join(f"{row['failure_kind']}: {row['failure_message']}".split())
    return why[:MOST_CHARACTERS]
