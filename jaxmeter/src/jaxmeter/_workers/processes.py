"""Run a worker process within its time limit, whatever the measured function does.

The worker reads its task from a file in a temporary folder, and writes its answers to another file
in this folder. Nothing that the function prints or writes to open files is mistaken for an answer.
But a function can find the folder in the command line of its process, and write a false answer.
This cannot be prevented, because the same process runs the function and writes the answer.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import site
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import jaxmeter
from jaxmeter._measure.progress import UNFINISHED
from jaxmeter._records.files import read_file, temporary_folder, write_file
from jaxmeter._records.plain_data import PlainData
from jaxmeter._records.record import Failure
from jaxmeter.errors import FileError, JaxmeterError, RecordError

TASK, ANSWER = "task.json", "answer.json"
"""The names of the two files in a worker's folder. The worker gets the folder as its argument."""
_FOLDING_ALARM = b"Constant folding an instruction is taking > 1s"
_PRINTED_BYTES = 16_000
_READ_BYTES = 2**16
_POLL_SECONDS = 0.05
_LAST_READ_SECONDS = 1.0
_ENDING_SECONDS = 10.0

T = TypeVar("T", bound=PlainData)


@dataclasses.dataclass(frozen=True)
class EndedWorker:
    """The exit code, answer and output of a worker process that has ended."""

    exit_code: int | None
    """Negative if a signal ended the process; None if the process was killed at its time limit; 1
    if no process could be started."""
    answer: bytes | None
    """The last answer that the worker sent; None if it sent no answer."""
    printed: str
    """The last part of the worker's output; the error if no process could be started."""
    seconds: float | None
    """The running time of the process; None if no process could be started."""
    folding_alarms_count: int = 0

    def answer_as(self, answer_type: type[T]) -> T | Failure:
        """Return the answer as an ``answer_type``, or a failure if the worker sent no readable
        answer."""
        if self.answer is None:
            return Failure("start", UNFINISHED, "the worker ended before it sent an answer")
        try:
            return answer_type.from_json(self.answer)
        except RecordError as error:
            return Failure("start", type(error).__name__, str(error))


_is_worker = False


def mark_worker() -> None:
    """Mark this process as a worker, so that it starts no workers of its own."""
    global _is_worker
    _is_worker = True


def in_worker(
    module: str, task: PlainData, env: Mapping[str, str], timeout_seconds: float
) -> EndedWorker:
    """Run the module of a worker on a task, in a fresh process and within a time limit.

    The variables in ``env`` override the environment variables of this process. After
    ``timeout_seconds`` the worker is killed. When the worker has ended, every process that the
    worker started is killed; on systems other than Linux, only the worker's process group is
    killed. The module of the worker calls `worker.run_worker`.

    Raises
    ------
    JaxmeterError
        If this process is itself a worker. Workers import the file of the function that they
        measure. If the top level of this file started a worker, this worker would start another
        worker, and so on without end.
    FileError
        If no temporary folder can be made, or the task cannot be written into it.
    """
    if _is_worker:
        raise JaxmeterError(
            "jaxmeter: got a call that starts a worker process from inside a worker process; a "
            "worker process imports the file of the measured function, so put this call below `if "
            '__name__ == "__main__":`, or in another file'
        )
    with temporary_folder() as folder:
        write_file(folder / TASK, task.to_json())
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, str(folder)],
                env=_environment(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                bufsize=0,
            )
        except (OSError, ValueError) as error:  # no memory, no process left, NUL in a variable
            return EndedWorker(1, None, f"no process could be started: {error}", None)
        output = _Output(process.stdout)
        try:
            output.start()
            code = _exit_code(process, output, timeout_seconds)
        finally:
            _end(process)
        seconds = time.perf_counter() - start
        output.join(_LAST_READ_SECONDS)  # a process outside the group may keep the pipe open
        try:
            answer = read_file(folder / ANSWER)
        except (FileError, OSError):  # there is no answer, or the function put something else there
            answer = None
    printed = output.end.decode(errors="replace")
    return EndedWorker(code, answer, printed, seconds, output.alarms_count)


def _exit_code(process: subprocess.Popen, output: _Output, timeout_seconds: float) -> int | None:
    """Wait for a process; return its exit code, or None if the time limit expired.

    Wait for the end of the output first, because `Popen.wait` polls, and so may return some time
    after the process has ended. Also check the process itself, because a child of the worker may
    keep the pipe open after the worker has ended.
    """
    until = time.monotonic() + timeout_seconds
    while output.is_alive() and process.poll() is None and time.monotonic() < until:
        output.join(_POLL_SECONDS)
    try:
        return process.wait(max(until - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        return None


def _end(process: subprocess.Popen) -> None:
    """End the worker's supervisor, which ends the worker and its children (see ``supervisor.py``).
    Then kill the process group."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            process.terminate()
            process.send_signal(signal.SIGCONT)  # the worker may have stopped the supervisor
            process.wait(_ENDING_SECONDS)
    # The system does not reuse a group's number while the group has members.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class _Output(threading.Thread):
    """A thread that reads a worker's output. It keeps the last part, and counts XLA's warnings of
    slow constant folding in the whole output."""

    def __init__(self, stream: Any) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self.end = b""
        self.alarms_count = 0

    def run(self) -> None:
        with self._stream:
            while chunk := self._stream.read(_READ_BYTES):
                # The end of the earlier text may contain the beginning of a warning, but not a
                # whole warning.
                before = self.end[1 - len(_FOLDING_ALARM) :]
                self.alarms_count += (before + chunk).count(_FOLDING_ALARM)
                self.end = (self.end + chunk)[-_PRINTED_BYTES:]


def _environment(over: Mapping[str, str]) -> dict[str, str]:
    env = {**os.environ, "JAX_ENABLE_COMPILATION_CACHE": "false", **over}
    home = str(Path(jaxmeter.__file__).resolve().parent.parent)
    installed = {sysconfig.get_path("purelib"), site.getusersitepackages()}
    if home not in {str(Path(folder).resolve()) for folder in installed}:
        # The worker must import the same jaxmeter as this process. If jaxmeter is not installed,
        # add its folder to PYTHONPATH. Never add site-packages: they would hide the standard
        # library.
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH"), home]))
    return env
