"""The worker process: measures one benchmark, cold, and writes its record.

``python -m jaxmeter._measure.worker [--case FILE] [--record FILE]``: the benchmark is JSON,
from a file or from standard input; the record goes to a file or to standard output. What the
target itself prints never mixes with the record. Whatever goes wrong with the target is told in
the record, and the exit status is 0 once a record is written. `jaxmeter.run_case` starts it,
limits its time, and tells what happened if it dies.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from jaxmeter._measure.benchmark import BenchmarkCase
from jaxmeter._measure.environment import host_environment, jax_environment
from jaxmeter._measure.progress import Progress
from jaxmeter._measure.targets import resolve
from jaxmeter._records.record import Record
from jaxmeter.errors import JaxmeterError

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def main(argv: Sequence[str] | None = None) -> int:
    """Read a benchmark, measure it, write the record; return 0 if written, 2 for bad usage."""
    parser = argparse.ArgumentParser(
        prog="python -m jaxmeter._measure.worker",
        description="Measure one benchmark in this process.",
    )
    parser.add_argument("--case", default="-", help="file with the benchmark's JSON; - for stdin")
    parser.add_argument("--record", default="-", help="file for the record's JSON; - for stdout")
    parser.add_argument(
        "--die-with-parent", action="store_true", help="end when the parent is killed (Linux)"
    )
    options = parser.parse_args(argv)
    if options.die_with_parent:
        die_with_parent()
    if options.record == "-":
        write, report = _to_stream(_take_stdout()), None
    else:
        write = report = _to_file(Path(options.record))
    try:
        text = sys.stdin.read() if options.case == "-" else Path(options.case).read_text()
        benchmark = BenchmarkCase.from_json(text)
    except (OSError, UnicodeDecodeError, JaxmeterError) as error:
        write(Progress(Record(name="?", status="failed")).failed(error))
        return 0
    write(work(benchmark, report))
    return 0


def work(benchmark: BenchmarkCase, report: Callable[[Record], None] | None = None) -> Record:
    """Measure a benchmark in this process, which should be fresh.

    Parameters
    ----------
    benchmark : BenchmarkCase
        Its time limit and environment variables are for who starts the process.
    report : callable, optional
        Called with the unfinished record whenever a phase begins.
    """
    record = Record(
        name=benchmark.name, status="ok", target=benchmark.target, params=benchmark.params
    )
    progress = Progress(record, report)
    try:
        _work(benchmark, progress)
    except BaseException as error:  # SystemExit too: whatever the target does is told
        return progress.failed(error)
    # Imported by now; at the top of the file an import that fails would go untold.
    from jaxmeter._measure.meter import judged

    return judged(progress.record, cold=True)


def _work(benchmark: BenchmarkCase, progress: Progress) -> None:
    progress.note(environment=host_environment())
    progress.enter("start")
    if benchmark.cpus is not None:
        _bind(benchmark.cpus)
        progress.note(environment=host_environment())
    sys.path[:0] = benchmark.path
    progress.enter("import")
    make_case = resolve(benchmark.target, "BenchmarkCase", "returns a jaxmeter.Case")
    # The target's module has had its say on JAX's configuration; only now does the backend start.
    from jaxmeter._measure.case import Case
    from jaxmeter._measure.meter import measure_case

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


def die_with_parent() -> None:
    # A worker of run_case is in a session of its own, out of reach of the terminal's signals; if
    # its parent is killed nobody else would end it. Elsewhere than on Linux it ends its work.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _take_stdout() -> TextIO:
    """The standard output for the record alone; all else that is printed goes to the error."""
    sys.stdout.flush()
    ours = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return ours


def _to_stream(stream: TextIO) -> Callable[[Record], None]:
    def write(record: Record) -> None:
        stream.write(record.to_json() + "\n")
        stream.flush()

    return write


def _to_file(path: Path) -> Callable[[Record], None]:
    return lambda record: write_whole(path, record.to_json())


def write_whole(path: Path, text: str) -> None:
    """Write a file so that whoever reads it finds a whole one, at any time."""
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)


if __name__ == "__main__":
    sys.exit(main())
