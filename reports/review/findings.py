"""Compare the numbers of each case at two commits; the result of a comparison is a finding.

For exact metrics and errors, the process with the largest value represents a commit. For noisy
metrics, the ratios of rounds are tested statistically. A round gives a ratio only if both commits
ran one after the other in this round.
"""

import contextlib
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from jaxmeter import Criteria, Round, SampleSummary, Timing, adjacent_rounds, compare_cases

from ..quantities import COMPILED, ROUNDING, Metric, Row, is_larger_error
from ..units import counted
from .read import CaseResults, CommitPair

Verdict = Literal["regression", "improvement", "changed", "same", "inconclusive", "unpaired"]
REPORTED: tuple[Verdict, ...] = ("regression", "improvement", "changed")

# These times are tested together: the criteria limit the probability of any false alarm in these
# tests. Other times only show where a difference lies. They are tested as a second group, because
# every test would be weaker if all times were one group.
PRIMARY = (COMPILED, "steady_median_seconds")

GATED = (
    "captured_bytes",
    "embedded_bytes",
    "hidden_argument_bytes",
    "temp_bytes",
    "traces_count",
    "compiles_count",
    "low_precision_count",
    "flops",
)
"""Exact metrics that fail a review if they grow.

An error also fails a review if it is larger at HEAD according to `is_larger_error`. A longer time
fails a review only with `Policy.gate_times`.
"""
# Growth below these limits is reported but does not fail a review.
SMALL_BYTES = 1024
SMALL_SHARE_OF_FLOPS = 0.05  # equal to the minimum effect of times

ERROR_CHANGE = 1e-3  # smaller relative changes of an error are not reported


@dataclass(frozen=True)
class Finding:
    """The comparison of BASE and HEAD in one metric of one case, or in a time pooled over cases.

    For an exact metric or an error, `base` and `head` are maxima over processes. For a noisy
    metric, `base` is the median over processes; for a pooled time, it is the sum of the medians of
    the cases. `head` is `base` times the tested ratio, or the median over processes if a noisy
    metric was not tested. Pooled times are always tested.
    """

    case: str  # for pooled times, a title with the number of cases
    metric: Metric
    base: float
    head: float
    verdict: Verdict
    note: str = ""  # the reason for the verdict
    low: float = math.nan  # interval of head/base; NaN if the time was not tested
    high: float = math.nan
    rounds_count: int = 1
    is_gated: bool = False  # whether a regression fails the review
    # The commit that has the number, if processes of the other commit lack it. `base` and `head`
    # are then maxima over processes. The maximum is NaN for a commit without the number.
    only_at: Literal["", "BASE", "HEAD"] = ""
    pooled: tuple[str, ...] = ()  # the cases of a pooled time

    @property
    def is_primary(self) -> bool:
        """Whether the metric is one of the times that decide the verdict on times (`PRIMARY`)."""
        return self.metric.name in PRIMARY

    @property
    def is_tested(self) -> bool:
        """Whether the time was tested statistically and has an interval."""
        return not math.isnan(self.low)

    @property
    def reach(self) -> float:
        """The largest relative change, up or down, that the interval of the ratio allows."""
        return max(self.high, 1 / max(self.low, 1e-9)) - 1

    @property
    def ratio(self) -> float:
        """The ratio `head` / `base`; NaN if `base` is 0."""
        return self.head / self.base if self.base else math.nan


def compare_exact_metric(
    case: str, metric: Metric, pair: tuple[CaseResults, CaseResults]
) -> Finding | None:
    """Compare an exact metric or an error; return None if neither commit has the number."""
    base, head = (list(side.values(metric).values()) for side in pair)
    is_gated = metric.kind == "error" or metric.name in GATED
    missing = _missing_number(case, metric, pair, is_gated=is_gated)
    if missing is not None or not base or not head:
        return missing
    verdict, note = _error(base, head) if metric.kind == "error" else _exact(metric, base, head)
    return Finding(case, metric, _largest(base), _largest(head), verdict, note, is_gated=is_gated)


def _missing_number(
    case: str, metric: Metric, pair: tuple[CaseResults, CaseResults], *, is_gated: bool
) -> Finding | None:
    """Return a finding if the number is missing at one of the commits, else None.

    If all processes of BASE have an exact number or error, all processes of HEAD must have this
    number too. A time is missing only if no process of the commit has the time. If some processes
    have it, their rounds can still be compared.
    """
    base, head = (list(side.values(metric).values()) for side in pair)
    lacking = len(pair[1].good) - len(head)
    is_complete = metric.kind != "noisy" and len(base) == len(pair[0].good)
    only_at: Literal["BASE", "HEAD"] = "BASE"
    verdict: Verdict = "regression" if is_gated else "changed"
    if head and not base:
        only_at, verdict, is_gated = "HEAD", "changed", False
        note = "new: only at HEAD, so it cannot be compared"
    elif base and lacking and (not head or is_complete):
        note = _of_processes("only at BASE, missing at HEAD", lacking, len(pair[1].good))
    else:
        return None
    numbers = (_largest(base), _largest(head))
    return Finding(case, metric, *numbers, verdict, note, is_gated=is_gated, only_at=only_at)


def is_more_often(head: tuple[int, int], base: tuple[int, int]) -> bool:
    """Return whether an event is more frequent at HEAD, given (events, processes) of each commit.

    A larger fraction alone is inconclusive. Therefore HEAD must also have more events than BASE, or
    the event must occur in every process of HEAD.
    """
    more = head[0] * base[1] > base[0] * head[1]
    return more and (head[0] > base[0] or head[0] == head[1])


