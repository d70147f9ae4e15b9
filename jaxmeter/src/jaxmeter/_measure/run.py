"""Measure a benchmark case in a fresh worker process; return a record also if the process dies."""

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
from typing import TypeVar

import jaxmeter
from jaxmeter._measure.benchmark import BenchmarkCase
from jaxmeter._measure.environment import host_environment
from jaxmeter._measure.progress import UNFINISHED
from jaxmeter._records.plain_data import PlainData
from jaxmeter._records.record import Failure, Record
from jaxmeter.errors import JaxmeterError, RecordError

_FOLDING_ALARM = re.compile(r"Constant folding an instruction is taking > 1s")
_OUTPUT_TAIL_CHARACTERS = 4000

T = TypeVar("T", bound=PlainData)


def run_case(case: BenchmarkCase) -> Record:
    """Measure a benchmark case in a fresh process, cold, within its time limit.

    Returns
    -------
    Record
        Always: ``status`` and ``failure`` say of a failed import, an exception, a crash or a
        timeout, and everything measured before it is kept.

    Raises
    ------
    JaxmeterError
        If the argument is no `BenchmarkCase`.

    Notes
    -----
    The process leads a session of its own, and when it ends, or is out of time, or this process is
    interrupted, the whole process group is killed. POSIX only.
    """
    if not isinstance(case, BenchmarkCase):
        raise JaxmeterError(
            f"run_case: got {case!r:.80}; give a "
            "jaxmeter.BenchmarkCase(name, 'package.module:function')"
        )
    ended = in_worker("jaxmeter._measure.worker", case, case.env, case.timeout_seconds)
    record = ended.answer_as(Record)
    if isinstance(record, Failure):
        known = Record(case.name, "failed", case.target, case.params, failure=record)
        record = dataclasses.replace(known, environment=host_environment())
    return with_ending(record, ended, case.timeout_seconds)


@dataclasses.dataclass(frozen=True)
class EndedWorker:
    """The exit, answer and output of a worker process."""

    exit_code: int | None
    """Negative for a signal; None if its time was up."""
    answer: bytes | None
    """The last answer that it wrote."""
    printed: str
    seconds: float

    def answer_as(self, answer_type: type[T]) -> T | Failure:
        """Return the answer, or the failure of a worker that left none."""
        if self.answer is None:
            return Failure("start", UNFINISHED, "ended before it wrote an answer")
        try:
            return answer_type.from_json(self.answer)
        except RecordError as error:
            return Failure("start", type(error).__name__, str(error))


def in_worker(
    module: str, task: PlainData, env: Mapping[str, str], timeout_seconds: float
) -> EndedWorker:
    """Run the module of a worker in a fresh process, on a task, within its time limit.

    ``env`` is set over the environment variables of this process. After ``timeout_seconds`` the
    process is killed, with its children. See `worker.run_worker`.
    """
    with tempfile.TemporaryDirectory(prefix="jaxmeter-") as folder:
        task_file, answer_file, output_file = (
            Path(folder, name) for name in ("task.json", "answer.json", "output.txt")
        )
        task_file.write_text(task.to_json())
        command = [sys.executable, "-P", "-m", module, str(task_file), str(answer_file)]
        start = time.perf_counter()
        with output_file.open("wb") as output:
            # Output goes to a file: a pipe would fill up, and a child that outlives the worker
            # would hold it open.
            code = _run(command, _environment(env), output, timeout_seconds)
        seconds = time.perf_counter() - start
        answer = answer_file.read_bytes() if answer_file.exists() else None
        return EndedWorker(code, answer, output_file.read_text(errors="replace"), seconds)


def _run(command: list[str], env: dict[str, str], output, timeout_seconds: float) -> int | None:
    """Return the exit code, negative for a signal; None if the time was up."""
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
        # Kill its children too. The system does not reuse a group's number while the group has
        # members, so this never kills another process.
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
        # The worker must import the same jaxmeter as this process. If it is not installed, add its
        # folder to PYTHONPATH. Never add site-packages: they would hide the standard library.
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH"), home]))
    return env


def with_ending(record: Record, ended: EndedWorker, timeout_seconds: float) -> Record:
    """Return the record with what only the parent can see: how the worker ended, its output."""
    alarms = len(_FOLDING_ALARM.findall(ended.printed))
    constants = dataclasses.replace(record.constants, folding_alarms_count=alarms)
    record = dataclasses.replace(record, constants=constants, wall_seconds=ended.seconds)
    failure = record.failure
    if failure is None:
        return record
    status, kind, message = record.status, failure.kind, failure.message
    if kind == UNFINISHED:  # an answer that the worker finished stands, however the process ended
        code, phase = ended.exit_code, failure.phase
        if code is None:
            status, kind = "timeout", "Timeout"
            limit = f"{timeout_seconds:g} s (timeout_seconds)"
            message = f"the worker was killed in {phase} after {limit}"
        elif code < 0:
            kind, message = "Signal", f"the worker died of {_signal_name(-code)} in {phase}"
        else:
            kind, message = "Exit", f"the worker exited with code {code} in {phase}"
    output = ended.printed[-_OUTPUT_TAIL_CHARACTERS:]
    failure = dataclasses.replace(failure, kind=kind, message=message, output=output)
    return dataclasses.replace(record, status=status, failure=failure)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
