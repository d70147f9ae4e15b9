"""What differs between two commits, metric by metric, each by the means its kind allows."""

import pandas as pd

from jaxmeter import Criteria

from ..frames import Row
from ..metrics import KNOWN, Metric, metrics_of
from .certain import certain
from .findings import PRIMARY, Finding, Lost
from .sides import CaseSide, Sides
from .times import find_times
from .values import is_more_often

MOST_CHARACTERS = 300  # of an error's message


def find(
    sides: Sides, *, criteria: Criteria, gate_times: bool = False
) -> tuple[tuple[Finding, ...], tuple[Lost, ...]]:
    """Compare every case that both sides have, and tell of those that they have not.

    Parameters
    ----------
    criteria : Criteria
        jaxmeter's: the least effect on a time that counts, and how often equal commits may be
        called different in any of their times (Holm's correction over all cases).
    gate_times : bool
        Whether a slower time fails the review.
    """
    base, head = sides.base.cases, sides.head.cases
    lost = [entry for name in sorted(base.keys() | head.keys()) if (entry := _lost(name, sides))]
    gone = {entry.case for entry in lost}
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
        found += find_times(family, sides, criteria, is_gated=gate_times and is_primary)
    told = {finding.case for finding in found}
    lost += [Lost(name, "its processes measured nothing") for name in names if name not in told]
    order = {metric.name: index for index, metric in enumerate(KNOWN)}
    found.sort(key=lambda f: (f.case, order.get(f.metric.name, len(order))))
    return tuple(found), tuple(lost)


def _metrics(pair: tuple[CaseSide, CaseSide]) -> tuple[Metric, ...]:
    both = [row for case in pair for row in case.good.values()]
    return metrics_of(pd.DataFrame(both))


def _lost(name: str, sides: Sides) -> Lost | None:
    base, head = sides.base.cases.get(name), sides.head.cases.get(name)
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


def _nothing_good(base: CaseSide, head: CaseSide) -> str:
    both = (("BASE", base), ("HEAD", head))
    reason = f"no process succeeded at {' and '.join(n for n, c in both if not c.good)}"
    told = [_failed(case, n) for n, case in both if case.broken]
    skipped = [f"skipped at {n}" for n, case in both if not case.good and not case.broken]
    why = next((_why(c.failed[0]) for _, c in both if not c.good), "")
    return f"{reason} ({'; '.join(told + skipped)}): {why}"


def told_failures(sides: Sides, name: str) -> str:
    """`failed at HEAD in 1 of 6 processes: KIND: message`; nothing if all succeeded."""
    cases = (("BASE", sides.base.cases[name]), ("HEAD", sides.head.cases[name]))
    told = [_failed(case, side) for side, case in cases if case.broken]
    first = next((case.broken[0] for _, case in cases if case.broken), None)
    return f"{', '.join(told)}: {_why(first)}" if first else ""


def _failed(case: CaseSide, side: str) -> str:
    """`failed at HEAD in 5 of 6 processes`; nothing if none did."""
    failed, whole = _count(case)
    return f"failed at {side} in {failed} of {whole} processes" if failed else ""


def _count(case: CaseSide) -> tuple[int, int]:
    return len(case.broken), len(case.broken) + len(case.good)


def _why(row: Row) -> str:
    why = " ".join(f"{row['failure_kind']}: {row['failure_message']}".split())
    return why[:MOST_CHARACTERS]
