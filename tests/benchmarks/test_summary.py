"""Summaries: one sample for each process, exact metrics, and failures with their reason."""

import math

import pytest

from benchmarks.summary import summarise
from jaxmeter import Constants, Failure, Memory, Phases, Record


def record(samples, *, captured=8, error=1e-7, **fields):
    defaults = dict(
        name="case",
        status="ok",
        phases=Phases(trace_seconds=0.25, lower_seconds=0.5, compile_seconds=1.0),
        samples_seconds=samples,
        constants=Constants(captured_bytes=captured, embedded_bytes=16),
        memory=Memory(temp_bytes=32),
        checks={"error_relative": error, "evaluation_seconds": samples[0] if samples else 0.0},
        extras={"prepare_seconds": 3.0},
    )
    return Record(**{**defaults, **fields})


def test_a_time_has_one_sample_for_each_process():
    times = summarise([record((1.0, 2.0, 9.0)), record((4.0, 5.0, 5.0))])["times"]
    assert times["steady_median_seconds"] == [2.0, 5.0]
    assert times["steady_std_seconds"] == pytest.approx([19**0.5, 3**-0.5])
    assert times["compile_seconds"] == [1.0, 1.0]
    assert times["trace_lower_compile_seconds"] == [1.75, 1.75]
    assert times["prepare_seconds"] == [3.0, 3.0]
    assert times["evaluation_seconds"] == [1.0, 4.0]


def test_the_numbers_are_the_bytes_and_the_largest_error_of_all_processes():
    numbers = summarise([record((1.0,), error=1e-7), record((1.0,), error=2e-7)])["numbers"]
    assert numbers == {
        "captured_bytes": 8,
        "embedded_bytes": 16,
        "temp_bytes": 32,
        "error_relative": 2e-7,
    }


def test_an_error_that_is_nan_in_one_process_stays_nan():
    records = [record((1.0,), error=error) for error in (1e-7, float("nan"), 2e-7)]
    assert math.isnan(summarise(records)["numbers"]["error_relative"])


def test_an_exact_metric_that_differs_between_processes_fails_the_case():
    summary = summarise([record((1.0,), captured=8), record((1.0,), captured=9)])
    assert summary["status"] == "failed"
    assert "captured_bytes differs" in summary["message"]


def test_one_failed_process_fails_the_case_with_its_reason():
    failed = record((), status="failed", failure=Failure("check", "WrongAnswer", "off by 1"))
    summary = summarise([record((1.0,)), failed])
    assert summary["status"] == "failed"
    assert summary["message"] == "check: WrongAnswer: off by 1"


def test_without_a_record_a_case_has_failed():
    assert summarise([])["status"] == "failed"


def test_a_sum_without_one_of_its_phases_is_missing():
    summary = summarise([record((1.0,), phases=Phases(compile_seconds=1.0))])
    assert summary["times"]["compile_seconds"] == [1.0]
    assert "trace_lower_compile_seconds" not in summary["times"]


def test_each_phase_has_its_least_seconds_if_there_are_several_compiles():
    again = (Phases(1.0, 1.0, 0.5), Phases(0.0, 1.0, 1.0))
    times = summarise([record((1.0,), recompiles=again)])["times"]
    assert times["compile_seconds"] == [0.5]
    assert times["trace_lower_compile_seconds"] == [0.0 + 0.5 + 0.5]
