"""Measure a plan into the store, one fresh worker process a record, telling about it on the way."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jaxmeter
from benchmarks.measuring.metrics import Summary, summarise
from benchmarks.measuring.plan import SCRATCH_VARIABLE, WORKER_ENVIRONMENT, PlannedCase, interleaved
from benchmarks.measuring.store import RecordStore

PROGRESS_VARIABLE = "VCJAX_BENCH_PROGRESS"

RunCase = Callable[[jaxmeter.BenchmarkCase], jaxmeter.Record]


def one_cpu() -> tuple[int, ...] | None:
    """A single CPU this process may use, or None where the system cannot bind processes."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    # The last one: system work tends to gather on the first.
    return (max(os.sched_getaffinity(0)),)


class Workers:
    """Runs cases in worker processes; one instance a run.

    Parameters
    ----------
    store : RecordStore
        Takes the records of preparations.
    folder : Path
        Temporary, empty.
    run_case : callable
        ``jaxmeter.run_case``, or a test's stand-in.
    package : Path, optional
        A folder ``vcjax`` to measure in place of the installed package.
    """

    def __init__(
        self, store: RecordStore, folder: Path, run_case: RunCase, *, package: Path | None = None
    ) -> None:
        self._store, self._run_case = store, run_case
        self._prepared: dict[str, jaxmeter.Record] = {}
        # Workers import ``benchmarks`` from a folder that holds nothing else: the checkout's
        # ``vcjax`` would hide the installed one, which is the commit that asv wants measured.
        self._imports, self._scratch = folder / "imports", folder / "scratch"
        self._imports.mkdir()
        self._scratch.mkdir()
        (self._imports / "benchmarks").symlink_to(Path(__file__).resolve().parents[1])
        if package is not None:
            (self._imports / "vcjax").symlink_to(package.resolve())

    def measure(self, case: PlannedCase) -> jaxmeter.Record:
        """The record of one process; of another status than "ok" where the case cannot run."""
        missing = skipped(case)
        if missing is not None:
            return missing
        if case.preparation is not None:
            before = self._prepare(case.preparation)
            if before.status != "ok":
                failure = before.failure
                return dataclasses.replace(_empty_record(case, before.status), failure=failure)
        return self._run_case(self.worker_case(case))

    def worker_case(self, case: PlannedCase) -> jaxmeter.BenchmarkCase:
        """What jaxmeter runs for a planned case."""
        return jaxmeter.BenchmarkCase(
            name=case.name,
            target=case.target,
            params=dict(case.params),
            repeat=case.repeat,
            max_seconds=case.max_seconds,
            compiles=case.builds,
            timeout_seconds=case.timeout_seconds,
            env={**WORKER_ENVIRONMENT, SCRATCH_VARIABLE: str(self._scratch), **case.env},
            path=(str(self._imports),),
            cpus=one_cpu() if case.one_cpu else None,
        )

    def _prepare(self, preparation: PlannedCase) -> jaxmeter.Record:
        name = preparation.name
        if name not in self._prepared:
            self._prepared[name] = self._run_case(self.worker_case(preparation))
            self._store.write(preparation, 0, self._prepared[name])
        return self._prepared[name]


def skipped(case: PlannedCase) -> jaxmeter.Record | None:
    """The record of a case that cannot run here for want of a package; None where it can."""
    missing = [p for module, p in case.requires.items() if importlib.util.find_spec(module) is None]
    if not missing:
        return None
    message = f"the optional package {missing[0]} is not installed: pip install {missing[0]}"
    failure = jaxmeter.Failure("start", "MissingPackage", message)
    return dataclasses.replace(_empty_record(case, "skipped"), failure=failure)


def _empty_record(case: PlannedCase, status: Any) -> jaxmeter.Record:
    return jaxmeter.Record(
        name=case.name, status=status, target=case.target, params=dict(case.params)
    )


class Progress:
    """Lines about finished rounds: to the screen, and to the file a waiting parent follows.

    Parameters
    ----------
    suite : str
        The suite's name, in every line.
    path : Path or None
        File of JSON lines to append to; from ``VCJAX_BENCH_PROGRESS`` where not given.
    """

    def __init__(self, suite: str, path: Path | None = None) -> None:
        named = os.environ.get(PROGRESS_VARIABLE)
        self.suite = suite
        self.path = path if path is not None else (Path(named) if named else None)

    def tell(self, event: str, **details: str | int | float) -> None:
        """Report one event: ``start`` and ``round`` of a round, ``suite`` for a finished suite."""
        line = json.dumps({"event": event, "suite": self.suite, **details})
        # asv counts silence as a hang, so every round is also a line of output.
        print(line, flush=True)
        if self.path is not None:
            with open(self.path, "a", encoding="utf-8") as stream:
                stream.write(line + "\n")


def measure_plan(
    cases: Sequence[PlannedCase],
    store: RecordStore,
    progress: Progress,
    *,
    budget_seconds: float | None = None,
    run_case: RunCase = jaxmeter.run_case,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Summary]:
    """Measure every round that the store does not hold yet, and summarise all cases.

    Parameters
    ----------
    cases : sequence of PlannedCase
        The plan; cases of 0 rounds are left out of the result.
    store : RecordStore
        Where records go; a round whose record there is ``ok`` is not run again.
    progress : Progress
        Told about each round.
    budget_seconds : float, optional
        No new round after the first starts beyond this time, so that a slow machine gets fewer
        processes a case instead of an endless run. Every case gets its first round.
    run_case, clock : callables
        Injected by tests.

    Returns
    -------
    dict
        A summary for each measured case's name.
    """
    started = clock()
    parent = os.getppid()
    records: dict[str, list[jaxmeter.Record]] = {case.name: [] for case in cases if case.rounds}
    with tempfile.TemporaryDirectory(prefix="vcjax-suites-") as folder:
        workers = Workers(store, Path(folder), run_case)
        for case, round_index in interleaved(cases):
            record = store.read(case, round_index)
            kept = record is not None and record.status == "ok"
            if record is None or not kept:
                over = budget_seconds is not None and clock() - started > budget_seconds
                if over and round_index > 0:
                    continue
                if os.getppid() != parent:
                    raise SystemExit("the process that asked for this run is gone: stopping")
                progress.tell("start", case=case.name, round=round_index)
                record = workers.measure(case)
                store.write(case, round_index, record)
            records[case.name].append(record)
            progress.tell(
                "round",
                case=case.name,
                round=round_index,
                status="kept" if kept else record.status,
                message="" if record.failure is None else record.failure.message[:300],
            )
    progress.tell("suite", seconds=round(clock() - started, 1))
    return {name: summarise(found) for name, found in records.items()}
