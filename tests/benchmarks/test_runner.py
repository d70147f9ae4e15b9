"""Measuring a plan: resume, retry, budget, and what workers may import."""

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.runner import Progress, Workers, measure_plan
from benchmarks.measuring.store import RecordStore
from jaxmeter import Failure, Record

CELLS = [
    PlannedCase(name=f"suite/{name}", target="module:function", params={"name": name}, rounds=2)
    for name in "ab"
]


class Worker:
    """Stands in for jaxmeter.run_case: writes down its calls; may fail or be interrupted."""

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
        progress = Progress("suite", tmp_path / "progress.jsonl")
        return measure_plan(
            CELLS, RecordStore(tmp_path / "cases"), progress, run_case=worker, **options
        )

    return run


def test_every_round_of_every_cell_is_measured_once(measure):
    worker = Worker()
    summaries = measure(worker)
    assert worker.calls == ["suite/a", "suite/b", "suite/b", "suite/a"]
    assert summaries["suite/a"]["status"] == "ok"
    assert summaries["suite/a"]["times"]["steady_median_seconds"] == [2.0, 2.0]


def test_an_interrupted_plan_goes_on_where_it_stopped(measure):
    with pytest.raises(KeyboardInterrupt):
        measure(Worker(interrupt_at=3))
    rest = Worker()
    assert len(measure(rest)["suite/a"]["times"]["steady_median_seconds"]) == 2
    assert rest.calls == ["suite/a"]
    assert not measure(nothing := Worker()) == {}
    assert nothing.calls == []


def test_a_failed_cell_is_told_and_tried_again_by_the_next_run(measure):
    summary = measure(Worker(status="timeout"))["suite/a"]
    assert summary["status"] == "timeout"
    assert summary["message"] == "compile: Timeout: too slow"
    again = Worker()
    assert measure(again)["suite/a"]["status"] == "ok"
    assert len(again.calls) == 4


def test_beyond_the_budget_only_first_rounds_start(measure):
    seconds = itertools.count(0.0, 100.0)
    worker = Worker()
    summaries = measure(worker, budget_seconds=50.0, clock=lambda: next(seconds))
    assert worker.calls == ["suite/a", "suite/b"]
    assert len(summaries["suite/b"]["times"]["steady_median_seconds"]) == 1


def test_each_round_is_a_line_of_progress(measure, tmp_path, capsys):
    measure(Worker())
    measure(Worker())
    lines = (tmp_path / "progress.jsonl").read_text().splitlines()
    assert lines == capsys.readouterr().out.splitlines()
    events = [json.loads(line) for line in lines]
    statuses = [event.get("status") for event in events]
    assert statuses == [None, "ok"] * 4 + [None] + ["kept"] * 4 + [None]
    assert [event["event"] for event in events[:3]] == ["start", "round", "start"]
    assert events[0]["case"] == "suite/a" and events[8]["event"] == "suite"


def test_workers_can_import_the_suites_and_nothing_else_of_the_checkout(tmp_path):
    made = Workers(RecordStore(tmp_path / "cases"), tmp_path, Worker()).worker_case(CELLS[0])
    (imports,) = (Path(entry) for entry in made.path)
    assert [entry.name for entry in imports.iterdir()] == ["benchmarks"]
    assert (imports / "benchmarks" / "cases" / "field.py").is_file()
    assert made.env["JAX_ENABLE_X64"] == "1"
    assert made.env["JAX_ENABLE_COMPILATION_CACHE"] == "false"
    assert made.cpus is None


def test_a_cell_for_one_cpu_is_bound_to_one(tmp_path):
    case = PlannedCase(name="n", target="m:f", params={}, rounds=1, one_cpu=True)
    cpus = Workers(RecordStore(tmp_path / "cases"), tmp_path, Worker()).worker_case(case).cpus
    assert cpus is None or len(cpus) == 1


def test_a_cell_that_wants_a_missing_package_is_skipped_with_the_reason(tmp_path):
    case = PlannedCase(
        name="s/a", target="m:f", params={}, rounds=1, requires={"no_such_module": "no-such"}
    )
    worker = Worker()
    store, progress = RecordStore(tmp_path / "cases"), Progress("s")
    summary = measure_plan([case], store, progress, run_case=worker)["s/a"]
    assert worker.calls == []
    assert summary["status"] == "skipped" and "pip install no-such" in summary["message"]
    record = store.read(case, 0)
    assert record is not None and record.status == "skipped"


PREPARED = [
    dataclasses.replace(case, preparation=dataclasses.replace(CELLS[0], name="preparation/p"))
    for case in CELLS
]


def test_what_cells_share_is_prepared_once_a_run_and_only_where_something_is_left(tmp_path):
    store = RecordStore(tmp_path / "cases")
    worker = Worker()
    measure_plan(PREPARED, store, Progress("s"), run_case=worker)
    assert worker.calls == ["preparation/p", "suite/a", "suite/b", "suite/b", "suite/a"]
    measure_plan(PREPARED, store, Progress("s"), run_case=(nothing := Worker()))
    assert nothing.calls == []
    store.path(PREPARED[0], 1).unlink()
    measure_plan(PREPARED, store, Progress("s"), run_case=(rest := Worker()))
    assert rest.calls == ["preparation/p", "suite/a"]


def test_a_failed_preparation_fails_the_cells_that_need_it_with_its_reason(tmp_path):
    worker = Worker(status="failed")
    store = RecordStore(tmp_path / "cases")
    summaries = measure_plan(PREPARED, store, Progress("s"), run_case=worker)
    assert worker.calls == ["preparation/p"]
    assert {summary["message"] for summary in summaries.values()} == {"compile: Timeout: too slow"}
