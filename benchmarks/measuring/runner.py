"""Measure planned cases, each round in a fresh worker process, and store the records."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import importlib.util
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jaxmeter
from benchmarks.measuring.plan import SCRATCH_VARIABLE, WORKER_ENVIRONMENT, PlannedCase, interleaved
from benchmarks.measuring.store import RecordStore

CACHED_ENVIRONMENT = {
    "JAX_ENABLE_COMPILATION_CACHE": "true",
    "JAX_COMPILATION_CACHE_DIR": str(Path(__file__).resolve().parents[2] / "results" / "compiled"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
"""Variables with which a worker reads and fills the checkout's compilation cache."""

RunCase = Callable[[jaxmeter.BenchmarkCase], jaxmeter.Record]


class Workers:
    """A runner of cases in worker processes, which all import the same package ``vcjax``.

    `store` gets the records of preparations. A preparation is a case that computes data for
    another case. In the temporary `folder`, the folders ``imports`` and ``scratch`` are made.
    `package` is the folder of the package ``vcjax``, by default the result of `installed_package`.
    """

    def __init__(
        self, store: RecordStore, folder: Path, run_case: RunCase, *, package: Path | None = None
    ) -> None:
        self._store, self._run_case = store, run_case
        self._prepared: dict[str, jaxmeter.Record] = {}  # by the preparation's name
        # The checkout is not on the workers' import path, because its folder ``vcjax`` would hide
        # the package ``vcjax`` that asv has installed from the measured commit.
        self.imports, self._scratch = folder / "imports", folder / "scratch"
        self.imports.mkdir(parents=True)
        self._scratch.mkdir()
        (self.imports / "benchmarks").symlink_to(Path(__file__).resolve().parents[1])
        # Workers import an installed package through a link, because profiles treat lines with a
        # path in site-packages as foreign code.
        package = package or installed_package()
        if package is not None:
            (self.imports / "vcjax").symlink_to(package.resolve())

    def measure(self, case: PlannedCase, round_index: int) -> jaxmeter.Record:
        """Measure a round of a case in one process, and return its record.

        The preparation of a case runs before the first round that needs it. If the preparation
        fails, or if a required package is missing, nothing is measured, and the record gives the
        reason.
        """
        for module, package in case.requires.items():
            if importlib.util.find_spec(module) is None:
                message = f"the optional package {package} is not installed: pip install {package}"
                return _empty(case, "skipped", jaxmeter.Failure("start", "MissingPackage", message))
        if case.preparation is not None:
            prepared = self._prepare(case.preparation)
            if prepared.status != "ok":
                return _empty(case, prepared.status, prepared.failure)
        worker_case = self.worker_case(case)
        if case.profile_compile and round_index == 0:
            worker_case = dataclasses.replace(worker_case, profile_compile=True)
        if not case.is_cached(round_index):
            return self._run_case(worker_case)
        env = {**worker_case.env, **CACHED_ENVIRONMENT}
        return _steady_only(self._run_case(dataclasses.replace(worker_case, compiles=1, env=env)))

    def worker_case(self, case: PlannedCase) -> jaxmeter.BenchmarkCase:
        """Return a planned case in the form that jaxmeter runs."""
        return jaxmeter.BenchmarkCase(
            name=case.name,
            target=case.target,
            params=dict(case.params),
            repeat=case.repeat,
            max_seconds=case.max_seconds,
            compiles=case.compiles,
            timeout_seconds=case.timeout_seconds,
            env={**WORKER_ENVIRONMENT, SCRATCH_VARIABLE: str(self._scratch), **case.env},
            path=(str(self.imports),),
            cpus=one_cpu() if case.one_cpu else None,
        )

    def _prepare(self, preparation: PlannedCase) -> jaxmeter.Record:
        name = preparation.name
        if name not in self._prepared:
            self._prepared[name] = self._run_case(self.worker_case(preparation))
            self._store.write(preparation, 0, self._prepared[name])
        return self._prepared[name]


def _steady_only(record: jaxmeter.Record) -> jaxmeter.Record:
    """Remove the quantities of a compile from the record of a process with a cached program.

    These quantities are phases, counts and resident memory. jaxmeter records such a process as the
    failure ``CacheHit``; the returned record has the status "ok" instead. A record of any other
    failure is returned unchanged.
    """
    if record.failure is not None and record.failure.kind == "CacheHit":
        record = dataclasses.replace(record, status="ok", failure=None)
    if record.status != "ok":
        return record
    return dataclasses.replace(
        record,
        phases=jaxmeter.Phases(),
        counts=jaxmeter.Counts(),
        memory=dataclasses.replace(
            record.memory,
            baseline_rss_bytes=None,
            compile_peak_rss_bytes=None,
            peak_rss_bytes=None,
        ),
    )


