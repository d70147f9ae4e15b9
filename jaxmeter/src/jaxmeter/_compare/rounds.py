"""Summarise rounds: the ratio of two times in a round, and the median of a few rounds or processes.

The two times of a round are measured alternately, or directly one after the other. Slow drift of
the machine therefore nearly cancels in the ratio.

Samples of one process agree better than samples of different processes, so samples of different
processes must not be pooled. Instead, compute one value for each process or round, such as the
median of its samples, and take the median of these values. Typically there are six processes.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from jaxmeter.errors import JaxmeterError

MAX_SECONDS_APART = 900.0
"""The two processes of a round may start at most this many seconds apart. If the gap is longer,
machine noise may differ between the processes."""
MIN_SAMPLES_COUNT = 5
"""The smallest number of samples from which the scatter of the samples is estimated."""
MEDIAN_COVERAGE = 0.95
"""Probability with which an interval should contain the true median."""
MIN_VALUES_COUNT = 6
"""The smallest number n of values for which the range of the values contains the true median with
a probability of at least 0.95. The probability is 1 - 2 (1/2)^n: 0.97 for n = 6, 0.94 for n = 5."""


@dataclass(frozen=True)
class SampleSummary:
    """A summary of one process's samples, for samples that were not kept.

    `median` and `std`, the standard deviation, are in seconds.
    """

    median: float
    std: float | None = None
    count: int = 1

    @property
    def error(self) -> float | None:
        """Relative standard error of the median; None if the scatter is unknown, or for fewer than
        `MIN_SAMPLES_COUNT` samples."""
        if self.std is None or self.count < MIN_SAMPLES_COUNT:
            return None
        return math.sqrt(math.pi / (2 * self.count)) * self.std / self.median


@dataclass(frozen=True)
class Round:
    """The time of the second function divided by the time of the first, in one round.

    Both times were measured alternately, or directly one after the other in either order.

    Raises
    ------
    JaxmeterError
        If the ratio is not a finite number above 0.
    """

    ratio: float
    error: float | None = None
    """Standard error of the ratio's logarithm; None if it is not known."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.ratio) and self.ratio > 0):
            raise JaxmeterError(f"Round: got ratio={self.ratio!r}; give a finite number above 0")

    @classmethod
    def from_samples(
        cls, a: Sequence[float], b: Sequence[float], *, interleaved: bool = False
    ) -> Round:
        """Return the round of two functions from samples that one or two processes measured.

        Parameters
        ----------
        a, b : sequence of float
            Samples of the first and of the second function in seconds.
        interleaved : bool
            Whether the n-th samples of both functions were measured directly one after the other.
            If so, the ratio of the round is the median of the ratios of the n-th samples.
            Otherwise, it is the ratio of the two medians.

        Raises
        ------
        JaxmeterError
            If a time is not a finite number above 0, if a function has no samples, or if
            ``interleaved`` is true and the functions have different numbers of samples.
        """
        _check_times(*a, *b)
        if not a or not b or (interleaved and len(a) != len(b)):
            raise JaxmeterError(
                f"Round: got {len(a)} samples of the first function and {len(b)} of the second; "
                "give at least one sample of each, and equal numbers if the calls are interleaved"
            )
        if interleaved:
            logs = [math.log(second / first) for first, second in zip(a, b, strict=True)]
            ratio, scattering = math.exp(statistics.median(logs)), [logs]
        else:
            ratio = statistics.median(b) / statistics.median(a)
            scattering = [[math.log(one) for one in samples] for samples in (a, b)]
        if min(len(a), len(b)) < MIN_SAMPLES_COUNT:
            return cls(ratio)
        return cls(ratio, math.hypot(*map(_median_error, scattering)))

    @classmethod
    def from_summaries(cls, a: SampleSummary, b: SampleSummary) -> Round:
        """Return the round of two processes from summaries of their samples.

        Raises
        ------
        JaxmeterError
            If a median is not a finite number above 0.
        """
        _check_times(a.median, b.median)
        ratio = b.median / a.median
        if a.error is None or b.error is None:
            return cls(ratio)
        return cls(ratio, math.hypot(a.error, b.error))


