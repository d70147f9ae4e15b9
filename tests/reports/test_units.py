"""Numbers as they are printed."""

import math

import pytest

from reports import units
from reports.units import bytes_, scientific, seconds, significant


@pytest.mark.parametrize(
    "write, value, text",
    [
        (significant, 0.0, "0"),
        (significant, 0.01234, "0.0123"),
        (significant, 4.567, "4.57"),
        (significant, 22.74, "22.7"),
        (significant, 1337.0, "1340"),
        (significant, -2.5, "−2.50"),
        (significant, math.nan, "NaN"),
        (significant, math.inf, "∞"),
        (seconds, 0.0227, "22.7 ms"),
        (seconds, 6.3, "6.30 s"),
        (seconds, 4.2e-6, "4.20 µs"),
        (seconds, 0.0, "0 s"),
        (bytes_, 96, "96 B"),
        (bytes_, 163_000_000, "163 MB"),
        (bytes_, math.nan, units.MISSING),
        # The exponent has a minus sign instead of a hyphen, after which lines may break.
        (scientific, 1.34e-7, "1.3e−7"),
        (scientific, math.nan, "NaN"),
    ],
)
def test_a_number_has_its_digits_and_the_unit_that_reads_best(write, value, text):
    assert write(value) == text


@pytest.mark.parametrize(
    "value, text", [(0.9996, "1.00"), (-9.996, "−10.0"), (999.6, "1000"), (0.09996, "0.100")]
)
def test_a_number_that_is_rounded_up_to_a_power_of_ten_has_no_further_digit(value, text):
    assert significant(value) == text


@pytest.mark.parametrize(
    "kind, column, shared, own",
    [
        (units.SECONDS, [0.004, 0.02, 3.0], "ms", {3.0: "ms"}),
        (units.SECONDS, [4.0, 5.0, 6.0], "s", {0.004: "ms", 0.0: "s"}),
        (units.BYTES, [4e9, 5e9, 6e9], "GB", {96.0: "B", 18e3: "kB", 4e6: "MB", 0.0: "B"}),
    ],
)
def test_a_column_has_the_unit_of_its_median_unless_a_number_needs_many_zeros(
    kind, column, shared, own
):
    unit = units.unit_for(column, kind)
    assert unit.name == shared
    assert {value: units.own_unit(value, unit, kind).name for value in own} == own
