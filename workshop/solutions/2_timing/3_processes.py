import statistics

from scipy import stats

ENOUGH = 6


def p_value(left, right):
    a, b = ([statistics.median(process) for process in side] for side in (left, right))
    return stats.mannwhitneyu(a, b).pvalue
