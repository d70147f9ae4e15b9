"""The verdict on two times, from the processes that measured both in turns."""

import math

import numpy as np
import pytest
from scipy import stats

from jaxmeter import JaxmeterError, Rule
from jaxmeter._compare.judge import compare_pair, compare_times
from jaxmeter._compare.rounds import TIMES, Ratio, Round
from jaxmeter._compare.student import two_sided_p, two_sided_t
from tests.jaxmeter.draws import draw, rounds

pytestmark = pytest.mark.usefixtures("same_draws")


def verdict(logs, **rule):
    (timing,) = compare_times({"steady_seconds": rounds(logs)}, Rule(**rule))
    return timing.verdict


def different_share(count, sigma, effect=0.0, quantities=1, processes=6, **rule):
    """Of so many comparisons with noise of that spread from process to process."""
    found = 0
    for _ in range(count):
        logs = draw.normal(math.log1p(effect), sigma, size=(quantities, processes))
        told = {f"time {number}": rounds(one) for number, one in enumerate(logs)}
        timings = compare_times(told, Rule(**rule))
        found += any(one.verdict == "different" for one in timings)
    return found / count


def test_students_t_is_that_of_scipy():
    for freedom in (1, 2, 3, 5, 8, 19):
        for t in (0.0, 0.3, -2.0, 15.0, math.inf):
            expected = 2 * stats.t.sf(abs(t), freedom)
            assert two_sided_p(t, freedom) == pytest.approx(expected, abs=1e-12)
        for p in (0.5, 0.05, 0.001):
            assert two_sided_t(p, freedom) == pytest.approx(stats.t.isf(p / 2, freedom), rel=1e-9)


@pytest.mark.parametrize("quantities", [1, 4])
@pytest.mark.parametrize("processes", [3, 6])
def test_equal_functions_are_called_different_no_more_often_than_asked(quantities, processes):
    # Noise far above the least effect, so that the test alone has to hold.
    share = different_share(1500, 0.3, quantities=quantities, processes=processes)
    # 0.5 % of 1500 is 7.5 with a standard deviation of 2.7; four of those are allowed for.
    assert share <= 18 / 1500


def known(logs, error=0.001):
    """Rounds whose own samples hardly scatter."""
    return {"steady_seconds": [Ratio(math.exp(log), error) for log in logs]}


def test_a_trimmed_mean_has_yuens_error():
    logs = draw.normal(0.1, 0.3, 11)
    (timing,) = compare_times(known(logs), Rule(trimmed_share=0.2))
    moved = np.asarray(stats.mstats.winsorize(logs, limits=(2 / 11, 2 / 11)))
    error = math.sqrt(((moved - moved.mean()) ** 2).sum() / (7 * 6))
    mean = stats.trim_mean(logs, 2 / 11)
    assert math.log(timing.ratio) == pytest.approx(mean, abs=1e-12)
    assert timing.p_value == pytest.approx(2 * stats.t.sf(abs(mean / error), 6), rel=1e-9)


def test_trimming_makes_one_process_that_was_disturbed_all_along_harmless():
    logs = [0.8, *(0.1 + 0.01 * k for k in (-2, -1, 0, 0, 1, 2, 3))]
    for told in (known(logs), {"compile_seconds": rounds(logs)}):
        for trimmed_share, verdict in ((0.0, "inconclusive"), (0.125, "different")):
            (timing,) = compare_times(told, Rule(trimmed_share=trimmed_share))
            assert timing.verdict == verdict
    # Of fewer than eight an eighth is none.
    few = known(logs[:7])
    assert compare_times(few, Rule(trimmed_share=0.125)) == compare_times(few, Rule())


def test_where_what_is_left_agrees_exactly_the_ends_tell_the_spread():
    ties = known([-1.0, *[0.06] * 6, 2.0])
    trimmed, plain = (compare_times(ties, Rule(trimmed_share=share)) for share in (0.125, 0.0))
    assert trimmed == plain and plain[0].verdict == "inconclusive"


@pytest.mark.parametrize("processes", range(2, 9))
def test_however_few_rounds_there_are_a_quarter_may_be_left_out(processes):
    logs = draw.normal(0.0, 0.3, processes)
    (timing,) = compare_times(known(logs), Rule(trimmed_share=0.25))
    assert 0 < timing.low < timing.ratio < timing.high < math.inf


