"""Measuring a plan: resume, repeat failures, budget, progress, and the imports of workers."""

import dataclasses
import itertools
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.measuring.runner import Progress, Workers, measure_plan
from benchmarks.measuring.store import RecordStore
from jaxmeter import Failure, Phases, Record
from tests.benchmarks.common import TOO_SLOW, Worker, planned

CASES = [planned(f"suite/{name}") for name in "ab"]


@pytest.fixture
def store(tmp_path):
    return RecordStore(tmp_path / "records")


@pytest.fixture
def measure(store):
    return lambda worker, **options: measure_plan(CASES, store, run_case=worker, **options)


def test_every_round_is_measured_once_and_again_by_a_run_that_does_not_resume(measure):
    worker, lines = Worker(), []
    records = measure(worker)
    assert worker.calls == ["suite/a", "suite/b", "suite/b", "suite/a"]
    assert [record.status for record in records["suite/a"]] == ["ok", "ok"]
    measure(worker, progress=Progress(4, lines.append))
    assert [line.endswith("kept") for line in lines] == [*[True] * 4, False]
    assert len(worker.calls) == 4
    measure(worker, resume=False)
    assert len(worker.calls) == 8


def test_only_the_first_round_of_a_case_with_profile_compile_is_profiled(store):
    worker = Worker(see=lambda case: (case.name, case.profile_compile))
    cases = [dataclasses.replace(CASES[0], profile_compile=True), CASES[1]]
    measure_plan(cases, store, run_case=worker)
    assert [is_profiled for name, is_profiled in worker.calls if name == "suite/a"] == [True, False]
    assert not any(is_profiled for name, is_profiled in worker.calls if name == "suite/b")


def test_an_interrupted_plan_resumes_where_it_stopped(measure):
    with pytest.raises(KeyboardInterrupt):
        measure(Worker(interrupt_at=3))
    rest = Worker()
    assert len(measure(rest)["suite/a"]) == 2
    assert rest.calls == ["suite/a"]
    assert measure(nothing := Worker()) and not nothing.calls


def test_a_failed_case_is_measured_again_by_the_next_run(measure, capsys):
    assert {record.status for record in measure(Worker(status="timeout"))["suite/a"]} == {"timeout"}
    assert "suite/a, process 1: timeout: too slow" in capsys.readouterr().out
    again = Worker()
    assert measure(again)["suite/a"][0].status == "ok"
    assert len(again.calls) == 4


def test_a_run_without_workers_stops_after_the_end_of_asv_and_any_other_run_goes_on(
    measure, store, tmp_path, monkeypatch
):
    parents = itertools.count()
    monkeypatch.setattr("os.getppid", lambda: next(parents))
    worker = Worker()
    with pytest.raises(SystemExit, match=r"started this run \(0\) has ended"):
        measure(worker)
    assert worker.calls == []
    measure(worker, workers=Workers(store, tmp_path / "work", worker))
    assert len(worker.calls) == 4


def test_beyond_the_budget_only_first_rounds_start(measure):
    seconds = itertools.count(0.0, 100.0)
    worker = Worker()
    records = measure(worker, budget_seconds=50.0, clock=lambda: next(seconds))
    assert worker.calls == ["suite/a", "suite/b"]
    assert len(records["suite/b"]) == 1


def test_workers_can_import_the_suites_and_nothing_else_of_the_checkout(store, tmp_path):
    made = Workers(store, tmp_path, Worker()).worker_case(CASES[0])
    (imports,) = (Path(entry) for entry in made.path)
    assert [entry.name for entry in imports.iterdir()] == ["benchmarks"]
    assert (imports / "benchmarks" / "cases" / "field.py").is_file()
    assert made.env["JAX_ENABLE_X64"] == "1"
    assert made.env["JAX_ENABLE_COMPILATION_CACHE"] == "false"
    assert made.cpus is None


