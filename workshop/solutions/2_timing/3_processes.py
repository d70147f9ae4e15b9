"""Take the right samples.

`left` and `right` are lists of processes, and each process is a list of seconds, one for each call.
`p_value` should compare numbers that are independent. ENOUGH should be the smallest number of
processes on each side with which this test can reach p < 0.005.
"""

import statistics

from scipy import stats

ENOUGH = 6


def p_value(left, right):
    a, b = ([statistics.median(process) for process in side] for side in (left, right))
    return stats.mannwhitneyu(a, b).pvalue