def installed_package() -> Path | None:
    """Return the folder of vcjax in site-packages; None if vcjax is not installed there.

    asv installs vcjax in site-packages.
    """
    try:
        folder = Path(str(importlib.metadata.distribution("vcjax").locate_file("vcjax")))
    except importlib.metadata.PackageNotFoundError:
        return None
    return folder if "site-packages" in folder.parts and folder.is_dir() else None


def one_cpu() -> tuple[int, ...] | None:
    """Return a CPU for this process, or None if the system cannot bind processes to CPUs."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    # Take the last CPU, because the system often uses the first CPU for its own work.
    return (max(os.sched_getaffinity(0)),)


def _empty(case: PlannedCase, status: Any, failure: jaxmeter.Failure | None) -> jaxmeter.Record:
    return jaxmeter.Record(
        name=case.name,
        status=status,
        target=case.target,
        params=dict(case.params),
        failure=failure,
    )


class Progress:
    """A counter of the `total` rounds of a plan. It writes a line for each round, and collects the
    failures.

    `write` is called with each line; by default the line is printed.
    """

    def __init__(self, total: int, write: Callable[[str], None] | None = None) -> None:
        self.total, self.write = total, write or partial(print, flush=True)
        self.done = 0
        self.failures: list[str] = []
        """One line for each failed round."""

    def end(self, case: str, round_index: int, status: str, message: str = "") -> None:
        """Report the end of a round; the status is "kept" for a record of an earlier run."""
        self.done += 1
        note = f": {message}" if message else ""
        if status not in ("ok", "kept", "skipped"):
            self.failures.append(f"{case}: {status}{note}")
        self.write(f"[{self.done}/{self.total}] {case}, process {round_index + 1}: {status}{note}")

    def end_plan(self, left_out: int, seconds: float) -> None:
        """Report the end of a plan, with the number of rounds that its time budget left out."""
        self.done += left_out
        note = f"; {left_out} rounds left out to stay within the time budget" if left_out else ""
        note += f"; {len(self.failures)} failed" if self.failures else ""
        self.write(f"[{self.done}/{self.total}] measured in {seconds:.0f} s{note}")


def measure_plan(
    cases: Sequence[PlannedCase],
    store: RecordStore,
    progress: Progress | None = None,
    *,
    budget_seconds: float | None = None,
    resume: bool = True,
    workers: Workers | None = None,
    run_case: RunCase = jaxmeter.run_case,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, list[jaxmeter.Record]]:
    """Measure the rounds of a plan, and return the records of each measured case by its name.

    Every case gets its first round. Later rounds start only within `budget_seconds`, so a slow
    machine measures fewer processes for each case. If `resume` is true, records in the store with
    the status "ok" are kept. `workers` may be shared between plans, so that the preparation of a
    case (see `PlannedCase`) runs once. `run_case` is used only if `workers` is None. In this case
    the caller holds no lock. If the process that started the run, such as asv, has ended, a
    SystemExit therefore stops the run, which would disturb the times of the next run.
    """
    started = clock()
    parent = os.getppid() if workers is None else None
    progress = progress or Progress(sum(case.rounds for case in cases))
    records: dict[str, list[jaxmeter.Record]] = {case.name: [] for case in cases if case.rounds}
    left_out = 0
    with jaxmeter.temporary_folder("vcjax-suites-") as folder:
        workers = workers or Workers(store, folder, run_case)
        for case, round_index in interleaved(cases):
            record = store.read(case, round_index) if resume else None
            kept = record is not None and record.status == "ok"
            if record is None or not kept:
                over = budget_seconds is not None and clock() - started > budget_seconds
                if over and round_index > 0:
                    left_out += 1
                    continue
                if parent not in (None, os.getppid()):
                    raise SystemExit(
                        f"stopped, because the process that started this run ({parent}) has ended; "
                        "run the same command again to resume"
                    )
                record = workers.measure(case, round_index)
                store.write(case, round_index, record)
            records[case.name].append(record)
            message = "" if record.failure is None else record.failure.message[:300]
            progress.end(case.name, round_index, "kept" if kept else record.status, message)
    progress.end_plan(left_out, clock() - started)
    return records
