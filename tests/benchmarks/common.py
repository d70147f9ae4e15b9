"""Planned cases, sides, and a worker that starts no process, for the tests of measuring."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.rounds import MeasuredSide
from benchmarks.measuring.store import RecordStore
from jaxmeter import Failure, Record
from jaxmeter._records.record import Status

TOO_SLOW = Failure("compile", "Timeout", "too slow")


def planned(name, rounds=2, **options):
    return PlannedCase(name=name, target="module:function", params={}, rounds=rounds, **options)


def side_in(folder, name="base", workers: Any = None):
    """Return a side of a pair in a folder; the default workers have only an import path."""
    workers = workers or SimpleNamespace(imports=folder)
    return MeasuredSide(name, folder, RecordStore(folder / name), workers)


def unpacked(commit, folder):
    """Stand in for `unpacked_package`: the package is one file that contains the commit's name."""
    package = folder / "vcjax"
    package.mkdir(parents=True)
    (package / "commit").write_text(commit)
    return package


def commit_of(case):
    """Return the commit of the package that the worker of a case imports."""
    (folder,) = case.path
    return Path(folder, "vcjax", "commit").read_text()


def write_record(store, case, number=0, status: Status = "ok", **fields):
    store.write(case, number, Record(case.name, status, target=case.target, **fields))


class Worker:
    """Stand in for `jaxmeter.run_case`: collect the calls, and fail or be interrupted on request.

    `calls` has the result of `see` for each case. Each record has the same `wall_seconds`.
    """

    wall_seconds = None

    def __init__(self, *, see=lambda case: case.name, status: Status = "ok", interrupt_at=None):
        self.calls, self.see, self.interrupt_at = [], see, interrupt_at
        self.status: Status = status

    def __call__(self, case):
        if len(self.calls) == self.interrupt_at:
            raise KeyboardInterrupt
        self.calls.append(self.see(case))
        status = self.status_of(case)
        return Record(
            name=case.name,
            status=status,
            target=case.target,
            params=case.params,
            wall_seconds=self.wall_seconds,
            failure=None if status == "ok" else TOO_SLOW,
        )

    def status_of(self, case) -> Status:
        return self.status
