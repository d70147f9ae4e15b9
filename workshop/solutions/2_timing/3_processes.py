"""Take the right samples.

`left` and `right` are lists of processes; a process is a list of seconds, one a call. `p_value`
should compare what is independent. ENOUGH should be the smallest number of processes a side that
can reach p < 0.005 in this test.
"""

import statistics

from scipy import stats

ENOUGH = 6


def p_value(left, right):
    a, b = ([statistics.median(process) for process in side] for side in (left, right))
    return stats.mannwhitneyu(a, b).pvalue
