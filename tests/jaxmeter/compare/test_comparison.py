"""The verdict on two functions from their measurements, and its text."""

import dataclasses

import numpy as np
import pytest

from jaxmeter import (
    ComparedProcess,
    Comparison,
    Constants,
    Criteria,
    Failure,
    JaxmeterError,
    Memory,
    Phases,
    Program,
    Record,
    compare_processes,
    compare_records,
    compare_times,
    host_environment,
    markdown,
    seconds_text,
    table,
)
from jaxmeter._compare.exact import compare_answers, compare_exact
from jaxmeter._records.comparison import Answers
from jaxmeter._render.comparison import comparison_sheet
from tests.jaxmeter.compare.draws import draw, rounds

pytestmark = pytest.mark.usefixtures("same_draws")


def record(seconds=1.0, *, name="step", jax="0.10.2", fingerprint="f", captured=0, temp=8):
    return Record(
        name,
        "ok",
        samples_seconds=tuple(seconds * draw.normal(1.0, 0.004, 5)),
        phases=Phases(None, None, seconds * draw.normal(3.0, 0.01)),
        constants=Constants(captured_bytes=captured),
        program=Program(flops=2.0, hlo_fingerprint=fingerprint),
        memory=Memory(temp_bytes=temp, peak_rss_bytes=int(draw.integers(10**9))),
        environment=dataclasses.replace(host_environment(), jax=jax),
    )


def test_records_of_two_versions_are_compared_round_by_round():
    machine = draw.uniform(1.0, 5.0, 8)  # how slow the machine is in each round
    before = [record(slow) for slow in machine]
    now = [record(1.2 * slow, captured=4096) for slow in machine]
    exact, timings = compare_records(before, now)
    assert {one.quantity for one in exact if one.verdict == "different"} == {
        "constants.captured_bytes"
    }
    assert {one.quantity: one.verdict for one in timings} == {
        "steady_seconds": "different",
        "compile_seconds": "different",
    }
    assert timings[0].low < 1.2 < timings[0].high
    assert not any(one.verdict == "different" for one in compare_records(before, before)[1])


def test_programs_of_two_versions_of_jax_are_not_compared():
    exact, timings = compare_records([record()] * 3, [record(jax="0.12.0", temp=9)] * 3)
    assert exact == () and timings


@pytest.mark.parametrize(
    ("a", "b", "verdict", "reason"),
    [
        ("fgf", "ggg", "inconclusive", "varies from process to process"),
        ("fgf", "hhh", "different", "is never the same"),
        ("fgh", "ijk", "inconclusive", "varies from process to process"),
        ("fgh", "fgh", "same", "equal in each process, but varies from process to process"),
    ],
)
def test_a_quantity_that_varies_between_processes_differs_only_if_it_is_never_the_same(
    a, b, verdict, reason
):
    sides = ([record(fingerprint=text) for text in texts] for texts in (a, b))
    (found,) = (one for one in compare_exact(*sides) if one.quantity.endswith("hlo_fingerprint"))
    assert found.verdict == verdict and reason in found.reason
    assert found.a == tuple(dict.fromkeys(a))


def test_quantities_that_were_not_measured_are_left_out():
    quantities = {one.quantity for one in compare_exact([record()], [record()])}
    assert "program.flops" in quantities and "program.fusions_count" not in quantities


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([], [], "got 0 records of the first side and 0 records of the second"),
        ([record()], [record()] * 2, "got 1 records of the first side and 2 records of the second"),
        ([Record("x", "timeout")], [record()], "a record of x with status 'timeout'"),
    ],
)
def test_records_that_form_no_rounds_are_refused(a, b, message):
    with pytest.raises(JaxmeterError, match=message):
        compare_records(a, b)


def answered(a="f", b="f", apart: float | None = 0.0, not_finite=0):
    return Answers(a, b, apart, 2.0, not_finite, 0, 10)


def compared(slower=1.0, *, scatter=0.005, count=6, answers=None, **fields):
    """Return a comparison of `count` processes with phases that scatter."""
    processes = []
    for number in range(count):
        first, second = compiled(1.0, scatter), compiled(slower, scatter)
        sides = record(name="m:a"), record(slower, name="m:b", **fields)
        swapped = number % 2 == 1
        processes.append(ComparedProcess(*sides, first, second, swapped, answers))
        assert processes[-1] == ComparedProcess.from_json(processes[-1].to_json()), number
    return compare_processes(tuple(processes))


