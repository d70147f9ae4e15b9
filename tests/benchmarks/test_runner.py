"""Measuring a plan: resume, repeat failures, budget, and the imports of workers."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest

from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.progress import Progress
from benchmarks.measuring.runner import Workers, measure_plan
from benchmarks.measuring.store import RecordStore
from jaxmeter import Failure, Record

CASES = [
    PlannedCase(name=f"suite/{name}", target="module:function", params={"name": name}, rounds=2)
    for name in "ab"
]


class Worker:
    """Stand in for jaxmeter.run_case: collect its calls; fail or be interrupted on request."""

    def __init__(self, *, status: Any = "ok", interrupt_at=None):
        self.calls, self.status, self.interrupt_at = [], status, interrupt_at

    def __call__(self, case):
        if len(self.calls) == self.interrupt_at:
            raise KeyboardInterrupt
        self.calls.append(case.name)
        failure = None if self.status == "ok" else Failure("compile", "Timeout", "too slow")
        return Record(
            name=case.name,
            status=self.status,
            target=case.target,
            params=case.params,
            failure=failure,
            samples_seconds=(1.0, 2.0, 3.0),
        )


@pytest.fixture
def measure(tmp_path):
    def run(worker, **options):
        return measure_plan(CASES, RecordStore(tmp_path / "records"), run_case=worker, **options)

    return run


def test_every_round_of_every_case_is_measured_once(measure):
    worker = Worker()
    records = measure(worker)
    assert worker.calls == ["suite/a", "suite/b", "suite/b", "suite/a"]
    assert [record.status for record in records["suite/a"]] == ["ok", "ok"]


def test_an_interrupted_plan_resumes_where_it_stopped(measure):
    with pytest.raises(KeyboardInterrupt):
        measure(Worker(interrupt_at=3))
    rest = Worker()
    assert len(measure(rest)["suite/a"]) == 2
    assert rest.calls == ["suite/a"]
    assert not measure(nothing := Worker()) == {}
    assert nothing.calls == []


def test_a_failed_case_is_measured_again_by_the_next_run(measure, capsys):
    assert {record.status for record in measure(Worker(status="timeout"))["suite/a"]} == {"timeout"}
    assert "suite/a, process 1: timeout: too slow" in capsys.readouterr().out
    again = Worker()
    assert measure(again)["suite/a"][0].status == "ok"
    assert len(again.calls) == 4


def test_beyond_the_budget_only_first_rounds_start(measure):
    seconds = itertools.count(0.0, 100.0)
    worker = Worker()
    records = measure(worker, budget_seconds=50.0, clock=lambda: next(seconds))
    assert worker.calls == ["suite/a", "suite/b"]
    assert len(records["suite/b"]) == 1


def test_each_round_is_noted_when_it_begins_and_ends_and_a_kept_one_when_it_ends(measure):
    events = []

    class Noted(Progress):
        def begin(self, case, round_index):
            events.append((case, round_index))

    for _ in range(2):
        measure(Worker(), progress=Noted(4, events.append))
    assert events[:3] == [("suite/a", 0), "[1/4] suite/a, process 1: ok", ("suite/b", 0)]
    assert [event for event in events if event[-4:] == "kept"] == events[9:13]
    assert len(events) == 8 + 1 + 4 + 1


def test_workers_can_import_the_suites_and_nothing_else_of_the_checkout(tmp_path):
    made = Workers(RecordStore(tmp_path / "records"), tmp_path, Worker()).worker_case(CASES[0])
    (imports,) = (Path(entry) for entry in made.path)
    assert [entry.name for entry in imports.iterdir()] == ["benchmarks"]
    assert (imports / "benchmarks" / "cases" / "field.py").is_file()
    assert made.env["JAX_ENABLE_X64"] == "1"
    assert made.env["JAX_ENABLE_COMPILATION_CACHE"] == "false"
    assert made.cpus is None


def test_a_case_for_one_cpu_is_bound_to_one(tmp_path):
    case = PlannedCase(name="n", target="m:f", params={}, rounds=1, one_cpu=True)
    cpus = Workers(RecordStore(tmp_path / "records"), tmp_path, Worker()).worker_case(case).cpus
    assert cpus is None or len(cpus) == 1


def test_a_case_that_requires_a_missing_package_is_skipped_with_the_reason(tmp_path):
    case = PlannedCase(
        name="s/a", target="m:f", params={}, rounds=1, requires={"no_such_module": "no-such"}
    )
    worker = Worker()
    store = RecordStore(tmp_path / "records")
    (record,) = measure_plan([case], store, run_case=worker)["s/a"]
    assert worker.calls == []
    assert record.status == "skipped" and record.failure is not None
    assert "pip install no-such" in record.failure.message
    assert store.read(case, 0) == record


PREPARED = [
    dataclasses.replace(case, preparation=dataclasses.replace(CASES[0], name="preparation/p"))
    for case in CASES
]


def test_a_shared_preparation_runs_once_and_only_if_a_round_is_missing(tmp_path):
    store = RecordStore(tmp_path / "records")
    worker = Worker()
    measure_plan(PREPARED, store, run_case=worker)
    assert worker.calls == ["preparation/p", "suite/a", "suite/b", "suite/b", "suite/a"]
    measure_plan(PREPARED, store, run_case=(nothing := Worker()))
    assert nothing.calls == []
    store.path(PREPARED[0], 1).unlink()
    measure_plan(PREPARED, store, run_case=(rest := Worker()))
    assert rest.calls == ["preparation/p", "suite/a"]


def test_a_failed_preparation_fails_the_cases_that_need_it_with_its_reason(tmp_path):
    worker = Worker(status="failed")
    store = RecordStore(tmp_path / "records")
    records = measure_plan(PREPARED, store, run_case=worker)
    assert worker.calls == ["preparation/p"]
    failures = {record.failure for found in records.values() for record in found}
    assert failures == {Failure("compile", "Timeout", "too slow")}
