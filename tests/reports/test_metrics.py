"""A NaN error counts as measured; a missing one does not."""

import math

import pytest

from reports import read_store, tables
from reports.history import make_history
from reports.history.series import was_measured
from reports.quantities import Metric

FIELD, GRADIENT = Metric("error_relative", "error"), Metric("gradient_error_relative", "error")
BOTH = {FIELD.name: 1e-7, GRADIENT.name: 1e-6}


@pytest.fixture
def store(made_up, tmp_path):
    """Three processes: one has both errors, one no gradient, of one the gradient is NaN."""
    found = (BOTH, {FIELD.name: 1e-7}, BOTH | {GRADIENT.name: math.nan})
    for round_index, checks in enumerate(found):
        made_up.write(tmp_path, made_up.record("a/b", {}, checks=checks), round_index)
    return tmp_path


def test_an_error_that_is_not_a_numberwas_measured_and_a_missing_one_was_not(store):
    table = tables.measurements(read_store(store))
    assert list(was_measured(table, FIELD)) == [True, True, True]
    assert list(was_measured(table, GRADIENT)) == [True, False, True]


def test_numbers_that_are_missing_were_not_measured(store, made_up):
    made_up.write(store, made_up.failed("a/b", {}), 3)
    table = tables.measurements(read_store(store))
    assert list(was_measured(table, Metric("flops", "exact"))) == [True, True, True, False]


def test_the_history_shows_a_gradient_that_is_not_a_number(store):
    (setting,) = make_history(read_store(store)).environments
    (series,) = [one for one in setting.series if one.metric.name == GRADIENT.name]
    assert [str(value) for value in series.samples[0]] == ["1e-06", "nan"]
    assert math.isnan(series.values[0])
