"""What differs between two commits, metric by metric, each by the means its kind allows."""

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from jaxmeter.comparison import Round, compare_times
from jaxmeter.comparison_record import Rule, Timing

from ..frames import Row
from ..metrics import KNOWN, Metric, metrics_of
from .sides import Cell, Sides

Verdict = Literal["worse", "better", "changed", "same", "unclear", "apart"]

# Tested together, so that the chance of any false alarm among them is the rule's. Other times
# tell where a difference lies; were they tested too, each test would have to be blunter.
PRIMARY = ("build_seconds", "settled_median_seconds")
GATED = (
    "captured_bytes",
    "embedded_bytes",
    "hidden_argument_bytes",
    "temp_bytes",
    "traces_count",
    "compiles_count",
)
"""Exact metrics whose growth fails a review; errors do always, times where asked."""
SMALL_BYTES = 1024  # of growth: told, yet no reason to stop anybody

# Two processes of one round that started farther apart met different moods of the machine.
FARTHEST_SECONDS = 900.0
FEWEST_ROUNDS = 3  # of a tested time; with fewer, no difference could be shown
ERROR_FACTOR = 1.25  # an error is worse from here on; below, summation order explains it
ERROR_TOLD = 1e-3  # share of an error; by less it moves with the order of summation, untold
ROUNDING = 1e-13


@dataclass(frozen=True)
class Finding:
    """One metric of one cell, base against head.

    Attributes
    ----------
    base, head : float
        The number of an exact metric, the worst error, or the median over processes.
    low, high : float
        Interval of head/base where it was tested; NaN elsewhere.
    note : str
        Why the verdict is what it is.
    is_gated : bool
        Whether "worse" fails the review.
    """

    cell: str
    metric: Metric
    base: float
    head: float
    verdict: Verdict
    note: str = ""
    low: float = math.nan
    high: float = math.nan
    rounds_count: int = 1
    is_gated: bool = False

    @property
    def is_tested(self) -> bool:
        """Whether it was judged by statistics, which then tell an interval."""
        return not math.isnan(self.low)

    @property
    def ratio(self) -> float:
        """Head over base; NaN where base is nothing."""
        return self.head / self.base if self.base else math.nan


@dataclass(frozen=True)
class Lost:
    """A cell that cannot be compared, and why.

    `is_worse` where head broke what base had; `failure_kind` is then the name of its error.
    """

    cell: str
    reason: str
    is_worse: bool = False
    failure_kind: str = ""


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
            elif (one := _certain(name, metric, pair)) is not None:
                found.append(one)
    for is_primary in (True, False):
        family = [(c, m) for c, m in noisy if (m.name in PRIMARY) == is_primary]
        found += _tested(family, sides, rule, is_gated=gate_times and is_primary)
    order = {metric.name: index for index, metric in enumerate(KNOWN)}
    found.sort(key=lambda f: (f.cell, order.get(f.metric.name, len(order))))
    return tuple(found), tuple(lost)


def _lost(name: str, sides: Sides) -> Lost | None:
    base, head = sides.base.cells.get(name), sides.head.cells.get(name)
    if base is None:
        return Lost(name, "not measured at BASE: new, or on another grid")
    if head is None:
        return Lost(name, "not measured at HEAD: removed, or on another grid")
    if head.failed and not base.failed and base.good:
        first = head.failed[0]
        why = " ".join(f"{first['failure_kind']}: {first['failure_message']}".split())
        is_worse = first["status"] != "skipped"
        count = f"{len(head.failed)} of {len(head.failed) + len(head.good)} processes"
        reason = f"{first['status']} at HEAD ({count}): {why[:300]}"
        return Lost(name, reason, is_worse, str(first["failure_kind"]))
    if not base.good or not head.good:
        sides_failed = " and ".join(n for n, c in (("BASE", base), ("HEAD", head)) if not c.good)
        return Lost(name, f"no process ended well at {sides_failed}")
    if base.definition != head.definition:
        return Lost(
            name, "its function or its parameters changed, so its numbers have another sense"
        )
    return None


def _metrics(pair: tuple[Cell, Cell]) -> tuple[Metric, ...]:
    both = [row for cell in pair for row in cell.good.values()]
    return metrics_of(pd.DataFrame(both))


def _values(cell: Cell, name: str) -> dict[int, float]:
    found = {i: row.get(name) for i, row in cell.good.items()}
    return {
        i: float(value) for i, value in found.items() if value is not None and not pd.isna(value)
    }