def test_trimmed_means_of_equal_functions_differ_no_more_often_than_asked():
    found = 0
    for _ in range(1500):
        (timing,) = compare_times(known(draw.normal(0, 0.3, 8)), Rule(trimmed_share=0.125))
        found += timing.verdict == "different"
    assert found <= 18  # as above


def test_the_least_effect_keeps_small_differences_out():
    assert different_share(200, 0.001, effect=0.02) == 0.0
    assert different_share(200, 0.001, effect=0.02, minimum_effect=0.01) == 1.0


def test_ten_percent_are_found_through_two_percent_of_noise():
    assert different_share(300, 0.02, effect=0.1) > 0.95
    assert different_share(300, 0.02, effect=-0.1) > 0.95


def test_more_processes_find_less():
    few, many = (different_share(300, 0.04, effect=0.1, processes=n) for n in (3, 12))
    assert few < 0.5 < 0.9 < many


def test_verdicts_have_reasons():
    assert verdict([0.001, -0.001, 0.002, -0.002, 0.0, 0.001]) == "same"
    assert verdict([0.0101, 0.0102, 0.0100, 0.0101, 0.0099, 0.01]) == "same"
    assert verdict([0.5, -0.5, 0.4, -0.3, 0.1, 0.2]) == "inconclusive"
    assert verdict([0.1, 0.11, 0.09, 0.1, 0.1, 0.1]) == "different"
    assert verdict([0.1]) == "inconclusive"
    assert verdict([0.1, 0.1, 0.1]) == "different"
    assert verdict([0.0, 0.0, 0.0]) == "same"


def test_a_small_effect_is_the_same_only_if_no_larger_one_is_possible():
    # Far from 0 for its scatter, yet the interval reaches beyond 3 %.
    logs = [0.012, 0.028, 0.013, 0.027, 0.02, 0.02]
    (timing,) = compare_times({"steady_seconds": rounds(logs)})
    assert timing.low > 1.0 and timing.high > 1.03
    assert (timing.verdict, timing.reason) == (
        "inconclusive",
        "not by chance, perhaps by more than 3 %",
    )


def test_an_interval_may_be_too_wide_for_a_float():
    (timing,) = compare_times({"steady_seconds": rounds([8.0, -8.0])})
    assert (timing.low, timing.high, timing.verdict) == (0.0, math.inf, "inconclusive")


def test_intervals_of_a_pair_leave_1_out_where_its_tests_do():
    for scale in draw.uniform(0.5, 3.0, 100):
        told = {name: rounds(draw.normal(0.02 * scale, 0.02, 6)) for name in TIMES}
        for one in compare_pair(told):
            assert (not one.low < 1.0 < one.high) == (one.p_value <= Rule().significance)


def test_a_time_has_its_share_of_the_significance_though_it_be_alone():
    logs = draw.normal(0.05, 0.02, 6)
    (alone,) = compare_pair({"steady_seconds": rounds(logs)})
    first, *_ = compare_pair({name: rounds(logs) for name in TIMES})
    assert alone == first
    (uncorrected,) = compare_times({"steady_seconds": rounds(logs)})
    assert alone.p_value == pytest.approx(4 * uncorrected.p_value)
    assert alone.high > uncorrected.high


def test_ratios_are_judged_as_the_rounds_they_come_of():
    ones = [turns(0.1, 0.05) for _ in range(6)]
    ratios = [Ratio(one.ratio, one.error) for one in ones]
    assert compare_pair({"t": ones}) == compare_pair({"t": ratios})
    with pytest.raises(JaxmeterError, match="got -1.0 among the ratios of t"):
        compare_pair({"t": [Ratio(-1.0)]})


@pytest.mark.parametrize("processes", [4, 6])
def test_phases_with_heavy_tails_raise_no_false_alarms(processes):
    # Some milliseconds of Python: now and then another thing takes its time, on either side.
    found = 0
    for _ in range(1000):
        told = {"steady_seconds": rounds(draw.normal(0.0, 0.01, processes))}
        for name in TIMES[1:]:
            bursts = draw.choice([0.0, 0.5], p=[0.8, 0.2], size=(2, processes))
            logs = 0.03 * draw.standard_t(2, processes) + bursts[0] - bursts[1]
            told[name] = rounds(logs)
        found += any(one.verdict == "different" for one in compare_pair(told))
    # 0.5 % of 1000 is 5 with a standard deviation of 2.2; four of those are allowed for.
    assert found <= 14


