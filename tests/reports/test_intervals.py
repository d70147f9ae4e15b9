"""Medians of few numbers, and what their intervals promise."""

import math
import random

import pytest

from reports.intervals import median_interval, paired_ratio


def test_six_values_are_the_fewest_whose_range_holds_the_median_with_95_percent():
    assert median_interval([1, 2, 3, 4, 5]).coverage == pytest.approx(0.9375)
    assert median_interval([1, 2, 3, 4, 5, 6]).coverage == pytest.approx(0.96875)
    assert not median_interval([1, 2, 3, 4, 5]).trusted
    assert median_interval([1, 2, 3, 4, 5, 6]).trusted


def test_more_values_leave_out_the_extremes():
    found = median_interval(range(1, 21))
    assert (found.low, found.high) == (6, 15)
    assert found.coverage >= 0.95


def test_the_interval_holds_the_true_median_as_often_as_it_says():
    source = random.Random(7)
    trials = 4000
    found = [median_interval([source.expovariate(1.0) for _ in range(9)]) for _ in range(trials)]
    held = sum(i.low <= math.log(2) <= i.high for i in found) / trials
    assert held == pytest.approx(found[0].coverage, abs=0.01)


def test_one_value_has_no_interval_and_none_is_not_a_number():
    single = median_interval([3.0])
    assert (single.median, single.low, single.high, single.coverage) == (3.0, 3.0, 3.0, 0.0)
    assert math.isnan(median_interval([]).median)


def test_what_is_not_a_number_is_left_out():
    assert median_interval([1.0, math.nan, 3.0]).median == 2.0
    assert median_interval([1.0, math.nan, 3.0]).count == 2


def test_ratios_pair_the_rounds_that_both_have():
    ratio = paired_ratio({0: 2.0, 1: 6.0, 5: 9.0}, {0: 1.0, 1: 2.0, 7: 1.0})
    assert (ratio.median, ratio.low, ratio.high, ratio.count) == (2.5, 2.0, 3.0, 2)


def test_pairing_cancels_a_drift_of_the_machine():
    drift = [1.0, 1.5, 2.0, 2.5, 3.0, 3.5]
    slow = {r: 1.2 * d for r, d in enumerate(drift)}
    fast = {r: 1.0 * d for r, d in enumerate(drift)}
    ratio = paired_ratio(slow, fast)
    assert ratio.low == pytest.approx(1.2) and ratio.above_one
    assert median_interval(list(slow.values())).low < median_interval(list(fast.values())).high


def test_a_pair_divided_by_zero_is_left_out():
    assert paired_ratio({0: 1.0, 1: 2.0}, {0: 0.0, 1: 1.0}).count == 1
