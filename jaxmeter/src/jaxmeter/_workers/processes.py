"""Run a worker process within its time limit, whatever the measured function does.

The worker reads its task from standard input and sends its answers through a pipe. Each answer is a
line that begins with a token. So no files are needed, and nothing that the function prints or
writes is mistaken for an answer. A function can find the token if it searches the memory of its
process. No measurement in the same process can prevent this.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import secrets
import selectors
import signal
import site
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import jaxmeter
from jaxmeter._measure.progress import UNFINISHED
from jaxmeter._records.plain_data import PlainData
from jaxmeter._records.record import Failure
from jaxmeter.errors import JaxmeterError, RecordError

ANSWER_BYTES = 2**24
"""The maximum size of an answer of a worker."""
_FOLDING_ALARM = b"Constant folding an instruction is taking > 1s"
_PRINTED_BYTES = 16_000
_READ_BYTES = 2**16
_LAST_READS_COUNT = 64  # enough to empty a pipe, without waiting for processes that still write
_POLL_SECONDS = 0.05
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
    """The time of the process; None if no process could be started."""
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
    ``timeout_seconds`` the worker is killed. When the worker has ended, every process that it
    started is killed; on systems other than Linux, only its process group is killed. The module of
    the worker calls `worker.run_worker`.

    Raises
    ------
    JaxmeterError
        If this process is itself a worker. Workers import the file of the function that they
        measure, so a call at the top level of this file would start workers without end.
    """
    if _is_worker:
        raise JaxmeterError(
            "jaxmeter: got a call that starts a worker process from inside a worker process, which "
            "imports the file of the measured function; put this call below `if __name__ == "
            '"__main__":`, or in another file'
        )
    token = secrets.token_hex(16).encode()
    given = token + b"\n" + task.to_json().encode()
    read_end, write_end = os.pipe()
    answers, output = _Answers(token), _Output()
    start = time.perf_counter()
    try:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, str(write_end)],
            env=_environment(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(write_end,),
            start_new_session=True,
            bufsize=0,
        )
    except (OSError, ValueError) as error:  # no memory, no process left, NUL in a variable
        os.close(read_end)
        return EndedWorker(1, None, f"no process could be started: {error}", None)
    finally:
        os.close(write_end)
    assert process.stdin is not None and process.stdout is not None
    pipes = [_Pipe(read_end, answers.add), _Pipe(process.stdout.fileno(), output.add)]
    task_pipe = _Outgoing(process.stdin, given)
    try:
        code = _watch(process, pipes, task_pipe, timeout_seconds)
        for pipe in pipes:
            for _ in range(_LAST_READS_COUNT):
                if not pipe.read():
                    break
    finally:
        os.close(read_end)
        process.stdout.close()
        task_pipe.close()
    seconds = time.perf_counter() - start
    printed = output.end.decode(errors="replace")
    return EndedWorker(code, answers.last, printed, seconds, output.alarms_count)


def _watch(
    process: subprocess.Popen, pipes: list[_Pipe], task: _Outgoing, timeout_seconds: float
) -> int | None:
    """Read the pipes until the process ends; return its exit code, or None if the time limit
    expired.

    Do not wait for the end of a pipe: after the worker has ended, one of its children may keep the
    pipe open.
    """
    until = time.monotonic() + timeout_seconds
    try:
        with selectors.DefaultSelector() as selector:
            for pipe in pipes:
                selector.register(pipe.descriptor, selectors.EVENT_READ, pipe.read)
            selector.register(task.stream, selectors.EVENT_WRITE, task.write)
            while process.poll() is None:
                left = until - time.monotonic()
                if left <= 0:
                    return None
                for key, _ in selector.select(min(left, _POLL_SECONDS)):
                    if not key.data():
                        selector.unregister(key.fileobj)
        return process.returncode
    finally:
        _end(process)


def _end(process: subprocess.Popen) -> None:
    """End the supervisor, which ends the worker and its children; then kill the process group."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            process.terminate()
            process.send_signal(signal.SIGCONT)  # the worker may have stopped the supervisor
            process.wait(_ENDING_SECONDS)
    # The system does not reuse a group's number while the group has members.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class _Pipe:
    """The read end of a pipe, which is read without waiting."""

    def __init__(self, descriptor: int, add: Callable[[bytes], None]) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor, self._add = descriptor, add

    def read(self) -> bool:
        """Read some of the available data; return False if the pipe has ended or is empty."""
        try:
            chunk = os.read(self.descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        self._add(chunk)
        return bool(chunk)


class _Outgoing:
    """Data to write to a process without waiting, because the process may not read the data."""

    def __init__(self, stream, content: bytes) -> None:
        os.set_blocking(stream.fileno(), False)
        self.stream, self._left = stream, memoryview(content)

    def write(self) -> bool:
        """Write as much as the pipe accepts; return whether any data are left to write."""
        try:
            self._left = self._left[os.write(self.stream.fileno(), self._left) :]
        except BrokenPipeError:
            self._left = self._left[:0]
        if not self._left:
            self.close()
        return bool(self._left)

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.stream.close()


class _Output:
    """The last part of a worker's output, and a count of XLA's warnings of slow constant folding.

    The warnings are counted in the whole output.
    """

    def __init__(self) -> None:
        self.end = b""
        self.alarms_count = 0

    def add(self, chunk: bytes) -> None:
        # The end of the earlier text may contain the beginning of an alarm, but not a whole alarm.
        before = self.end[1 - len(_FOLDING_ALARM) :]
        self.alarms_count += (before + chunk).count(_FOLDING_ALARM)
        self.end = (self.end + chunk)[-_PRINTED_BYTES:]


class _Answers:
    """The last answer of a worker: the last line in its pipe that begins with the token."""

    def __init__(self, token: bytes) -> None:
        self.last: bytes | None = None
        self._token, self._line = token, bytearray()

    def add(self, chunk: bytes) -> None:
        first, *others = chunk.split(b"\n")
        self._append(first)
        for part in others:
            if self._line.startswith(self._token):
                self.last = bytes(self._line[len(self._token) :])
            self._line = bytearray()
            self._append(part)

    def _append(self, part: bytes) -> None:
        if len(self._line) <= ANSWER_BYTES:
            self._line += part
        else:  # too long for an answer: the rest of the line is dropped
            self._line[:1] = b" "


def _environment(over: Mapping[str, str]) -> dict[str, str]:
    env = dict(os.environ)
    env["JAX_ENABLE_COMPILATION_CACHE"] = "false"
    env.update(over)
    home = str(Path(jaxmeter.__file__).resolve().parent.parent)
    installed = {sysconfig.get_path("purelib"), site.getusersitepackages()}
    if home not in {str(Path(folder).resolve()) for folder in installed}:
        # The worker must import the same jaxmeter as this process. If jaxmeter is not installed,
        # add its folder to PYTHONPATH. Never add site-packages: they would hide the standard
        # library.
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [env.get("PYTHONPATH"), home]))
    return env
