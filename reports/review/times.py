"""Noisy metrics: each round in which both commits ran next to each other gives a ratio to test."""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from jaxmeter import Criteria, Round, SampleSummary, Timing, adjacent_rounds, compare_cases

from ..document.words import counted
from ..frames import Row
from ..metrics import Metric
from .exact import missing_number
from .model import PRIMARY, CaseResults, CommitPair, Finding, Verdict

TRIMMED_SHARE = 0.125  # at either end: the slowest and the fastest round of eight


def compare_times_of(
    family: Sequence[tuple[str, Metric]], commits: CommitPair, criteria: Criteria, *, is_gated: bool
) -> Iterator[Finding]:
    """Compare the times of many cases, tested together.

    Parameters
    ----------
    family : sequence of (case, Metric)
        Those with fewer than `jaxmeter.MIN_ROUNDS_COUNT` rounds are not tested.
    criteria : Criteria
        When times differ.
    is_gated : bool
        Whether a regression fails the review.
    """
    adjacent = {name: rounds_of(*commits.case(name)) for name, _ in family}
    values = {
        (name, metric.name): [case.values(metric) for case in commits.case(name)]
        for name, metric in family
    }
    rounds = {
        (name, quantity): [
            Round.from_summaries(*(_summary(quantity, x.good[i]) for x in commits.case(name)))
            for i in adjacent[name]
            if base.get(i, 0) > 0 < head.get(i, 0)
        ]
        for (name, quantity), (base, head) in values.items()
    }
    criteria = replace(criteria, trimmed_share=TRIMMED_SHARE)
    timings = compare_cases(rounds, criteria, pooled=PRIMARY)
    for name, metric in family:
        base, head = values[name, metric.name]
        pair = commits.case(name)
        missing = missing_number(name, metric, pair, (base, head), is_gated=is_gated)
        timing = timings.get(((name,), metric.name))
        if missing is not None:
            yield missing
        elif timing is not None:
            yield _tested(name, metric, _median(base), timing, is_gated=is_gated)
        elif base and head:
            count = len(rounds[name, metric.name])
            verdict = "inconclusive" if adjacent[name] else "unpaired"
            note = f"{counted(count, 'paired round')}" if adjacent[name] else ""
            medians = (_median(base), _median(head))
            yield Finding(name, metric, *medians, verdict, note, rounds_count=count)
    metrics = {metric.name: metric for _, metric in family}
    for (names, quantity), timing in timings.items():
        if len(names) > 1:
            base = sum(_median(values[name, quantity][0]) for name in names)
            title = f"{len(names)} timed cases pooled"
            pooled = _tested(title, metrics[quantity], base, timing, is_gated=is_gated)
            yield replace(pooled, pooled=names)


def rounds_of(base: CaseResults, head: CaseResults) -> tuple[int, ...]:
    """Return the rounds of a case in which BASE and HEAD ran one after the other."""
    failed = _starts(dict(enumerate((*base.failed, *head.failed))))
    return adjacent_rounds(_starts(base.good), _starts(head.good), failed.values())


def _starts(rows: Mapping[int, Row]) -> dict[int, pd.Timestamp]:
    starts = {i: pd.Timestamp(row["started_utc"]) for i, row in rows.items()}
    return {i: start for i, start in starts.items() if isinstance(start, pd.Timestamp)}


def _median(values: Mapping[int, float]) -> float:
    return statistics.median(values.values())


def _summary(quantity: str, row: Row) -> SampleSummary:
    std = row.get("steady_std_seconds")
    is_known = isinstance(std, float) and not math.isnan(std)  # pandas' NA is no float
    if quantity == "steady_median_seconds" and is_known:
        return SampleSummary(row[quantity], std, row["steady_count"])
    return SampleSummary(row[quantity])


def _tested(name: str, metric: Metric, base: float, timing: Timing, *, is_gated: bool) -> Finding:
    verdict: Verdict = "same" if timing.verdict == "same" else "inconclusive"
    if timing.verdict == "different":
        verdict = "regression" if timing.ratio > 1 else "improvement"
    return Finding(
        name,
        metric,
        base,
        base * timing.ratio,
        verdict,
        timing.reason,
        timing.low,
        timing.high,
        len(timing.ratios),
        is_gated,
    )