def _largest(values: list[float]) -> float:
    """Return the maximum; NaN if any value is NaN or there is no value."""
    return math.nan if any(map(math.isnan, values)) else max(values, default=math.nan)


def _exact(metric: Metric, base: list[float], head: list[float]) -> tuple[Verdict, str]:
    """Compare the largest values of both commits, and return the verdict and its reason.

    The verdict is inconclusive if the values of BASE vary, the ranges of BASE and HEAD overlap, and
    the values of BASE and HEAD differ. It is also inconclusive if the largest values agree, but
    some processes of HEAD have a smaller value.
    """
    low, high = max(base), max(head)
    if min(base) < low and min(base) <= high and min(head) <= low:
        is_same = sorted(base) == sorted(head)
        return "same" if is_same else "inconclusive", "varies from process to process"
    if low == high:
        fewer = sum(value < low for value in head)
        note = _of_processes("lower", fewer, len(head))
        return ("inconclusive", note) if fewer else ("same", "")
    note = _of_processes("", sum(value > low for value in head), len(head)) if high > low else ""
    if metric.name not in GATED:
        return "changed", note
    if small := small_change(metric, low, high):
        return "changed", small
    return "regression" if high > low else "improvement", note


def small_change(metric: Metric, before: float, after: float) -> str:
    """Return why a change of a gated metric is too small to be judged; "" for a larger change."""
    if metric.unit == "bytes" and abs(after - before) < SMALL_BYTES:
        return f"by less than {SMALL_BYTES} bytes"
    if metric.name == "flops" and abs(after - before) < SMALL_SHARE_OF_FLOPS * before:
        return f"by less than {100 * SMALL_SHARE_OF_FLOPS:.0f}%"
    return ""


def _error(base: list[float], head: list[float]) -> tuple[Verdict, str]:
    if not all(map(math.isfinite, (*base, *head))):
        return _not_finite(base, head)
    low, high = max(base), max(head)
    if is_larger_error(high, low):
        return "regression", "the answer is less accurate"
    if is_larger_error(low, high):
        return "improvement", "the answer is more accurate"
    largest = max(low, high)
    if largest > ROUNDING and abs(high - low) > ERROR_CHANGE * largest:
        return "changed", "another order of summation can cause this change"
    return "same", ""


def _not_finite(base: list[float], head: list[float]) -> tuple[Verdict, str]:
    at_base, at_head = ((len(one) - sum(map(math.isfinite, one)), len(one)) for one in (base, head))
    if is_more_often(at_head, at_base):
        return "regression", _of_processes("not finite", *at_head)
    low, high = (max(filter(math.isfinite, one), default=math.inf) for one in (base, head))
    if high < math.inf and is_larger_error(high, low):
        return "regression", "the largest finite error is larger"
    if is_more_often(at_base, at_head):
        return "improvement", _of_processes("not finite at BASE", *at_base)
    of_base = _of_processes("not finite", *at_base)
    return "inconclusive", f"{of_base} at BASE {_of_processes('and', *at_head)} at HEAD"


def _of_processes(text: str, part: int, whole: int) -> str:
    """Return "TEXT in 5 of 6 processes", or the text alone if it is true of all processes."""
    return text if part == whole else f"{text} in {part} of {whole} processes".lstrip()


def compare_times_of(
    family: Sequence[tuple[str, Metric]], commits: CommitPair, criteria: Criteria, *, is_gated: bool
) -> Iterator[Finding]:
    """Yield the findings on the times of many cases; the times are tested together.

    A time with fewer than `jaxmeter.MIN_ROUNDS_COUNT` rounds is not tested. If at least two
    cases are tested, each time in `PRIMARY` is also pooled over these cases and tested. A pooled
    time has no finding if the time of any of these cases differs significantly between commits.
    """
    adjacent = {name: rounds_of(*commits.case(name)) for name, _ in family}
    values = {
        (name, metric.name): [side.values(metric) for side in commits.case(name)]
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
    timings = compare_cases(rounds, criteria, pooled=PRIMARY)
    for name, metric in family:
        base, head = values[name, metric.name]
        missing = _missing_number(name, metric, commits.case(name), is_gated=is_gated)
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


def _starts(rows: Mapping[int, Row]) -> dict[int, datetime]:
    """Return the start time of each process by round, without processes of unknown start time."""
    starts = {}
    for index, row in rows.items():
        with contextlib.suppress(ValueError):
            start = datetime.fromisoformat(row["started_utc"] or "")
            starts[index] = start if start.tzinfo else start.replace(tzinfo=UTC)
    return starts


def _median(values: Mapping[int, float]) -> float:
    return statistics.median(values.values())


def _summary(quantity: str, row: Row) -> SampleSummary:
    std = row.get("steady_std_seconds")
    if quantity == "steady_median_seconds" and std is not None:
        return SampleSummary(row[quantity], std, row["steady_count"])
    return SampleSummary(row[quantity])


def _tested(name: str, metric: Metric, base: float, timing: Timing, *, is_gated: bool) -> Finding:
    verdict: Verdict = "same" if timing.verdict == "same" else "inconclusive"
    if timing.verdict == "different":
        verdict = "regression" if timing.ratio > 1 else "improvement"
    ends = (timing.low, timing.high)
    judged = (base, base * timing.ratio, verdict, timing.reason)
    return Finding(name, metric, *judged, *ends, len(timing.ratios), is_gated)
