"""Medians of few numbers, the coverage of their intervals, and the pairing of rounds."""

import math
import random
from datetime import UTC, datetime, timedelta

import pytest

from jaxmeter import (
    MEDIAN_COVERAGE,
    MIN_VALUES_COUNT,
    adjacent_rounds,
    median_interval,
    paired_ratio,
)


def test_six_values_are_the_fewest_whose_range_holds_the_median_with_95_percent():
    five, six = median_interval(range(5)).coverage, median_interval(range(6)).coverage
    assert (five, six) == (pytest.approx(0.9375), pytest.approx(0.96875))
    assert five < MEDIAN_COVERAGE < six and MIN_VALUES_COUNT == 6


def test_with_more_values_the_interval_leaves_the_extremes_out():
    found = median_interval(range(1, 21))
    assert (found.low, found.high) == (6, 15)
    assert found.coverage >= 0.95


def test_the_interval_holds_the_true_median_as_often_as_stated():
    source = random.Random(7)
    trials = 4000
    found = [median_interval([source.expovariate(1.0) for _ in range(9)]) for _ in range(trials)]
    held = sum(i.low <= math.log(2) <= i.high for i in found) / trials
    assert held == pytest.approx(found[0].coverage, abs=0.01)


def test_one_value_has_no_coverage_and_no_values_give_nan():
    single = median_interval([3.0])
    assert (single.median, single.low, single.high, single.coverage) == (3.0, 3.0, 3.0, 0.0)
    assert math.isnan(median_interval([]).median)


def test_nan_is_left_out():
    found = median_interval([1.0, math.nan, 3.0])
    assert (found.median, found.count) == (2.0, 2)


def test_ratios_use_the_rounds_that_both_have_and_leave_division_by_zero_out():
    ratio = paired_ratio({0: 2.0, 1: 6.0, 5: 9.0}, {0: 1.0, 1: 2.0, 7: 1.0})
    assert (ratio.median, ratio.low, ratio.high, ratio.count) == (2.5, 2.0, 3.0, 2)
    assert paired_ratio({0: 1.0, 1: 2.0}, {0: 0.0, 1: 1.0}).count == 1


def test_pairing_cancels_drift_of_the_machine():
    drift = [1.0, 1.5, 2.0, 2.5, 3.0, 3.5]
    slow = {r: 1.2 * d for r, d in enumerate(drift)}
    fast = {r: 1.0 * d for r, d in enumerate(drift)}
    assert paired_ratio(slow, fast).low == pytest.approx(1.2)
    assert median_interval(slow.values()).low < median_interval(fast.values()).high


START = datetime(2026, 11, 1, 10, tzinfo=UTC)


def starts(*seconds):
    return {number: START + timedelta(seconds=one) for number, one in enumerate(seconds)}


def test_a_round_counts_only_if_no_other_process_started_between_its_two_processes():
    a, b = starts(0, 90, 120), starts(30, 60, 150)
    assert adjacent_rounds(a, b) == (0, 1, 2)
    assert adjacent_rounds(a, b, [START + timedelta(seconds=10)]) == (1, 2)
    del a[0]  # its start is unknown
    assert adjacent_rounds(a, b) == (1, 2)


def test_processes_that_start_far_apart_or_in_separate_blocks_form_no_rounds():
    assert adjacent_rounds(starts(0, 60, 120), starts(180, 240, 300)) == ()
    assert adjacent_rounds(starts(0), starts(900)) == (0,)
    assert adjacent_rounds(starts(0), starts(901)) == ()
