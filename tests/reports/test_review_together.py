"""All timed cases as one sample: which rounds count in it, and how much."""

import math

import numpy as np
import pytest

from jaxmeter import Ratio, Rule, compare_times
from reports.metrics import KNOWN
from reports.review.together import together

(SETTLED,) = (metric for metric in KNOWN if metric.name == "steady_median_seconds")


def of_cases(*cases):
    """The rounds of all cases, given the logarithms of each case's and what its calls tell."""
    ratios = {
        (f"suite/{i}", SETTLED.name): [Ratio(math.exp(log), error) for log in logs]
        for i, (logs, error) in enumerate(cases)
    }
    all_of = together(SETTLED, ratios, dict.fromkeys(ratios, (2.0, 3.0)))
    assert all_of is not None
    return all_of


def test_cells_whose_processes_differ_more_than_their_calls_tell_raise_no_false_alarms():
    draw, found = np.random.default_rng(4), 0
    for _ in range(3000):
        errors = (0.003, 0.02, 0.05)
        all_of = of_cases(*((draw.normal(0, math.hypot(e, 0.04), 8), e) for e in errors))
        (timing,) = compare_times({"t": all_of.ratios}, Rule(0.0, trimmed_share=0.125))
        found += timing.verdict == "different"
    # 0.5 % of 3000 is 15 with a standard deviation of 3.9; four of those are allowed for.
    assert found <= 31


def test_every_round_has_one_voice_whatever_its_cell():
    all_of = of_cases(([0.1] * 8, 0.001), ([0.3] * 4, 0.2), ([0.5] * 4, None))
    assert all_of.base == 6.0 and all_of.name == "3 timed cases together"
    (timing,) = compare_times({"t": all_of.ratios})
    assert math.log(timing.ratio) == pytest.approx((8 * 0.1 + 4 * 0.3 + 4 * 0.5) / 16)


def test_one_cell_alone_is_no_sample_of_all():
    key = ("suite/0", SETTLED.name)
    assert together(SETTLED, {key: [Ratio(1.1)] * 8}, {key: (2.0, 3.0)}) is None
