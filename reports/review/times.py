"""Noisy metrics: each round in which both commits ran next to each other gives a ratio to test."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from jaxmeter import (
    Criteria,
    Round,
    SampleSummary,
    Timing,
    adjacent_rounds,
    compare_cases,
)

from ..document.words import counted
from ..frames import Row
from ..metrics import Metric
from .findings import PRIMARY, Finding, Verdict
from .sides import CaseSide, Sides
from .values import one_sided, values_of

TRIMMED_SHARE = 0.125  # at either end: the slowest and the fastest round of eight


def find_times(
    family: Sequence[tuple[str, Metric]], sides: Sides, criteria: Criteria, *, is_gated: bool
) -> Iterator[Finding]:
    """Findings of (case, metric), judged together; times with too few rounds are not tested."""
    cases = {name: (sides.base.cases[name], sides.head.cases[name]) for name, _ in family}
    adjacent = {name: adjacent_rounds_of(*pair) for name, pair in cases.items()}
    values = {
        (name, metric.name): (values_of(cases[name][0], metric), values_of(cases[name][1], metric))
        for name, metric in family
    }
    rounds = {
        (name, quantity): [
            _round(quantity, [case.good[i] for case in cases[name]])
            for i in adjacent[name]
            if base.get(i, 0) > 0 < head.get(i, 0)
        ]
        for (name, quantity), (base, head) in values.items()
    }
    timings = compare_cases(rounds, replace(criteria, trimmed_share=TRIMMED_SHARE), pooled=PRIMARY)
    for name, metric in family:
        base, head = values[name, metric.name]
        lost = one_sided(name, metric, cases[name], (base, head), is_gated=is_gated)
        if lost is not None:
            yield lost
        elif base and head:
            timing = timings.get(((name,), metric.name))
            if timing is None:
                count = len(rounds[name, metric.name])
                medians = (_median(base), _median(head))
                yield _untested(name, metric, medians, count, is_paired=bool(adjacent[name]))
            else:
                yield _judged(name, metric, _median(base), timing, is_gated=is_gated)
    metrics = {metric.name: metric for _, metric in family}
    for (names, quantity), timing in timings.items():
        if len(names) > 1:
            base = sum(_median(values[name, quantity][0]) for name in names)
            title = f"{len(names)} timed cases together"
            finding = _judged(title, metrics[quantity], base, timing, is_gated=is_gated)
            yield replace(finding, joined=names)


def adjacent_rounds_of(base: CaseSide, head: CaseSide) -> tuple[int, ...]:
    """Return the rounds of a case in which BASE and HEAD ran one after the other."""
    failed = _starts(dict(enumerate((*base.failed, *head.failed))))
    return adjacent_rounds(_starts(base.good), _starts(head.good), failed.values())


def _starts(rows: Mapping[int, Row]) -> dict[int, pd.Timestamp]:
    starts = {i: pd.Timestamp(row["started_utc"]) for i, row in rows.items()}
    return {i: start for i, start in starts.items() if isinstance(start, pd.Timestamp)}


def _median(values: Mapping[int, float]) -> float:
    return statistics.median(values.values())


def _round(quantity: str, rows: Sequence[Row]) -> Round:
    return Round.from_summaries(*(_summary(quantity, row) for row in rows))


def _summary(quantity: str, row: Row) -> SampleSummary:
    std = row.get("steady_std_seconds")
    is_known = isinstance(std, float) and not math.isnan(std)  # pandas' NA is no float
    if quantity == "steady_median_seconds" and is_known:
        return SampleSummary(row[quantity], std, row["steady_count"])
    return SampleSummary(row[quantity])


def _untested(
    name: str, metric: Metric, medians: tuple[float, float], count: int, *, is_paired: bool
) -> Finding:
    verdict: Verdict = "inconclusive" if is_paired else "apart"
    note = f"{counted(count, 'round')} side by side" if is_paired else ""
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