def test_the_interval_holds_the_truth_as_often_as_it_says():
    held = 0
    for _ in range(1000):
        (timing,) = compare_times({"t": rounds(draw.normal(0.2, 0.05, 6))}, Rule(significance=0.05))
        held += timing.low < math.exp(0.2) < timing.high
    assert 0.92 < held / 1000 < 0.98


def test_what_drifts_cancels_where_samples_were_taken_in_turns():
    drift = np.geomspace(1.0, 3.0, 50)
    one = Round(tuple(drift), tuple(1.1 * drift), in_turns=True)
    assert one.ratio == pytest.approx(1.1)
    burst = np.where(np.arange(50) % 10 < 3, 5.0, 1.0)  # other work, in a third of the turns
    assert Round(tuple(drift * burst), tuple(1.1 * drift), in_turns=True).ratio == pytest.approx(
        1.1
    )
    assert Round((1.0, 9.0, 1.0), (2.0,)).ratio == 2.0


def turns(log, scatter, count=30):
    """A process whose turns scatter about a ratio."""
    return Round((1.0,) * count, tuple(np.exp(draw.normal(log, scatter, count))), in_turns=True)


def test_a_process_that_was_disturbed_counts_for_less():
    calm = [turns(0.0953, 0.01) for _ in range(5)]
    one = compare_times({"steady_seconds": [*calm, turns(-0.3, 1.0)]})[0]
    assert one.verdict == "different" and one.ratio == pytest.approx(1.1, abs=0.01)
    # Were it calm itself, it would be believed.
    assert (
        compare_times({"steady_seconds": [*calm, turns(-0.3, 0.01)]})[0].verdict == "inconclusive"
    )


def test_disturbed_processes_raise_no_false_alarms():
    found = 0
    for _ in range(600):
        scatters = draw.choice([0.02, 0.2, 2.0], size=6)  # of turns; errors of 0.5 % to 46 %
        rounds = [turns(draw.normal(0.0, 0.01), scatter) for scatter in scatters]
        timings = compare_times({"steady_seconds": rounds}, Rule(minimum_effect=0.0))
        found += timings[0].verdict == "different"
    # 0.5 % of 600 is 3 with a standard deviation of 1.7; four of those are allowed for.
    assert found <= 10


def test_the_error_of_a_ratio_is_that_of_its_median():
    errors, logs = zip(
        *((one.error, math.log(one.ratio)) for one in (turns(0.0, 0.1) for _ in range(400))),
        strict=True,
    )
    assert np.mean(errors) == pytest.approx(np.std(logs), rel=0.15)
    assert Round((1.0,) * 4, (1.0,) * 4, in_turns=True).error is None
    apart = Round(tuple(np.exp(draw.normal(0, 0.1, 30))), tuple(np.exp(draw.normal(0, 0.1, 30))))
    assert apart.error == pytest.approx(math.sqrt(2) * np.mean(errors), rel=0.5)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (Round((math.nan,), (1.0,)), "got nan among steady_seconds"),
        (Round((1.0,), (0.0,)), "got 0.0 among steady_seconds"),
        (Round((1.0,), (math.inf,)), "got inf among"),
        (Round((1.0, 2.0), (1.0,), in_turns=True), "got 2 and 1 samples"),
        (Round((), (1.0,)), "got 0 and 1 samples"),
    ],
)
def test_times_that_are_none_are_refused(one, message):
    with pytest.raises(JaxmeterError, match=message):
        compare_times({"steady_seconds": [one, one]})


@pytest.mark.parametrize(
    "fields",
    [
        {"minimum_effect": -0.1},
        {"minimum_effect": math.nan},
        {"significance": 0.0},
        {"trimmed_share": -0.1},
        {"trimmed_share": 0.26},
        {"trimmed_share": math.nan},
        {"trimmed_share": False},
        {"trimmed_share": "0.1"},
        {"minimum_effect": None},
    ],
)
def test_rules_that_are_none_are_refused(fields):
    with pytest.raises(JaxmeterError, match="Rule: got"):
        Rule(**fields)