def test_a_comparison_survives_json_and_can_be_judged_again():
    found = compared(1.1)
    assert Comparison.from_json(found.to_json()) == found
    assert found.verdict == "different"
    assert {one.quantity for one in found.differences} == {
        *("steady_seconds", "trace_seconds", "lower_seconds", "compile_seconds")
    }
    assert compare_processes(found.processes, Criteria(minimum_effect=0.5)).verdict == "same"


def test_a_comparison_shows_its_differences_first_and_both_values_in_rows():
    text = table(compared(1.1, captured=4096))
    assert text.startswith("a -> b: different in captured bytes, steady-state call +")
    assert "  captured bytes  0 B  4096 B  different  not equal" in text
    found = markdown(compared(1.1, captured=4096))
    assert "| captured bytes | 0 B | 4096 B | different | not equal |" in found
    assert table(compared()).startswith("a -> b: the same within the precision of the measurement")


def test_phases_that_scatter_do_not_keep_equal_functions_from_being_the_same():
    found = compared(scatter=0.3)
    verdicts = {one.quantity: one.verdict for one in found.timings}
    assert verdicts["steady_seconds"] == "same" and "inconclusive" in verdicts.values()
    assert found.verdict == "same"
    assert "trace, lower, compile do not decide" in table(found)
    # A phase that differs decides.
    slower = [dataclasses.replace(p, b_compiles=compiled(1.5)) for p in compared().processes]
    assert compare_processes(tuple(slower)).verdict == "different"


def compiled(factor, scatter=0.005):
    return tuple(Phases(*(factor * np.exp(draw.normal(0.0, scatter, 3)))) for _ in range(3))


def test_answers_decide_and_are_shown():
    same = compared(answers=answered())
    assert same.verdict == "same"
    assert "including the answers, bit by bit" in table(same)
    other = compared(answers=answered(b="g", apart=0.5))
    assert table(other).startswith("a -> b: different in answers")
    assert "up to 0.5 apart, 0.2 of the largest number" in table(other)
    assert "tree, shape or dtype differs" in table(compared(answers=answered(b="g", apart=None)))


def test_answers_that_vary_by_themselves_are_inconclusive():
    varying = [answered(f"f{n}", f"g{n}", 0.1) for n in range(6)]
    (found,) = compare_answers(varying)
    assert found.verdict == "inconclusive"
    assert compare_answers([*varying, None]) == compare_answers([]) == ()


def test_answers_with_nan_are_mentioned():
    text = table(compared(answers=answered(not_finite=3)))
    assert "the answer of a has 3 NaN or infinite numbers" in text
    assert "answer of b" not in text


def test_the_shown_time_of_the_second_function_follows_from_the_ratio():
    # The medians over the processes are 2.0 and 1.5, as if the second function were faster.
    samples = [((1.0,), (1.1,)), ((2.0,), (2.2,)), ((2.0,), (1.5,))]
    processes = tuple(
        dataclasses.replace(
            process,
            a=dataclasses.replace(process.a, samples_seconds=a * 5),
            b=dataclasses.replace(process.b, samples_seconds=b * 5),
        )
        for process, (a, b) in zip(compared(count=3).processes, samples, strict=True)
    )
    found = compare_processes(processes)
    cells = comparison_sheet(found).tables[1].rows[0].cells
    assert cells[:3] == ("steady-state call", "2 s", seconds_text(2 * found.timings[0].ratio))


def test_few_processes_give_a_warning_and_wide_intervals_are_shortened():
    text = table(compared(8.4, scatter=2.0, count=2))
    assert "fewer than 4 processes find only large differences in times" in text
    assert "x8.4" in text and "any to any" in text
    assert not any(len(word) > 12 and word.strip("+-.%").isdigit() for word in text.split())
    assert "fewer than" not in table(compared())
    assert "x120 " in table(compared(120.0))


def test_times_of_any_name_are_shown():
    timings = compare_times({"odd_seconds": rounds([0.1] * 6)})
    text = table(dataclasses.replace(compared(), timings=timings))
    assert text.startswith("a -> b: different in odd seconds +10.5 %")


def test_a_failure_is_shown_and_nothing_is_compared():
    failure = Failure("trace", "ZeroDivisionError", "on purpose")
    bad = dataclasses.replace(record(name="m:b"), status="failed", failure=failure)
    found = compare_processes((ComparedProcess(record(name="m:a"), bad),))
    assert (found.verdict, found.exact, found.timings) == ("failed", (), ())
    assert found.failures == (bad,)
    assert "ZeroDivisionError: on purpose" in table(found)


def test_phases_that_no_process_compiled_are_left_out():
    processes = [
        dataclasses.replace(process, a_compiles=(), b_compiles=())
        for process in compared().processes
    ]
    assert [one.quantity for one in compare_processes(processes).timings] == ["steady_seconds"]
