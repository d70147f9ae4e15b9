"""Medians and their intervals, from few numbers and without assuming how they are distributed.

One process gives one number: samples inside a process agree with each other better than two
processes do, so they must not be pooled. What is summarised here are therefore *process medians*,
of which there are few (about six), and two measurements that ran side by side in the same round
are compared as a pair, so that slow drifts of the machine cancel.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COVERAGE_ASKED = 0.95
FEWEST_FOR_COVERAGE = 6  # 1 - 2 (1/2)^n reaches 95 % from n = 6 on


@dataclass(frozen=True)
class Interval:
    """A median, and an interval that holds the true median with a known probability.

    Attributes
    ----------
    median, low, high : float
        In the unit of the values; all NaN when there were no values.
    coverage : float
        Probability that `low` to `high` holds the true median. Below 0.95 where there were too
        few values, 0 for a single one.
    count : int
        How many values went in.
    """

    median: float
    low: float
    high: float
    coverage: float
    count: int

    @property
    def above_one(self) -> bool:
        return self.low > 1.0

    @property
    def below_one(self) -> bool:
        return self.high < 1.0

    @property
    def trusted(self) -> bool:
        """Whether there were enough values for the coverage asked."""
        return self.coverage >= COVERAGE_ASKED


def median_interval(values: Sequence[float], *, coverage: float = COVERAGE_ASKED) -> Interval:
    """Median of `values` with the narrowest symmetric order-statistic interval.

    The k-th smallest and the k-th largest of n independent values enclose the median of any
    continuous distribution with probability 1 - 2 P(Binomial(n, 1/2) < k). The largest k that
    keeps `coverage` is taken; if even k = 1 does not, the whole range is returned and says so in
    its `coverage`. Source: H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., section 7.1.

    Parameters
    ----------
    values : sequence of float, shape (n,)
        NaN and None are left out.
    """
    ordered = sorted(float(v) for v in values if v is not None and not math.isnan(v))
    count = len(ordered)
    if count == 0:
        return Interval(math.nan, math.nan, math.nan, 0.0, 0)
    k = 1
    while 2 * (k + 1) <= count and _covered(count, k + 1) >= coverage:
        k += 1
    return Interval(_median(ordered), ordered[k - 1], ordered[-k], _covered(count, k), count)


def paired_ratio(numerator: Mapping[int, float], denominator: Mapping[int, float]) -> Interval:
    """Interval of numerator/denominator over the rounds that both have.

    Parameters
    ----------
    numerator, denominator : mapping from round to value
        Measured side by side: the same round ran at nearly the same time on the same machine.
    """
    rounds = sorted(numerator.keys() & denominator.keys())
    return median_interval([numerator[r] / denominator[r] for r in rounds if denominator[r] != 0])


def _covered(count: int, k: int) -> float:
    outside = sum(math.comb(count, i) for i in range(k)) / 2**count
    return 1.0 - 2.0 * outside


def _median(ordered: Sequence[float]) -> float:
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return 0.5 * (ordered[middle - 1] + ordered[middle])
