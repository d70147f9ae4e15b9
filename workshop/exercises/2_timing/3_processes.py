"""Take the right samples.

`left` and `right` are lists of processes, and each process is a list of seconds, one for each call.
`p_value` should compare numbers that are independent. ENOUGH should be the smallest number of
processes on each side with which `p_value` can return a number below 0.005.
"""

from scipy import stats

ENOUGH = 3


def p_value(left, right):
    a, b = ([seconds for process in side for seconds in process] for side in (left, right))
    return stats.mannwhitneyu(a, b).pvalue
