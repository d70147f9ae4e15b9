"""Measure one benchmark case in a worker process, with cold caches, and send the record.

An exception of the target is stored in the record. The exit status is 0 if the complete record was
sent.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxmeter._measure.benchmark import BenchmarkCase
from jaxmeter._measure.environment import host_environment, jax_environment
from jaxmeter._measure.progress import Progress
from jaxmeter._measure.targets import check_parameters, resolve
from jaxmeter._records.files import RECORD_BYTES
from jaxmeter._records.plain_data import PlainData
from jaxmeter._records.record import Record
from jaxmeter._workers.processes import ANSWER, TASK, mark_worker
from jaxmeter._workers.supervisor import fork_supervised
from jaxmeter.errors import JaxmeterError

_FLUSHING_SECONDS = 1.0


def run_worker(task_type: type[PlainData], work: Callable[..., PlainData]) -> None:
    """Read a task, work on it, send the answer and end this process. `in_worker` has started this
    process. ``work(task, report)`` returns the answer. ``work`` may call ``report`` with an
    unfinished answer. If the process ends early, the last unfinished answer becomes the answer."""
    folder = Path(sys.argv.pop())
    task = (folder / TASK).read_bytes()
    fork_supervised()
    mark_worker()
    send = _sender(folder / ANSWER)
    send(work(task_type.from_json(task), send))
    _leave()


def _sender(file: Path) -> Callable[[PlainData], None]:
    """Return a function that writes an answer to a file, completely or not at all."""
    # Keep the original functions, because the target may replace functions of os.
    getpid, leave = os.getpid, os._exit
    worker, draft = getpid(), file.with_suffix(".draft")

    def send(answer: PlainData) -> None:
        if getpid() != worker:
            leave(0)  # this process is a fork that the target made
        content = answer.to_json().encode()
        if len(content) > RECORD_BYTES:
            raise ValueError(
                f"the worker's answer has {len(content)} bytes, but the limit is {RECORD_BYTES}; "
                "take fewer samples and compiles, or return fewer extras and checks from the target"
            )
        draft.write_bytes(content)  # `write_file` would wait for the disk
        draft.replace(file)

    return send


def _leave() -> None:
    """Flush the output, and end the process even if threads of the target are still running.

    If the flush takes longer than `_FLUSHING_SECONDS`, the rest of the output is lost.
    """

    def flush() -> None:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()

    thread = threading.Thread(target=flush, daemon=True)  # the streams may be locked
    thread.start()
    thread.join(_FLUSHING_SECONDS)
    os._exit(0)


def work(case: BenchmarkCase, report: Callable[[Record], Any] | None = None) -> Record:
    """Measure a benchmark case in this process, and report the unfinished record at each phase."""
    record = Record(name=case.name, status="ok", target=case.target, params=case.params)
    progress = Progress(record, report)
    try:
        with progress.recording_failure():
            _work(case, progress)
    except BaseException:  # SystemExit too
        if progress.record.status == "ok":
            raise  # the target has changed something that is needed to record the failure
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
    # The target's module may configure JAX, so the backend is started only after the module is
    # imported. JAX is imported here, so that the record keeps a failure of this import.
    from jaxmeter._measure.case import Case
    from jaxmeter._measure.meter import measure_case, rejected_if_not_compiled

    progress.note_in("environment", **jax_environment())
    progress.enter("setup")
    start = time.perf_counter()
    try:
        case = make_case(**benchmark.params)
    except TypeError as error:
        # If the traceback ends in this frame, make_case did not start: the parameters may be wrong.
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            check_parameters("BenchmarkCase", make_case, benchmark.target, benchmark.params)
        raise
    progress.note(setup_seconds=time.perf_counter() - start)
    if not isinstance(case, Case):
        raise JaxmeterError(
            f"{benchmark.target}: got {case!r:.80} from this function; let the function return "
            "jaxmeter.Case(fn, args)"
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
    if benchmark.profile_compile:
        progress.enter("profile")
        import jax

        from jaxmeter._compile.profile import compile_profile

        jax.clear_caches()  # otherwise earlier traces would be used, which take no time
        progress.note(compile_summary=compile_profile(case).summary(sys.path))
    progress.record = rejected_if_not_compiled(progress.record, cold=True)


def _bind(cpus: tuple[int, ...]) -> None:
    if not hasattr(os, "sched_setaffinity"):
        raise JaxmeterError(
            f"BenchmarkCase: got cpus={cpus}, but {sys.platform} cannot bind a process to "
            "CPUs; give cpus=None"
        )
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        there = sorted(os.sched_getaffinity(0))
        raise JaxmeterError(
            f"BenchmarkCase: got cpus={cpus} ({error}); give only CPUs from {there}"
        ) from error


if __name__ == "__main__":
    run_worker(BenchmarkCase, work)
