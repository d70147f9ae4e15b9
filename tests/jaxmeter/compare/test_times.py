"""Times of two functions or versions are judged by their rounds."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxmeter import (
    TIMES,
    Criteria,
    JaxmeterError,
    Round,
    SampleSummary,
    compare_cases,
    compare_times,
)
from tests.jaxmeter.compare.draws import draw, rounds

pytestmark = pytest.mark.usefixtures("same_draws")


def judged(given, **criteria):
    """Return the timing of a single time from its rounds or their log ratios."""
    found = given if isinstance(given[0], Round) else rounds(given)
    (timing,) = compare_times({"steady_seconds": found}, Criteria(**criteria))
    return timing


def compare_four(quantities):
    return compare_times(quantities, times_count=len(TIMES))


def different_count(count, logs, **criteria):
    """Return how many of `count` comparisons find a difference; `logs` draws the log ratios."""
    found = 0
    for _ in range(count):
        times = {f"time {n}": rounds(one) for n, one in enumerate(np.atleast_2d(logs()))}
        timings = compare_times(times, Criteria(**criteria))
        found += any(one.verdict == "different" for one in timings)
    return found


@pytest.mark.parametrize(
    ("shape", "trimmed"), [((1, 3), 0.0), ((1, 6), 0.0), ((4, 3), 0.0), ((4, 6), 0.0), (8, 0.125)]
)
def test_equal_functions_differ_no_more_often_than_the_significance(shape, trimmed):
    # The noise is far above the minimum effect, so only the significance prevents false alarms.
    found = different_count(1500, lambda: draw.normal(0.0, 0.3, shape), trimmed_share=trimmed)
    # 0.5 % of 1500 is 7.5 with a standard deviation of 2.7; the limit is four deviations higher.
    assert found <= 18


def known(logs, error: float | None = 0.001):
    """Return rounds with the given log ratios and the same error."""
    return [Round(math.exp(log), error) for log in logs]


def test_a_trimmed_mean_has_yuens_error_and_students_distribution():
    logs = draw.normal(0.1, 0.3, 11)
    timing = judged(known(logs), trimmed_share=0.2)
    moved = np.asarray(stats.mstats.winsorize(logs, limits=(2 / 11, 2 / 11)))
    error = math.sqrt(((moved - moved.mean()) ** 2).sum() / (7 * 6))
    mean = stats.trim_mean(logs, 2 / 11)
    assert math.log(timing.ratio) == pytest.approx(mean, abs=1e-12)
    assert timing.p_value == pytest.approx(2 * stats.t.sf(abs(mean / error), 6), rel=1e-9)
    assert timing.high == pytest.approx(math.exp(mean + error * stats.t.isf(0.0025, 6)), rel=1e-9)


def test_trimming_makes_a_process_that_was_disturbed_throughout_harmless():
    logs = [0.8, *(0.1 + 0.01 * k for k in (-2, -1, 0, 0, 1, 2, 3))]
    for given in (known(logs), logs):
        assert judged(given, trimmed_share=0.0).verdict == "inconclusive"
        assert judged(given, trimmed_share=0.125).verdict == "different"
    # An eighth of seven rounds is no round.
    assert judged(known(logs[:7]), trimmed_share=0.125) == judged(known(logs[:7]))


def test_nothing_is_trimmed_if_the_remaining_rounds_agree_exactly():
    ties = known([-1.0, *[0.06] * 6, 2.0])
    trimmed = judged(ties, trimmed_share=0.125)
    assert trimmed == judged(ties) and trimmed.verdict == "inconclusive"


@pytest.mark.parametrize("processes", range(2, 9))
def test_a_quarter_of_2_to_8_rounds_can_be_trimmed(processes):
    timing = judged(known(draw.normal(0.0, 0.3, processes)), trimmed_share=0.25)
    assert 0 < timing.low < timing.ratio < timing.high < math.inf


@pytest.mark.parametrize("effect", [0.1, -0.1])
def test_a_change_of_10_percent_is_found_despite_2_percent_of_noise(effect):
    assert different_count(300, lambda: draw.normal(math.log1p(effect), 0.02, 6)) > 0.95 * 300


def test_more_processes_find_smaller_differences():
    few, many = (
        different_count(300, lambda n=n: draw.normal(math.log1p(0.1), 0.04, n)) for n in (3, 12)
    )
    assert few < 150 < 270 < many


@pytest.mark.parametrize(
    ("logs", "verdict", "reason"),
    [
        ([0.001, -0.001, 0.002, -0.002, 0.0, 0.001], "same", "within 3 %"),
        ([0.0101, 0.0102, 0.01, 0.0101, 0.0099, 0.01], "same", "significant, but by less than 3 %"),
        ([0.5, -0.5, 0.4, -0.3, 0.1, 0.2], "inconclusive", "not significant"),
        ([0.1, 0.11, 0.09, 0.1, 0.1, 0.1], "different", "significant, by more than 3 %"),
        ([0.1], "inconclusive", "a single round"),
        ([0.1, 0.1, 0.1], "different", "significant, by more than 3 %"),
        ([0.0, 0.0, 0.0], "same", "within 3 %"),
        # The interval reaches beyond 3 %.
        (
            [0.012, 0.028, 0.013, 0.027, 0.02, 0.02],
            "inconclusive",
            "significant, perhaps by more than 3 %",
        ),
    ],
)
def test_verdicts_have_reasons(logs, verdict, reason):
    assert (judged(logs).verdict, judged(logs).reason) == (verdict, reason)


def test_an_interval_may_be_too_wide_for_a_float():
    timing = judged([8.0, -8.0])
    assert (timing.low, timing.high, timing.verdict) == (0.0, math.inf, "inconclusive")


def test_simultaneous_intervals_exclude_1_exactly_if_the_times_differ_significantly():
    for scale in draw.uniform(0.5, 3.0, 100):
        found = {name: rounds(draw.normal(0.02 * scale, 0.02, 6)) for name in TIMES}
        for one in compare_four(found):
            assert (not one.low < 1.0 < one.high) == (one.p_value <= Criteria().significance)


def test_a_time_has_its_share_of_the_significance_even_if_it_is_given_alone():
    logs = rounds(draw.normal(0.05, 0.02, 6))
    (alone,) = compare_four({"steady_seconds": logs})
    first, *_ = compare_four(dict.fromkeys(TIMES, logs))
    assert alone == first
    assert alone.p_value == pytest.approx(4 * judged(logs).p_value)
    assert alone.high > judged(logs).high


@pytest.mark.parametrize("processes", [4, 6])
def test_phases_with_heavy_tails_raise_no_false_alarms(processes):
    # A phase takes some milliseconds of Python. Other programs may disturb either function.
    found = 0
    for _ in range(1000):
        times = {"steady_seconds": rounds(draw.normal(0.0, 0.01, processes))}
        for name in TIMES[1:]:
            bursts = draw.choice([0.0, 0.5], p=[0.8, 0.2], size=(2, processes))
            logs = 0.03 * draw.standard_t(2, processes) + bursts[0] - bursts[1]
            times[name] = rounds(logs)
        found += any(one.verdict == "different" for one in compare_four(times))
    # 0.5 % of 1000 is 5 with a standard deviation of 2.2; the limit is four deviations higher.
    assert found <= 14


def test_the_interval_holds_the_true_ratio_as_often_as_stated():
    intervals = [judged(draw.normal(0.2, 0.05, 6), significance=0.05) for _ in range(1000)]
    held = sum(one.low < math.exp(0.2) < one.high for one in intervals)
    assert 920 < held < 980


def interleaved(log, scatter, count=30):
    """Return a round with interleaved samples; their log ratios scatter about `log`."""
    samples = np.exp(draw.normal(log, scatter, count))
    return Round.from_samples([1.0] * count, samples.tolist(), interleaved=True)


def test_drift_and_bursts_cancel_in_interleaved_samples():
    drift = np.geomspace(1.0, 3.0, 50)
    burst = np.where(np.arange(50) % 10 < 3, 5.0, 1.0)  # other programs, in 3 of 10 turns
    for first in (drift, drift * burst):
        one = Round.from_samples(list(first), list(1.1 * drift), interleaved=True)
        assert one.ratio == pytest.approx(1.1)
    assert Round.from_samples([1.0, 9.0, 1.0], [2.0]).ratio == 2.0


def test_a_disturbed_process_counts_for_less():
    calm = [interleaved(0.0953, 0.01) for _ in range(5)]
    timing = judged([*calm, interleaved(-0.3, 1.0)])
    assert timing.verdict == "different" and timing.ratio == pytest.approx(1.1, abs=0.01)
    # If the samples of this process do not scatter, the process counts in full.
    assert judged([*calm, interleaved(-0.3, 0.01)]).verdict == "inconclusive"


def test_disturbed_processes_raise_no_false_alarms():
    found = 0
    for _ in range(600):
        scatters = draw.choice([0.02, 0.2, 2.0], size=6)  # errors of 0.5 % to 46 %
        noisy = [interleaved(draw.normal(0.0, 0.01), scatter) for scatter in scatters]
        found += judged(noisy, minimum_effect=0.0).verdict == "different"
    # 0.5 % of 600 is 3 with a standard deviation of 1.7; the limit is four deviations higher.
    assert found <= 10


def test_the_error_of_a_round_is_the_standard_error_of_its_median():
    found = [interleaved(0.0, 0.1) for _ in range(400)]
    error = np.mean([one.error or math.nan for one in found])
    assert error == pytest.approx(np.std([math.log(one.ratio) for one in found]), rel=0.15)
    assert Round.from_samples([1.0] * 4, [1.0] * 4, interleaved=True).error is None
    a, b = (np.exp(draw.normal(0, 0.1, 30)) for _ in "ab")
    assert Round.from_samples(list(a), list(b)).error == pytest.approx(
        math.sqrt(2) * error, rel=0.5
    )
    summaries = (SampleSummary(float(np.median(x)), float(x.std()), x.size) for x in (a, b))
    assert Round.from_summaries(*summaries).error == pytest.approx(math.sqrt(2) * error, rel=0.5)


def test_a_round_from_summaries_of_few_samples_has_no_error_and_needs_times_above_0():
    few, one = SampleSummary(1.0, 0.1, 4), SampleSummary(1.1)
    assert Round.from_summaries(few, one) == Round(1.1, None)
    with pytest.raises(JaxmeterError, match="got a time of 0.0 s; give finite times above 0"):
        Round.from_summaries(few, SampleSummary(0.0, 0.1, 10))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([math.nan], [1.0]), "Round: got a time of nan s; give finite times above 0"),
        (([1.0], [0.0]), "got a time of 0.0 s"),
        (([1.0], [math.inf]), "got a time of inf s"),
        (([1.0, 2.0], [1.0]), "got 2 samples of the first function and 1 of the second"),
        (([], [1.0]), "got 0 samples of the first function and 1 of the second"),
        ((-1.0,), "Round: got ratio=-1.0"),
    ],
)
def test_samples_and_ratios_that_cannot_be_used_are_refused(arguments, message):
    with pytest.raises(JaxmeterError, match=message):
        Round(*arguments) if len(arguments) == 1 else Round.from_samples(
            *arguments, interleaved=True
        )


@pytest.mark.parametrize(
    "fields",
    [
        {"minimum_effect": -0.1},
        {"minimum_effect": math.nan},
        {"minimum_effect": None},
        {"significance": 0.0},
        *({"trimmed_share": share} for share in (-0.1, 0.26, math.nan, False, "0.1")),
    ],
)
def test_criteria_that_cannot_be_used_are_refused(fields):
    with pytest.raises(JaxmeterError, match="Criteria: got"):
        Criteria(**fields)


def pooled(cases, **criteria):
    """Return the pooled timing of cases, or None. A case has log ratios and their error."""
    found = {(f"case {i}", "t"): known(logs, error) for i, (logs, error) in enumerate(cases)}
    timings = compare_cases(found, Criteria(**criteria), pooled=["t"])
    return next((one for (names, _), one in timings.items() if len(names) > 1), None)


def test_pooled_cases_with_processes_that_differ_beyond_their_scatter_raise_no_false_alarms():
    found = 0
    for _ in range(3000):
        errors = (0.003, 0.02, 0.05)
        cases = [(draw.normal(0, math.hypot(error, 0.04), 8), error) for error in errors]
        # Pooled times have half of the significance.
        timing = pooled(cases, minimum_effect=0.0, significance=0.01, trimmed_share=0.125)
        found += timing is not None and timing.verdict == "different"
    # 0.5 % of 3000 is 15 with a standard deviation of 3.9; the limit is four deviations higher.
    assert found <= 31


def test_every_pooled_round_has_the_same_weight():
    scattered = [0.1, -0.1] * 4
    timing = pooled([(scattered, 0.001), ([0.3, -0.2] * 2, 0.2), ([0.5, -0.1] * 2, None)])
    assert timing is not None
    assert math.log(timing.ratio) == pytest.approx((4 * 0.05 + 4 * 0.2) / 16)


def test_a_single_case_or_an_outlying_case_or_a_case_of_two_rounds_is_not_pooled():
    noise = [0.01, -0.01] * 3
    assert pooled([(noise, 0.01)]) is None
    assert pooled([(noise, 0.01), (noise[:2], 0.01)]) is None  # two rounds are too few
    assert pooled([(noise, 0.01), (noise, 0.01)]) is not None
    assert pooled([(noise, 0.01), ([0.5 + log for log in noise], 0.01)]) is None


def test_pooling_finds_a_change_that_no_case_shows_alone():
    cases = [([0.25, -0.05] * 4, None)] * 4
    timing = pooled(cases)
    assert timing is not None and timing.verdict == "different" and len(timing.ratios) == 32
    alone = compare_cases({("case", "t"): known(cases[0][0], None)})
    assert [one.verdict for one in alone.values()] == ["inconclusive"]
