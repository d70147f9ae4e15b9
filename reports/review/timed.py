"""Noisy metrics: a round in which both commits ran side by side gives a ratio, to be tested."""

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

import pandas as pd

from jaxmeter import Ratio, Rule, Timing, compare_times

from ..document.words import counted
from ..frames import Row
from ..metrics import Metric
from .findings import PRIMARY, Finding, Verdict
from .sides import CaseSide, Sides
from .together import Key, together
from .values import one_sided, values_of

# Two processes of one round that started farther apart met different moods of the machine.
FARTHEST_SECONDS = 900.0
TRIMMED_SHARE = 0.125  # at either end: the slowest and the fastest round of eight
FEWEST_ROUNDS = 3  # of a tested time; with fewer, no difference could be shown
FEWEST_CALLS = 5  # of a process; from so many on their scatter is taken to be known


def tested(
    family: Sequence[tuple[str, Metric]], sides: Sides, rule: Rule, *, is_gated: bool
) -> Iterator[Finding]:
    """Findings of (case, metric); all that have enough rounds are judged at once."""
    rule = replace(rule, trimmed_share=TRIMMED_SHARE)
    cases = {name: (sides.base.cases[name], sides.head.cases[name]) for name, _ in family}
    rounds = {name: side_by_side(*pair) for name, pair in cases.items()}
    values = {
        (name, metric.name): tuple(values_of(case, metric) for case in cases[name])
        for name, metric in family
    }
    ratios = {
        (name, quantity): [
            Ratio(head[i] / base[i], _error(quantity, [case.good[i] for case in cases[name]]))
            for i in rounds[name]
            if base.get(i, 0) > 0 < head.get(i, 0)
        ]
        for (name, quantity), (base, head) in values.items()
    }
    medians = {key: (_median(base), _median(head)) for key, (base, head) in values.items()}
    enough = {key: found for key, found in ratios.items() if len(found) >= FEWEST_ROUNDS}
    metrics = {metric.name: metric for _, metric in family if metric.name in PRIMARY}
    found_together = [one for m in metrics.values() if (one := together(m, enough, medians))]
    if found_together:
        # Each kind of test has its share, so that both together keep what the rule allows.
        rule = replace(rule, significance=rule.significance / 2)
    judged = _compared(enough, rule)
    for name, metric in family:
        base, head = values[name, metric.name]
        lost = one_sided(name, metric, cases[name], (base, head), is_gated=is_gated)
        if lost is not None:
            yield lost
        elif base and head:
            one = medians[name, metric.name]
            timing = judged.get((name, metric.name))
            if timing is None:
                count = len(ratios[name, metric.name])
                yield _untested(name, metric, one, count, is_apart=not rounds[name])
            else:
                yield _judged(name, metric, one[0], timing, is_gated=is_gated)
    all_judged = _compared({(t.name, t.metric.name): t.ratios for t in found_together}, rule)
    for one in found_together:
        alone = [judged[name, one.metric.name].verdict for name in one.cases]
        if "different" not in alone:  # else it is known which
            timing = all_judged[one.name, one.metric.name]
            finding = _judged(one.name, one.metric, one.base, timing, is_gated=is_gated)
            yield replace(finding, joined=one.cases)


def _median(values: Mapping[int, float]) -> float:
    return statistics.median(values.values()) if values else math.nan


def _compared(ratios: Mapping[Key, Sequence[Ratio]], rule: Rule) -> dict[Key, Timing]:
    names = {"\n".join(key): key for key in ratios}
    timings = compare_times({name: ratios[key] for name, key in names.items()}, rule)
    return {names[timing.quantity]: timing for timing in timings}


def _error(quantity: str, rows: Sequence[Row]) -> float | None:
    """The standard error of a ratio's logarithm from the steady-state calls of both processes.

    A round that was disturbed scatters, and counts for less: see `jaxmeter._compare.judge`. None of
    what a process tells but once. For a median of n normal samples it is sqrt(pi / 2 n) sigma.
    """
    if quantity != "steady_median_seconds":
        return None
    squares = 0.0
    for row in rows:
        count, std = row["steady_count"], row["steady_std_seconds"]
        if pd.isna(std) or count < FEWEST_CALLS:
            return None
        squares += math.pi / (2 * count) * (std / row[quantity]) ** 2
    return math.sqrt(squares)


def side_by_side(base: CaseSide, head: CaseSide) -> tuple[int, ...]:
    """The rounds whose two processes followed each other, no other process of the case between.

    Commits that were measured one after the other, each in all its rounds, have none: whatever
    changed in the machine from the one to the other would pass for a difference of theirs.
    """
    found = [row for case in (base, head) for row in (*case.good.values(), *case.failed)]
    starts = sorted(start for start in map(_started, found) if not pd.isna(start))
    return tuple(
        i
        for i in sorted(base.good.keys() & head.good.keys())
        if _are_neighbours(_started(base.good[i]), _started(head.good[i]), starts)
    )


def _started(row: Row) -> pd.Timestamp:
    return cast(pd.Timestamp, pd.Timestamp(row["started_utc"]))


def _are_neighbours(one: pd.Timestamp, other: pd.Timestamp, starts: list[pd.Timestamp]) -> bool:
    if pd.isna(one) or pd.isna(other):
        return False
    first, last = min(one, other), max(one, other)
    is_near = (last - first).total_seconds() <= FARTHEST_SECONDS
    return is_near and bisect_right(starts, first) >= bisect_left(starts, last)


def _untested(
    name: str, metric: Metric, medians: tuple[float, float], count: int, *, is_apart: bool
) -> Finding:
    verdict: Verdict = "apart" if is_apart else "inconclusive"
    note = "" if is_apart else f"{counted(count, 'round')} side by side"
    return Finding(name, metric, *medians, verdict, note, rounds_count=count)


def _judged(name: str, metric: Metric, median: float, timing: Timing, *, is_gated: bool) -> Finding:
    verdict: Verdict = "same" if timing.verdict == "same" else "inconclusive"
    if timing.verdict == "different":
        verdict = "worse" if timing.ratio > 1 else "better"
    return Finding(
        name,
        metric,
        median,
        median * timing.ratio,
        verdict,
        timing.reason,
        timing.low,
        timing.high,
        len(timing.ratios),
        is_gated,
    )
