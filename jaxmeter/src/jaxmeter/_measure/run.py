"""Run a benchmark in a fresh worker process and return its record, also if the process dies."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import site
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import jaxmeter
from jaxmeter._measure.benchmark import BenchmarkCase
from jaxmeter._measure.environment import host_environment
from jaxmeter._measure.progress import UNFINISHED
from jaxmeter._records.record import Failure, Record
from jaxmeter.errors import JaxmeterError, RecordError

_FOLDING_ALARM = re.compile(r"Constant folding an instruction is taking > 1s")
_OUTPUT_TAIL_CHARACTERS = 4000


def run_case(benchmark: BenchmarkCase) -> Record:
    """Measure a benchmark in a fresh process, cold, within its time limit.

    Returns
    -------
    Record
        Always: a failed import, an exception, a crash or a timeout is told by its ``status`` and
        ``failure``, and what was measured before is kept.

    Raises
    ------
    JaxmeterError
        If it gets something other than a benchmark.

    Notes
    -----
    The process leads a session of its own, and when it ends, or is out of time, or this one is
    interrupted, the whole process group is killed. POSIX only.
    """
    if not isinstance(benchmark, BenchmarkCase):
        raise JaxmeterError(
            f"run_case: got {benchmark!r:.80}; give a "
            "jaxmeter.BenchmarkCase(name, 'package.module:function')"
        )
    ended = in_worker(
        "jaxmeter._measure.worker",
        ("--case", "--record"),
        benchmark.to_json(),
        benchmark.env,
        benchmark.timeout_seconds,
    )
    return told(_read(ended.answer, benchmark), ended, benchmark.timeout_seconds)


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a worker ended, and what it left."""

    code: int | None
    """Its exit code, negative for a signal; None if its time was up."""
    answer: bytes | None
    """The last that it wrote."""
    printed: str
    seconds: float


def in_worker(
    module: str, flags: tuple[str, str], given: str, env: Mapping[str, str], timeout_seconds: float
) -> Ended:
    """Run a worker's module in a fresh process, within its time limit.

    Parameters
    ----------
    module : str
        What ``python -m`` runs.
    flags : pair of str
        Its options for the file it reads, and the file it writes.
    given : str
        What it is to read.
    env : mapping
        Environment variables set over those of this process.
    timeout_seconds : float
        When to kill it, with its children.
    """
    with tempfile.TemporaryDirectory(prefix="jaxmeter-") as folder:
        given_file, answer_file, output_file = (
            Path(folder, name) for name in ("given.json", "answer.json", "output.txt")
        )
        given_file.write_text(given)
        command = [sys.executable, "-P", "-m", module, "--die-with-parent"]
        command += [flags[0], str(given_file), flags[1], str(answer_file)]
        start = time.perf_counter()
        with output_file.open("wb") as output:
            # Output goes to a file: a pipe would fill up, and a child that outlives the worker
            # would hold it open.
            code = _run(command, _environment(env), output, timeout_seconds)
        seconds = time.perf_counter() - start
        answer = answer_file.read_bytes() if answer_file.exists() else None
        return Ended(code, answer, output_file.read_text(errors="replace"), seconds)


def _run(command: list[str], env: dict[str, str], output, timeout_seconds: float) -> int | None:
    """The exit code, negative for a signal; None if the time was up."""
    process = subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return process.wait(timeout_seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        # Its children too. The number of a group whose leader is gone is not given out again
        # while the group has members; if it has none there is nobody to kill.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _environment(over: Mapping[str, str]) -> dict[str, str]:
    env = dict(os.environ)
    env["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    env.update(over)
    home = str(Path(jaxmeter.__file__).resolve().parent.parent)
    installed = {sysconfig.get_path("purelib"), site.getusersitepackages()}
    if home not in {str(Path(folder).resolve()) for folder in installed}:
        # The worker must find this very jaxmeter where it is on sys.path by other means. An
        # installed one it finds, and site-packages on PYTHONPATH would come before Python's own.
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH"), home]))
    return env


def _read(answer: bytes | None, benchmark: BenchmarkCase) -> Record:
    """The last record that the worker wrote; one that knows nothing if there is none."""
    kind, message = UNFINISHED, "ended before it wrote a record"
    if answer is not None:
        try:
            return Record.from_json(answer)
        except RecordError as error:
            kind, message = type(error).__name__, str(error)
    return Record(
        name=benchmark.name,
        status="failed",
        target=benchmark.target,
        params=benchmark.params,
        failure=Failure("start", kind, message),
        environment=host_environment(),
    )


def told(record: Record, ended: Ended, timeout_seconds: float) -> Record:
    """The record with what only the parent knows: how the worker ended and what it printed."""
    code = ended.code
    constants = dataclasses.replace(
        record.constants, folding_alarms_count=len(_FOLDING_ALARM.findall(ended.printed))
    )
    record = dataclasses.replace(record, constants=constants, wall_seconds=ended.seconds)
    failure = record.failure
    if failure is None:
        return record
    status = record.status
    if failure.kind == UNFINISHED:
        # Only here does the way the process ended matter: what it wrote as finished is finished.
        if code is None:
            status = "timeout"
            kind = "Timeout"
            message = (
                f"was in {failure.phase} after {timeout_seconds:g} s, the limit "
                "timeout_seconds, and was killed"
            )
        elif code < 0:
            kind, message = "Signal", f"died of {_signal_name(-code)} in {failure.phase}"
        else:
            kind, message = "Exit", f"left with exit code {code} in {failure.phase}"
        failure = dataclasses.replace(failure, kind=kind, message=message)
    failure = dataclasses.replace(failure, output=ended.printed[-_OUTPUT_TAIL_CHARACTERS:])
    return dataclasses.replace(record, status=status, failure=failure)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