def adjacent_rounds(
    a_starts: Mapping[int, datetime],
    b_starts: Mapping[int, datetime],
    other_starts: Iterable[datetime] = (),
) -> tuple[int, ...]:
    """Return the numbers of the rounds in which two processes ran directly one after the other.

    A round has one process for each of two versions. A round is left out if another process started
    between its two processes, or if its processes started more than `MAX_SECONDS_APART` apart. No
    round is returned if several rounds of one version ran first, and then the same rounds of the
    other version in the same order. Drift of the machine would then look like a difference between
    the versions.

    Parameters
    ----------
    a_starts, b_starts : mapping from round to datetime
        The start of each version's process in each round. Rounds without a known start are left
        out.
    other_starts : iterable of datetime
        The starts of other processes of the same case.
    """
    starts = sorted((*a_starts.values(), *b_starts.values(), *other_starts))
    found = []
    for number in sorted(a_starts.keys() & b_starts.keys()):
        first, last = sorted((a_starts[number], b_starts[number]))
        is_near = (last - first).total_seconds() <= MAX_SECONDS_APART
        if is_near and bisect_right(starts, first) >= bisect_left(starts, last):
            found.append(number)
    return tuple(found)


def _check_times(*seconds: float) -> None:
    for one in seconds:
        if not (math.isfinite(one) and one > 0):
            raise JaxmeterError(f"Round: got a time of {one!r} s; give finite times above 0")


def _median_error(values: Sequence[float]) -> float:
    """Return the standard error of the median.

    For n samples of a normal distribution, this error is about sqrt(pi / (2 n)) sigma. Sigma is
    estimated from the interquartile range, on which outliers have little effect.
    """
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return math.sqrt(math.pi / (2 * len(values))) * (high - low) / 1.349


@dataclass(frozen=True)
class MedianInterval:
    """A median with an interval, in the unit of the values.

    If there are no values, `median`, `low` and `high` are NaN.
    """

    median: float
    low: float
    high: float
    coverage: float
    """Probability that the true median is between `low` and `high`; 0 for fewer than two values."""
    count: int
    """Number of values."""


def median_interval(values: Iterable[float | None]) -> MedianInterval:
    """Return the median of values, and a symmetric order-statistic interval for the true median.

    The k-th smallest and the k-th largest of n independent values enclose the median of any
    continuous distribution with probability 1 - 2 P(Binomial(n, 1/2) < k). These two values are the
    ends of the interval. k is the largest number for which this probability is at least
    `MEDIAN_COVERAGE`. If there is no such k, the interval is the whole range of the values, and the
    coverage in the result is lower. Source: H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed.,
    7.1.

    Parameters
    ----------
    values : iterable of float, shape (n,)
        NaN and None are left out.
    """
    from scipy import special

    ordered = sorted(float(v) for v in values if v is not None and not math.isnan(v))
    count = len(ordered)
    if count == 0:
        return MedianInterval(math.nan, math.nan, math.nan, 0.0, 0)

    def covered(k: int) -> float:
        return float(1.0 - 2.0 * special.bdtr(k - 1, count, 0.5))

    k = 1
    while 2 * (k + 1) <= count and covered(k + 1) >= MEDIAN_COVERAGE:
        k += 1
    low, high = ordered[k - 1], ordered[-k]
    return MedianInterval(statistics.median(ordered), low, high, covered(k), count)


def paired_ratio(
    numerator: Mapping[int, float], denominator: Mapping[int, float]
) -> MedianInterval:
    """Return the median and interval of the ratios numerator / denominator.

    Each round that occurs in both mappings gives one ratio. A round with a denominator of 0 is left
    out.

    Parameters
    ----------
    numerator, denominator : mapping from round to value
        The two values of a round should be measured directly one after the other, on the same
        machine.
    """
    rounds = sorted(numerator.keys() & denominator.keys())
    return median_interval(numerator[r] / denominator[r] for r in rounds if denominator[r] != 0)
