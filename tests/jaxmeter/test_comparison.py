"""The verdict on two functions from what was measured: exact quantities, and times by processes."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from jaxmeter import Comparison, JaxmeterError, Record, Rule, compare_records, markdown, table
from jaxmeter.answers_record import Answers
from jaxmeter.comparing import judge
from jaxmeter.comparison import compare_pair, compare_times
from jaxmeter.comparison_record import ComparedProcess
from jaxmeter.comparison_text import comparison_sheet
from jaxmeter.exactness import compare_answers, compare_exact
from jaxmeter.record import Constants, Environment, Failure, Memory, Phases, Program
from jaxmeter.rounds import TIMES, Ratio, Round, phase_rounds
from jaxmeter.student import two_sided_p, two_sided_t
from jaxmeter.units import seconds_text

draw = np.random.default_rng(4)


@pytest.fixture(autouse=True)
def same_draws():
    """Each test draws the same, in whatever order they run."""
    draw.bit_generator.state = np.random.default_rng(4).bit_generator.state


def rounds(logs):
    return [Round((1.0,), (math.exp(log),)) for log in logs]


def verdict(logs, **rule):
    (timing,) = compare_times({"settled_seconds": rounds(logs)}, Rule(**rule))
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
    assert verdict([0.5, -0.5, 0.4, -0.3, 0.1, 0.2]) == "unclear"
    assert verdict([0.1, 0.11, 0.09, 0.1, 0.1, 0.1]) == "different"
    assert verdict([0.1]) == "unclear"
    assert verdict([0.1, 0.1, 0.1]) == "different"
    assert verdict([0.0, 0.0, 0.0]) == "same"


def test_a_small_effect_is_the_same_only_if_no_larger_one_is_possible():
    # Far from 0 for its scatter, yet the interval reaches beyond 3 %.
    logs = [0.012, 0.028, 0.013, 0.027, 0.02, 0.02]
    (timing,) = compare_times({"settled_seconds": rounds(logs)})
    assert timing.low > 1.0 and timing.high > 1.03
    assert (timing.verdict, timing.reason) == (
        "unclear",
        "not by chance, perhaps by more than 3 %",
    )


def test_an_interval_may_be_too_wide_for_a_float():
    (timing,) = compare_times({"settled_seconds": rounds([8.0, -8.0])})
    assert (timing.low, timing.high, timing.verdict) == (0.0, math.inf, "unclear")


def test_intervals_of_a_pair_leave_1_out_where_its_tests_do():
    for scale in draw.uniform(0.5, 3.0, 100):
        told = {name: rounds(draw.normal(0.02 * scale, 0.02, 6)) for name in TIMES}
        for one in compare_pair(told):
            assert (not one.low < 1.0 < one.high) == (one.p_value <= Rule().significance)


def test_a_time_has_its_share_of_the_significance_though_it_be_alone():
    logs = draw.normal(0.05, 0.02, 6)
    (alone,) = compare_pair({"settled_seconds": rounds(logs)})
    first, *_ = compare_pair({name: rounds(logs) for name in TIMES})
    assert alone == first
    (uncorrected,) = compare_times({"settled_seconds": rounds(logs)})
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
        told = {"settled_seconds": rounds(draw.normal(0.0, 0.01, processes))}
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
    one = compare_times({"settled_seconds": [*calm, turns(-0.3, 1.0)]})[0]
    assert one.verdict == "different" and one.ratio == pytest.approx(1.1, abs=0.01)
    # Were it calm itself, it would be believed.
    assert compare_times({"settled_seconds": [*calm, turns(-0.3, 0.01)]})[0].verdict == "unclear"


def test_disturbed_processes_raise_no_false_alarms():
    found = 0
    for _ in range(600):
        scatters = draw.choice([0.02, 0.2, 2.0], size=6)  # of turns; errors of 0.5 % to 46 %
        rounds = [turns(draw.normal(0.0, 0.01), scatter) for scatter in scatters]
        timings = compare_times({"settled_seconds": rounds}, Rule(minimum_effect=0.0))
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
        (Round((math.nan,), (1.0,)), "got nan among settled_seconds"),
        (Round((1.0,), (0.0,)), "got 0.0 among settled_seconds"),
        (Round((1.0,), (math.inf,)), "got inf among"),
        (Round((1.0, 2.0), (1.0,), in_turns=True), "got 2 and 1 samples"),
        (Round((), (1.0,)), "got 0 and 1 samples"),
    ],
)
def test_times_that_are_none_are_refused(one, message):
    with pytest.raises(JaxmeterError, match=message):
        compare_times({"settled_seconds": [one, one]})


@pytest.mark.parametrize(
    "fields", [{"minimum_effect": -0.1}, {"minimum_effect": math.nan}, {"significance": 0.0}]
)
def test_rules_that_are_none_are_refused(fields):
    with pytest.raises(JaxmeterError, match="Rule: got"):
        Rule(**fields)


ENVIRONMENT = Environment(
    *("3.11", "0.10.2", None, None, "0", "", "", None, None, None, "cpu", "cpu", 1, "", "")
)


def record(seconds=1.0, *, name="step", jax="0.10.2", fingerprint="f", captured=0, temp=8):
    return Record(
        name,
        "ok",
        samples_seconds=tuple(seconds * draw.normal(1.0, 0.004, 5)),
        phases=Phases(None, None, seconds * draw.normal(3.0, 0.01)),
        constants=Constants(captured_bytes=captured),
        program=Program(flops=2.0, hlo_fingerprint=fingerprint),
        memory=Memory(temp_bytes=temp, peak_rss_bytes=int(draw.integers(10**9))),
        environment=dataclasses.replace(ENVIRONMENT, jax=jax),
    )


def test_records_of_two_versions_are_compared_round_by_round():
    machine = draw.uniform(1.0, 5.0, 8)  # as slow as it is in each round
    before = [record(slow) for slow in machine]
    now = [record(1.2 * slow, captured=4096) for slow in machine]
    exact, timings = compare_records(before, now)
    assert {one.quantity for one in exact if one.verdict == "different"} == {
        "constants.captured_bytes"
    }
    assert {one.quantity: one.verdict for one in timings} == {
        "settled_seconds": "different",
        "compile_seconds": "different",
    }
    assert timings[0].low < 1.2 < timings[0].high
    assert not any(one.verdict == "different" for one in compare_records(before, before)[1])


def test_programs_of_two_versions_of_jax_are_not_compared():
    exact, timings = compare_records([record()] * 3, [record(jax="0.12.0", temp=9)] * 3)
    assert exact == () and timings


def test_what_varies_from_process_to_process_is_no_difference():
    varying = [record(fingerprint=text) for text in "fgf"]
    found = {one.quantity: one for one in compare_exact(varying, [record(fingerprint="g")] * 3)}
    assert found["program.hlo_fingerprint"].verdict == "unclear"
    assert found["program.hlo_fingerprint"].a == ("f", "g")
    (other,) = (
        one
        for one in compare_exact(varying, [record(fingerprint="h")] * 3)
        if one.verdict == "different"
    )
    assert "never is the same" in other.reason


def test_what_is_never_the_same_twice_is_not_different_from_itself():
    a, b = ([record(fingerprint=text) for text in texts] for texts in ("fgh", "ijk"))
    (told,) = (one for one in compare_exact(a, b) if one.quantity.endswith("hlo_fingerprint"))
    assert told.verdict == "unclear"
    (same,) = (one for one in compare_exact(a, a) if one.quantity.endswith("hlo_fingerprint"))
    assert (same.verdict, same.reason) == ("same", "equal in each process, though it varies")


def test_quantities_that_are_not_known_of_both_are_left_out():
    quantities = {one.quantity for one in compare_exact([record()], [record()])}
    assert "program.flops" in quantities and "program.fusions_count" not in quantities


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([], [], "got 0 and 0 records"),
        ([record()], [record()] * 2, "got 1 and 2 records"),
        ([Record("x", "timeout")], [record()], "a record of x with status 'timeout'"),
    ],
)
def test_records_that_make_no_rounds_are_refused(a, b, message):
    with pytest.raises(JaxmeterError, match=message):
        compare_records(a, b)


def answered(a="f", b="f", apart: float | None = 0.0, not_finite=0):
    return Answers(a, b, apart, 2.0, not_finite, 0, 10)


def compared(slower=1.0, *, scatter=0.005, count=6, answers=None, **fields):
    """A comparison as of six processes, whose phases scatter."""
    processes = []
    for number in range(count):
        first, second = (
            tuple(Phases(*(factor * np.exp(draw.normal(0.0, scatter, 3)))) for _ in range(3))
            for factor in (1.0, slower)
        )
        sides = record(name="m:a"), record(slower, name="m:b", **fields)
        swapped = number % 2 == 1
        processes.append(ComparedProcess(*sides, first, second, swapped, answers))
        assert processes[-1] == ComparedProcess.from_json(processes[-1].to_json()), number
    return judge(tuple(processes))


def test_a_comparison_survives_json_and_can_be_judged_anew():
    found = compared(1.1)
    assert Comparison.from_json(found.to_json()) == found
    assert found.verdict == "different"
    assert {one.quantity for one in found.differences} == {
        *("settled_seconds", "trace_seconds", "lower_seconds", "compile_seconds")
    }
    assert judge(found.processes, Rule(minimum_effect=0.5)).verdict == "same"


def test_a_comparison_reads_well():
    text = table(compared(1.1, captured=4096))
    assert text.startswith("a -> b: different in captured bytes, settled call +")
    assert "    captured bytes  0 B  4096 B  different  not equal" in text
    told = markdown(compared(1.1, captured=4096))
    assert "| captured bytes | 0 B | 4096 B | different | not equal |" in told
    assert table(compared()).startswith("a -> b: the same to the meter")


def test_phases_that_scatter_do_not_keep_equal_functions_from_being_the_same():
    found = compared(scatter=0.3)
    verdicts = {one.quantity: one.verdict for one in found.timings}
    assert verdicts["settled_seconds"] == "same" and "unclear" in verdicts.values()
    assert found.verdict == "same"
    assert "trace, lower, compile do not decide" in table(found)
    # Yet they speak where they differ.
    slower = [dataclasses.replace(p, b_compiles=compiled(1.5)) for p in compared().processes]
    assert judge(tuple(slower)).verdict == "different"


def compiled(factor):
    return tuple(Phases(*(factor * np.exp(draw.normal(0.0, 0.005, 3)))) for _ in range(3))


def test_answers_decide_and_are_told():
    same = compared(answers=answered())
    assert same.verdict == "same"
    assert "among them the answers, bit by bit" in table(same)
    other = compared(answers=answered(b="g", apart=0.5))
    assert table(other).startswith("a -> b: different in answers")
    assert "up to 0.5 apart, 0.2 of the largest" in table(other)
    assert "of another tree, shape or dtype" in table(compared(answers=answered(b="g", apart=None)))


def test_answers_that_vary_by_themselves_are_unclear():
    varying = [answered(f"f{n}", f"g{n}", 0.1) for n in range(6)]
    (told,) = compare_answers(varying)
    assert told.verdict == "unclear"
    assert compare_answers([*varying, None]) == compare_answers([]) == ()


def test_answers_that_are_no_numbers_are_mentioned():
    text = table(compared(answers=answered(not_finite=3)))
    assert "the answer of a has 3 numbers that are NaN or infinite" in text
    assert "answer of b" not in text


def test_the_times_of_the_second_follow_from_the_ratio():
    # Medians of each function over the processes would be 2.0 and 1.5: the second the faster.
    samples = [((1.0,), (1.1,)), ((2.0,), (2.2,)), ((2.0,), (1.5,))]
    processes = tuple(
        dataclasses.replace(
            process,
            a=dataclasses.replace(process.a, samples_seconds=a * 5),
            b=dataclasses.replace(process.b, samples_seconds=b * 5),
        )
        for process, (a, b) in zip(compared(count=3).processes, samples, strict=True)
    )
    found = judge(processes)
    row = comparison_sheet(found).tables[1].rows[0]
    assert row[:3] == ("settled call", "2 s", seconds_text(2 * found.timings[0].ratio))


def test_few_processes_are_warned_of_and_wide_intervals_are_not_spelled_out():
    text = table(compared(8.4, scatter=2.0, count=2))
    assert "fewer than 4 processes find no difference of times but large ones" in text
    assert "x8.4" in text and "any to any" in text
    assert not any(len(word) > 12 and word.strip("+-.%").isdigit() for word in text.split())
    assert "fewer than" not in table(compared())
    assert "x120 " in table(compared(120.0))


def test_times_of_any_name_are_shown():
    timings = compare_times({"odd_seconds": rounds([0.1] * 6)})
    text = table(dataclasses.replace(compared(), timings=timings))
    assert text.startswith("a -> b: different in odd seconds +10.5 %")


def test_a_failure_is_told_and_nothing_compared():
    failure = Failure("trace", "ZeroDivisionError", "on purpose")
    bad = dataclasses.replace(record(name="m:b"), status="failed", failure=failure)
    found = judge((ComparedProcess(record(name="m:a"), bad),))
    assert (found.verdict, found.exact, found.timings) == ("failed", (), ())
    assert found.failures == (bad,)
    assert "ZeroDivisionError: on purpose" in table(found)


def test_phases_of_compiles_that_were_not_made_are_left_out():
    assert compare_times(phase_rounds([((), ())])) == ()
