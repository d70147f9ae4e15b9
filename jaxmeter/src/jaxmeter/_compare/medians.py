"""Compute the median of a few numbers, with an interval that is valid for any distribution.

Samples of one process agree better than samples of different processes, so samples of different
processes must not be pooled. Each number here should summarise one process or one round, such as
the median of the samples of one process. Typically there are six processes.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

MEDIAN_COVERAGE = 0.95
"""Probability with which an interval should contain the true median."""
MIN_VALUES_COUNT = 6
"""The smallest number of values for an interval with `MEDIAN_COVERAGE`. The range of n values
contains the true median with probability 1 - 2 (1/2)^n: 0.97 for n = 6, 0.94 for n = 5."""


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


def median_interval(
    values: Iterable[float | None], *, coverage: float = MEDIAN_COVERAGE
) -> MedianInterval:
    """Return the median with the narrowest symmetric order-statistic interval.

    The k-th smallest and the k-th largest of n independent values enclose the median of any
    continuous distribution with probability 1 - 2 P(Binomial(n, 1/2) < k). These two values are the
    ends of the interval, for the largest k with a probability of at least `coverage`. If there is
    no such k, the interval is the whole range of the values, and the coverage in the result is
    lower than `coverage`. Source: H. A. David, H. N. Nagaraja, Order Statistics, 3rd ed., 7.1.

    Parameters
    ----------
    values : iterable of float, shape (n,)
        NaN and None are left out.
    coverage : float
        Probability with which the interval should contain the true median.
    """
    from scipy import special

    ordered = sorted(float(v) for v in values if v is not None and not math.isnan(v))
    count = len(ordered)
    if count == 0:
        return MedianInterval(math.nan, math.nan, math.nan, 0.0, 0)

    def covered(k: int) -> float:
        return float(1.0 - 2.0 * special.bdtr(k - 1, count, 0.5))

    k = 1
    while 2 * (k + 1) <= count and covered(k + 1) >= coverage:
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
