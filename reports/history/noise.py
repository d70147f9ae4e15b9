"""Compute the threshold of a series: a larger relative change is not explained by noise.

The threshold is Q3 + 3 (Q3 - Q1). Q1 and Q3 are the quartiles of the absolute relative differences
of neighbouring commits, without the differences at change points. The performance tracker of the
Rust compiler uses the same formula (github.com/rust-lang/rustc-perf, docs/comparison-analysis.md).
This module computes the differences from logarithms, and converts the threshold back to a relative
change. The threshold is never below a fixed minimum. The minimum is also used for a series that is
too short to estimate its noise.
"""

import math
import statistics
from collections.abc import Collection, Sequence
from itertools import pairwise

MINIMUM = 0.05
FEWEST_DIFFERENCES = 8


def noise_threshold(values: Sequence[float], stepped: Collection[int] = ()) -> float:
    """Return the threshold of a noisy series, as a relative change.

    `values` has one number for each commit, oldest first. Differences at the indices `stepped`, the
    first points of new levels, are not noise.
    """
    differences = [
        abs(math.log(after / before))
        for i, (before, after) in enumerate(pairwise(values), start=1)
        if i not in stepped and before > 0 and after > 0 and math.isfinite(before * after)
    ]
    if len(differences) < FEWEST_DIFFERENCES:
        return MINIMUM
    low, _, high = statistics.quantiles(differences, n=4, method="inclusive")
    return max(MINIMUM, math.expm1(high + 3 * (high - low)))