def _certain(name: str, metric: Metric, pair: tuple[Cell, Cell]) -> Finding | None:
    values = [list(_values(cell, metric.name).values()) for cell in pair]
    if metric.kind == "error":
        return _error(name, metric, pair, values)
    if not values[0] or not values[1]:
        return None
    base, head = set(values[0]), set(values[1])
    varies = len(base) > 1 or len(head) > 1
    note = "differs between processes of one commit" if varies else ""
    low, high = max(values[0]), max(values[1])
    if base == head or (varies and base & head):
        return Finding(name, metric, low, high, "unclear" if base != head else "same", note)
    grows = high > low
    is_gated = metric.name in GATED
    small = metric.unit == "bytes" and abs(high - low) < SMALL_BYTES
    if not is_gated or small:
        why = f"less than {SMALL_BYTES} bytes" if small and is_gated else note
        return Finding(name, metric, low, high, "changed", why)
    return Finding(name, metric, low, high, "worse" if grows else "better", note, is_gated=True)


def _error(
    name: str, metric: Metric, pair: tuple[Cell, Cell], values: list[list[float]]
) -> Finding | None:
    """An error that is no number is a missing value where a check was made."""
    checked = [[row for row in cell.good.values() if row["checked_errors_count"]] for cell in pair]
    broken = [len(c) > len(v) and bool(v or c) for c, v in zip(checked, values, strict=True)]
    if not values[0] and not values[1]:
        return None
    base, head = (
        math.nan if bad or not one else max(one) for bad, one in zip(broken, values, strict=True)
    )
    largest = max(base, head)
    moved = largest > ROUNDING and abs(head - base) > ERROR_TOLD * largest
    verdict: Verdict = "changed" if moved else "same"
    note = ""
    if math.isnan(base) != math.isnan(head):
        verdict, note = ("worse" if math.isnan(head) else "better"), "not a number"
    elif min(values[1]) > ERROR_FACTOR * max(base, ROUNDING):
        verdict, note = "worse", "the answer is less accurate"
    elif min(values[0]) > ERROR_FACTOR * max(head, ROUNDING):
        verdict, note = "better", "the answer is more accurate"
    elif verdict == "changed":
        note = "within what the order of summation explains"
    return Finding(name, metric, base, head, verdict, note, is_gated=True)


def _tested(
    family: list[tuple[str, Metric]], sides: Sides, rule: Rule, *, is_gated: bool
) -> Iterator[Finding]:
    """Noisy metrics, each round one ratio; all that have enough rounds are judged together."""
    pairs = {
        (name, metric.name): _pairs(sides.base.cells[name], sides.head.cells[name], metric.name)
        for name, metric in family
    }
    enough = {
        "\n".join(key): [Round((a,), (b,)) for a, b in found]
        for key, found in pairs.items()
        if len(found) >= FEWEST_ROUNDS
    }
    judged = {timing.quantity: timing for timing in compare_times(enough, rule)}
    for name, metric in family:
        cells = (sides.base.cells[name], sides.head.cells[name])
        values = [list(_values(cell, metric.name).values()) for cell in cells]
        if values[0] and values[1]:
            medians = (statistics.median(values[0]), statistics.median(values[1]))
            timing = judged.get(f"{name}\n{metric.name}")
            yield _of_timing(name, metric, medians, timing, len(pairs[name, metric.name]), is_gated)


def _of_timing(
    name: str,
    metric: Metric,
    medians: tuple[float, float],
    timing: Timing | None,
    rounds_count: int,
    is_gated: bool,
) -> Finding:
    if timing is None:
        verdict: Verdict = "unclear" if rounds_count else "apart"
        note = f"{rounds_count} rounds side by side" if rounds_count else ""
        return Finding(name, metric, *medians, verdict, note, rounds_count=rounds_count)
    verdict = "same" if timing.verdict == "same" else "unclear"
    if timing.verdict == "different":
        verdict = "worse" if timing.ratio > 1 else "better"
    return Finding(
        name,
        metric,
        medians[0],
        medians[0] * timing.ratio,
        verdict,
        timing.reason,
        timing.low,
        timing.high,
        rounds_count,
        is_gated,
    )


def _pairs(base: Cell, head: Cell, name: str) -> list[tuple[float, float]]:
    """The rounds of both that ran side by side, with a value above zero each."""
    one, other = _values(base, name), _values(head, name)
    return [
        (one[i], other[i])
        for i in sorted(one.keys() & other.keys())
        if one[i] > 0 and other[i] > 0 and _side_by_side(base.good[i], head.good[i])
    ]


def _side_by_side(base: Row, head: Row) -> bool:
    started = [pd.Timestamp(row["started_utc"]) for row in (base, head)]
    return abs((started[1] - started[0]).total_seconds()) <= FARTHEST_SECONDS  # NaT is not
