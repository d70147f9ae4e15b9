"""Numbers as they are printed."""

import math

import pytest

from reports import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.01234, "0.0123"),
        (4.567, "4.57"),
        (22.74, "22.7"),
        (1337.0, "1340"),
        (-2.5, "−2.50"),
        (math.nan, "NaN"),
        (math.inf, "∞"),
    ],
)
def test_three_significant_digits_without_exponent(value, text):
    assert units.significant(value) == text


def test_seconds_and_bytes_take_the_unit_that_reads_best():
    assert units.seconds(0.0227) == "22.7 ms"
    assert units.seconds(6.3) == "6.30 s"
    assert units.seconds(4.2e-6) == "4.20 µs"
    assert units.seconds(0.0) == "0 s"
    assert units.bytes_(96) == "96 B"
    assert units.bytes_(163_000_000) == "163 MB"
    assert units.bytes_(math.nan) == units.MISSING


def test_a_column_shares_the_unit_of_its_middle_value():
    shared = units.unit_for([0.004, 0.02, 3.0], units.SECONDS)
    assert shared.name == "ms"
    assert units.own_unit(3.0, shared, units.SECONDS).name == "ms"


def test_a_value_that_would_be_all_zeros_takes_its_own_unit():
    shared = units.unit_for([4.0, 5.0, 6.0], units.SECONDS)
    assert shared.name == "s"
    assert units.own_unit(0.004, shared, units.SECONDS).name == "ms"
    assert units.own_unit(0.0, shared, units.SECONDS).name == "s"


def test_bytes_take_their_own_unit_each():
    shared = units.unit_for([4e9, 5e9, 6e9], units.BYTES)
    names = [units.own_unit(v, shared, units.BYTES).name for v in (96.0, 18e3, 4e6, 0.0)]
    assert names == ["B", "kB", "MB", "B"]


def test_errors_have_two_digits_and_a_sign_that_does_not_break_lines():
    assert units.scientific(1.34e-7) == "1.3e−7"
    assert units.scientific(math.nan) == "NaN"