def test_workers_import_an_installed_package_by_a_link(store, tmp_path, monkeypatch):
    folder = tmp_path / "site-packages" / "vcjax"
    folder.mkdir(parents=True)
    found = SimpleNamespace(locate_file=lambda name: folder.parent / name)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: found)
    (imports,) = Workers(store, tmp_path / "work", Worker()).worker_case(CASES[0]).path
    assert Path(imports, "vcjax").resolve() == folder


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="processes cannot be bound")
def test_a_case_for_one_cpu_is_bound_to_one_cpu(store, tmp_path):
    case = planned("n", one_cpu=True)
    cpus = Workers(store, tmp_path, Worker()).worker_case(case).cpus
    assert cpus is not None and len(cpus) == 1


def test_a_case_that_requires_a_missing_package_is_skipped_with_the_reason(store):
    case = planned("s/a", rounds=1, requires={"no_such_module": "no-such"})
    worker = Worker()
    (record,) = measure_plan([case], store, run_case=worker)["s/a"]
    assert worker.calls == []
    assert record.status == "skipped" and record.failure is not None
    assert "pip install no-such" in record.failure.message
    assert store.read(case, 0) == record


PREPARED = [
    dataclasses.replace(case, preparation=dataclasses.replace(CASES[0], name="preparation/p"))
    for case in CASES
]


def test_a_shared_preparation_runs_once_and_only_if_a_round_is_missing(store):
    worker = Worker()
    measure_plan(PREPARED, store, run_case=worker)
    assert worker.calls == ["preparation/p", "suite/a", "suite/b", "suite/b", "suite/a"]
    measure_plan(PREPARED, store, run_case=(nothing := Worker()))
    assert not nothing.calls
    store.path(PREPARED[0].name, 1).unlink()
    measure_plan(PREPARED, store, run_case=(rest := Worker()))
    assert rest.calls == ["preparation/p", "suite/a"]


def test_a_failed_preparation_fails_the_cases_that_need_it_with_its_reason(store):
    worker = Worker(status="failed")
    records = measure_plan(PREPARED, store, run_case=worker)
    assert worker.calls == ["preparation/p"]
    failures = {record.failure for found in records.values() for record in found}
    assert failures == {TOO_SLOW}


def test_each_round_is_a_line_with_its_count_and_failed_rounds_are_collected(capsys):
    progress = Progress(5)
    progress.end("s/a", 0, "ok")
    progress.end("s/b", 1, "kept")
    progress.end("s/c", 0, "timeout", "too slow")
    progress.end_plan(1, 61.2)
    progress.end("t/a", 0, "skipped", "no such package")
    progress.end_plan(0, 1.0)
    assert progress.done == progress.total == 5
    assert progress.failures == ["s/c: timeout: too slow"]
    assert capsys.readouterr().out.splitlines() == [
        "[1/5] s/a, process 1: ok",
        "[2/5] s/b, process 2: kept",
        "[3/5] s/c, process 1: timeout: too slow",
        "[4/5] measured in 61 s; 1 rounds left out to stay within the time budget; 1 failed",
        "[5/5] t/a, process 1: skipped: no such package",
        "[5/5] measured in 1 s; 1 failed",
    ]


def test_rounds_that_do_not_compile_use_the_cache_and_keep_only_steady_state_times(tmp_path):
    hit = Failure("compile", "CacheHit", "from the cache")
    seen = []

    def run_case(case):
        seen.append(case.env["JAX_ENABLE_COMPILATION_CACHE"])
        failure = hit if seen[-1] == "true" else None
        phases = Phases(compile_seconds=0.1)
        status = "rejected" if failure else "ok"
        return Record(case.name, status, failure=failure, phases=phases, samples_seconds=(1.0,))

    workers = Workers(RecordStore(tmp_path / "store"), tmp_path, run_case)
    case = planned("suite/a", 3, builds=1)
    records = [workers.measure(case, i) for i in range(3)]
    assert seen == ["false", "true", "true"]
    assert [r.status for r in records] == ["ok"] * 3
    assert [r.phases.compile_seconds for r in records] == [0.1, None, None]
    assert records[2].samples_seconds == (1.0,)
