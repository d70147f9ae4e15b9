"""Bisection finds the commit of a change in few steps, skips unmeasurable commits, and resumes."""

import dataclasses
import math
from functools import partial

import pytest

from benchmarks.measuring import bisect, checkout
from benchmarks.measuring.checkout import CheckoutError
from benchmarks.measuring.store import RecordStore
from jaxmeter import Failure, Memory, Record
from reports import quantities
from tests.benchmarks.common import Worker, planned, unpacked, write_record


@pytest.mark.parametrize("changed_at", [1, 37, 64, 99])
def test_the_first_changed_commit_is_found_in_log2_steps(changed_at):
    asked = []

    def value(commit):
        asked.append(commit)
        return 2.0 if int(commit) >= changed_at else 1.0

    commits = [str(i) for i in range(100)]
    assert bisect.first_change(commits, value) == (changed_at - 1, changed_at)
    assert len(asked) <= 2 + math.ceil(math.log2(100))


def test_a_base_on_another_branch_is_refused_with_a_commit_of_the_branch_of_head(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    git = partial(checkout.git, "-c", "user.name=a", "-c", "user.email=a@b.c")
    git("init", "--initial-branch", "main")
    git("commit", "--allow-empty", "-m", "root")
    git("branch", "other")
    for branch in ("main", "main", "other"):
        git("checkout", branch)
        git("commit", "--allow-empty", "-m", branch)
    root = checkout.commit_named("main~2")
    names = ("main~2", "main~1", "main")
    assert bisect.commits_between(names[0], "main") == list(map(checkout.commit_named, names))
    with pytest.raises(CheckoutError, match=f"another branch .*; give BASE={root[:10]}"):
        bisect.commits_between("other", "main")


def test_commits_that_cannot_be_measured_are_skipped_and_stay_in_the_found_range():
    values = [1.0, 1.0, None, None, 2.0, 2.0]
    found = bisect.first_change([str(i) for i in range(6)], lambda commit: values[int(commit)])
    assert found == (1, 4)


def test_a_change_from_nan_to_a_number_is_found():
    values = [math.nan] * 6 + [1e-5] * 2
    found = bisect.first_change([str(i) for i in range(8)], lambda commit: values[int(commit)])
    assert found == (5, 6)


@pytest.mark.parametrize(
    "values, said",
    [
        ([1.0, 1.0], "same value"),
        ([math.nan, float("nan")], "same value"),
        ([1.0, None], "no value"),
    ],
)
def test_a_search_without_a_change_or_without_a_value_is_refused(values, said):
    with pytest.raises(CheckoutError, match=said):
        bisect.first_change(["0", "1"], lambda commit: values[int(commit)])


def test_errors_that_differ_by_up_to_a_quarter_and_equal_counts_are_the_same():
    assert bisect.is_same(1e-5, 1.2e-5) and not bisect.is_same(1e-5, 1.3e-5)
    assert not bisect.is_same(100.0, 101.0) and not bisect.is_same(0.0, 8.0)
    assert not bisect.is_same(math.nan, 1e-5) and not bisect.is_same(1e-5, math.nan)
    assert bisect.is_same("WrongAnswer", "WrongAnswer") and not bisect.is_same("WrongAnswer", 1.0)


def test_errors_below_the_rounding_of_a_review_are_the_same():
    assert bisect.ROUNDING == quantities.ROUNDING
    assert bisect.is_same(1e-15, 3e-15) and bisect.is_same(0.0, 1e-15)
    assert not bisect.is_same(1e-15, 2e-13)


def test_a_wrong_answer_is_a_value_and_a_missing_function_has_no_value():
    record = Record("a", "ok", memory=Memory(temp_bytes=8), checks={"error_relative": 1e-3})
    assert bisect.value_in(record, "temp_bytes") == 8.0
    assert bisect.value_in(record, "error_relative") == 1e-3
    assert bisect.value_in(record, "nothing") is None
    for kind, value in (("WrongAnswer", "WrongAnswer"), ("ImportError", None)):
        failed = dataclasses.replace(record, status="failed", failure=Failure("run", kind, ""))
        assert bisect.value_in(failed, "temp_bytes") == value


CASE = planned("suite/a")


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Return the worker of a bisection of `CASE`, with a store and code in a temporary folder."""
    worker = Worker()
    monkeypatch.setattr(bisect, "STORE", tmp_path / "store")
    monkeypatch.setattr(bisect, "ROOT", tmp_path)
    monkeypatch.setattr(bisect, "unpacked_package", unpacked)
    monkeypatch.setattr(bisect, "planned_cases", lambda grid: {CASE.name: CASE})
    monkeypatch.setattr(bisect.jaxmeter, "run_case", worker)
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "code.py").write_text("1")
    return worker


@pytest.mark.parametrize(
    ("kind", "is_repeated"), [(None, False), ("WrongAnswer", False), ("Timeout", True)]
)
def test_a_kept_record_is_measured_again_only_if_it_failed_and_has_no_value(
    kind, is_repeated, worker, tmp_path, monkeypatch
):
    monkeypatch.setattr(bisect, "code_digest", lambda *folders: "digest")
    failure = None if kind is None else Failure("run", kind, "")
    store = RecordStore(tmp_path / "store" / "digest")
    write_record(store, CASE, status="failed" if failure else "ok", failure=failure)
    found = bisect.measured("c", CASE.name)
    assert len(worker.calls) == is_repeated
    assert found.status == ("failed" if kind == "WrongAnswer" else "ok")


def test_a_kept_record_is_used_only_for_the_same_code_and_the_same_settings(
    worker, tmp_path, monkeypatch
):
    def measurements_count(commit):
        bisect.measured(commit, CASE.name)
        return len(worker.calls)

    assert [measurements_count("c"), measurements_count("c"), measurements_count("d")] == [1, 1, 2]
    monkeypatch.setenv("XLA_SETTING", "64")
    assert measurements_count("c") == 3
    monkeypatch.delenv("XLA_SETTING")
    assert measurements_count("c") == 3
    (tmp_path / "benchmarks" / "code.py").write_text("2")
    assert measurements_count("c") == 4


@pytest.mark.parametrize("metric", ["peak_rss_bytes", "prepare_compile_seconds", "cpu_per_wall"])
def test_metrics_that_differ_between_equal_runs_are_refused(metric, capsys):
    assert bisect.main([metric, "operations/external_field", "HEAD"]) == 2
    assert "give an exact metric" in capsys.readouterr().err


@pytest.mark.parametrize("given", [("", ""), ("temp_bytes", ""), ("", CASE.name)])
def test_a_missing_metric_or_case_is_refused_before_measuring(given, capsys):
    assert bisect.main([*given, "HEAD~1"]) == 2
    assert "give both, such as METRIC=temp_bytes" in capsys.readouterr().err
