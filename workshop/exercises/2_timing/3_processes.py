"""Take the right samples.

`left` and `right` are lists of processes; a process is a list of seconds, one a call. `p_value`
should compare what is independent. ENOUGH should be the smallest number of processes a side that
can reach p < 0.005 in this test.
"""

from scipy import stats

ENOUGH = 3


def p_value(left, right):
    a, b = ([seconds for process in side for seconds in process] for side in (left, right))
    return stats.mannwhitneyu(a, b).pvalue
