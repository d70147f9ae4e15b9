"""Measure two functions in a worker process of `jaxmeter.compare`, with interleaved calls.

If a function raises an exception, the exception is stored in the function's record. The exit status
is 0 if the process sent a result.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from jaxmeter._cli.arguments import calls_from_options, case_from_options, with_arrays
from jaxmeter._measure.environment import host_environment, jax_environment, load_1min
from jaxmeter._measure.progress import Progress
from jaxmeter._records.comparison import ComparedProcess, Side, Task
from jaxmeter._records.record import Record
from jaxmeter._workers.worker import run_worker


def work(task: Task, report: Callable[[ComparedProcess], None]) -> ComparedProcess:
    """Measure both functions of a task. Report the unfinished result at each phase, and return the
    final result."""
    sides = (task.a, task.b)
    progresses: list[Progress] = []
    measured: dict[str, Any] = {}

    def publish(number: int, unfinished: Record) -> None:
        records = [progress.record for progress in progresses]
        records[number] = unfinished
        report(ComparedProcess(records[0], records[1], swapped=task.swapped))

    for number, side in enumerate(sides):
        record = Record(side.target, "ok", target=side.target, environment=host_environment())
        progresses.append(Progress(record, functools.partial(publish, number)))
    sys.path[:0] = task.path
    try:
        # Import `measure_runs` here, so that a failed import of JAX is recorded too.
        with progresses[0].recording_failure():
            from jaxmeter._compare.pair import measure_runs
        a, b = map(_run, sides, progresses)
        measured = measure_runs((a, b), task.effort, swapped=task.swapped)
        for progress in progresses:
            progress.note_in("environment", load_1min_after=load_1min())
    except BaseException as error:  # SystemExit too
        if all(progress.record.status == "ok" for progress in progresses):
            raise error  # neither function failed
    first, second = (progress.record for progress in progresses)
    return ComparedProcess(first, second, swapped=task.swapped, **measured)


def _run(side: Side, progress: Progress) -> Any:
    with progress.recording_failure():
        progress.enter("import")
        case = case_from_options("compare", side.target, side)
        from jaxmeter._measure.meter import Run
        from jaxmeter._retrace.retraces import call_arguments

        progress.enter("setup")
        progress.note_in("environment", **jax_environment())
        case = with_arrays(case)
        calls = calls_from_options(side.target, side.call) or ()
        given = (call_arguments("compare", call, number) for number, call in enumerate(calls))
        return Run(case, progress, time.perf_counter, tuple(given))


if __name__ == "__main__":
    run_worker(Task, work)
