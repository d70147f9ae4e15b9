"""The worker process: measures one benchmark case, cold, and writes its record.

``python -m jaxmeter._measure.worker CASE RECORD``: both are files of JSON. An exception of the
target is kept in the record, and the exit status is 0 once a record is written.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxmeter._measure.benchmark import BenchmarkCase
from jaxmeter._measure.environment import host_environment, jax_environment
from jaxmeter._measure.progress import Progress
from jaxmeter._measure.targets import resolve
from jaxmeter._records.plain_data import PlainData
from jaxmeter._records.record import Record
from jaxmeter.errors import JaxmeterError

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def run_worker(task_type: type[PlainData], work: Callable[..., PlainData]) -> None:
    """Read a task, work on it, write the answer; the whole of a worker process.

    ``work(task, report)`` returns the answer. It may ``report`` an unfinished answer, which
    is left in the file if the process dies.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("task", type=Path)
    parser.add_argument("answer", type=Path)
    files = parser.parse_args()
    # A worker is in a session of its own, out of reach of the terminal's signals; if its parent is
    # killed nobody else would end it. Elsewhere than on Linux it ends its work.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)

    def write(answer: PlainData) -> None:
        # Whoever reads the file finds a whole answer at any time.
        part = files.answer.with_name(files.answer.name + ".part")
        part.write_text(answer.to_json())
        part.replace(files.answer)

    write(work(task_type.from_json(files.task.read_bytes()), write))


def work(case: BenchmarkCase, report: Callable[[Record], Any] | None = None) -> Record:
    """Measure a benchmark case in this process, reporting the unfinished record at each phase."""
    record = Record(name=case.name, status="ok", target=case.target, params=case.params)
    progress = Progress(record, report)
    with contextlib.suppress(BaseException), progress.recording_failure():  # SystemExit too
        _work(case, progress)
    return progress.record


def _work(benchmark: BenchmarkCase, progress: Progress) -> None:
    progress.note(environment=host_environment())
    progress.enter("start")
    if benchmark.cpus is not None:
        _bind(benchmark.cpus)
        progress.note(environment=host_environment())
    sys.path[:0] = benchmark.path
    progress.enter("import")
    make_case = resolve(benchmark.target, "BenchmarkCase", "returns a jaxmeter.Case")
    # The target's module may have configured JAX; only now does the backend start. And an import
    # of JAX that fails is kept in the record.
    from jaxmeter._measure.case import Case
    from jaxmeter._measure.meter import measure_case, rejected_if_not_compiled

    progress.note_in("environment", **jax_environment())
    progress.enter("setup")
    start = time.perf_counter()
    case = make_case(**benchmark.params)
    progress.note(setup_seconds=time.perf_counter() - start)
    if not isinstance(case, Case):
        raise JaxmeterError(
            f"{benchmark.target}: got {case!r:.80} from it; let it return jaxmeter.Case(fn, args)"
        )
    progress.note_in("environment", **jax_environment())  # the target may set options as well
    measure_case(
        case,
        progress,
        repeat=benchmark.repeat,
        max_seconds=benchmark.max_seconds,
        compiles=benchmark.compiles,
        clock=time.perf_counter,
    )
    progress.record = rejected_if_not_compiled(progress.record, cold=True)


def _bind(cpus: tuple[int, ...]) -> None:
    if not hasattr(os, "sched_setaffinity"):
        raise JaxmeterError(
            f"BenchmarkCase: got cpus={cpus}, but {sys.platform} cannot bind a process; give None"
        )
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        there = sorted(os.sched_getaffinity(0))
        raise JaxmeterError(
            f"BenchmarkCase: got cpus={cpus} ({error}); give some of {there}"
        ) from error


if __name__ == "__main__":
    run_worker(BenchmarkCase, work)
