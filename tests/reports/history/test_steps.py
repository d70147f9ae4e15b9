"""Change points of exact, error and noisy series."""

import math
import random

import pytest

from reports.history import steps
from reports.history.steps import find_steps


def levels(after):
    """Return forty numbers with noise; the level is 1, and `after` from the 21st number on."""
    rng = random.Random(7)
    return [value * math.exp(rng.gauss(0, 0.02)) for value in [1.0] * 20 + [after] * 20]


def test_an_exact_number_has_a_change_point_wherever_it_changes():
    (step,) = find_steps([64, 64, 65, 65], "exact")
    assert (step.index, step.before, step.after) == (2, 64, 65)
    assert find_steps([64] * 5, "exact") == ()
    assert math.isinf(find_steps([0, 8], "exact")[0].ratio)


def test_a_time_longer_by_a_tenth_is_found_by_both_methods():
    (step,) = find_steps(levels(1.1), "noisy")
    assert step.found_by == "asv+ruptures" and abs(step.index - 20) <= 1
    assert step.ratio == pytest.approx(1.1, abs=0.02)


def test_asv_finds_no_change_point_in_noise():
    for seed in range(5):
        rng = random.Random(seed)
        values = [math.exp(rng.gauss(0, 0.03)) for _ in range(40)]
        assert [step for step in find_steps(values, "noisy") if "asv" in step.found_by] == []


def test_without_ruptures_asv_alone_finds_the_change_point(monkeypatch):
    monkeypatch.setattr(steps, "ruptures", None)
    (step,) = find_steps(levels(1.2), "noisy")
    assert step.found_by == "asv"


def test_rounding_around_zero_is_not_a_change_point():
    assert find_steps([1e-17, 0.0, 1e-17, 0.0, 0.0, 1e-17, 0.0, 0.0], "noisy") == ()


@pytest.mark.parametrize("values", [[1.0, 2.0], [], [1.0], [0.0] * 10, [1.0] * 9 + [math.inf]])
def test_short_zero_or_infinite_series_have_no_change_point(values):
    assert find_steps(values, "noisy") == ()


def test_an_error_has_change_points_above_rounding_and_where_it_becomes_finite_or_not():
    assert find_steps([1e-7, 1.1e-7, 4e-6], "error")[0].index == 2
    assert find_steps([1e-15, 9e-15, 2e-14], "error") == ()
    errors = [1e-7, math.nan, math.inf, math.nan, 1e-7, math.inf]
    assert [step.index for step in find_steps(errors, "error")] == [1, 4, 5]
