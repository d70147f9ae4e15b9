"""Run a worker process within its time limit, whatever the function in it does.

The worker gets its task by standard input and sends answers by a pipe, each a line that begins with
a token. So nothing depends on files, and nothing that the function prints, writes to a file or
writes to a descriptor is taken for an answer. A function that searches the memory of its own
process can find the token: no measurement in the function's process can rule that out.
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
from jaxmeter.errors import RecordError

ANSWER_BYTES = 2**24
"""No answer of a worker is longer."""
_FOLDING_ALARM = b"Constant folding an instruction is taking > 1s"
_PRINTED_BYTES = 16_000
_READ_BYTES = 2**16
_LAST_READS_COUNT = 64  # a pipe holds less, and whoever still writes is not waited for
_POLL_SECONDS = 0.05
_ENDING_SECONDS = 10.0

T = TypeVar("T", bound=PlainData)


@dataclasses.dataclass(frozen=True)
class EndedWorker:
    """The exit, answer and output of a worker process."""

    exit_code: int | None
    """Negative for a signal; None if its time was up."""
    answer: bytes | None
    """The last answer that it sent."""
    printed: str
    """The end of its output."""
    seconds: float
    folding_alarms_count: int = 0

    def answer_as(self, answer_type: type[T]) -> T | Failure:
        """Return the answer, or the failure of a worker that sent none."""
        if self.answer is None:
            return Failure("start", UNFINISHED, "ended before it sent an answer")
        try:
            return answer_type.from_json(self.answer)
        except RecordError as error:
            return Failure("start", type(error).__name__, str(error))


def in_worker(
    module: str, task: PlainData, env: Mapping[str, str], timeout_seconds: float
) -> EndedWorker:
    """Run the module of a worker in a fresh process, on a task, within its time limit.

    ``env`` is set over the environment variables of this process. When the process ends, or after
    ``timeout_seconds``, it is killed with everything that it started. See `worker.run_worker`.
    """
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
        return EndedWorker(1, None, f"no process could be started: {error}", 0.0)
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
    """Read the pipes until the process ends; return its exit code, None if its time was up.

    The end of a pipe is not waited for: a child that outlives the worker may hold it open.
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
    """End the supervisor, which ends the worker and what it started; then kill its group."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            process.terminate()
            process.send_signal(signal.SIGCONT)  # the worker may have stopped it
            process.wait(_ENDING_SECONDS)
    # The system does not reuse a group's number while the group has members.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class _Pipe:
    """The read end of a pipe, never waited for."""

    def __init__(self, descriptor: int, add: Callable[[bytes], None]) -> None:
        os.set_blocking(descriptor, False)
        self.descriptor, self._add = descriptor, add

    def read(self) -> bool:
        """Read a part of what is there; return False at the end of the pipe, or if it is empty."""
        try:
            chunk = os.read(self.descriptor, _READ_BYTES)
        except BlockingIOError:
            return False
        self._add(chunk)
        return bool(chunk)


class _Outgoing:
    """A text on its way to a process, which may not read it."""

    def __init__(self, stream, content: bytes) -> None:
        os.set_blocking(stream.fileno(), False)
        self.stream, self._left = stream, memoryview(content)

    def write(self) -> bool:
        """Write what the pipe takes; return whether more is to be written."""
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
    """The end of what a worker prints, and XLA's alarms in all of it."""

    def __init__(self) -> None:
        self.end = b""
        self.alarms_count = 0

    def add(self, chunk: bytes) -> None:
        # As much of the text before as may hold the beginning of an alarm, and no whole one.
        before = self.end[1 - len(_FOLDING_ALARM) :]
        self.alarms_count += (before + chunk).count(_FOLDING_ALARM)
        self.end = (self.end + chunk)[-_PRINTED_BYTES:]


class _Answers:
    """The last line with the token among the lines that a worker writes to its pipe."""

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
        else:  # too long for an answer: what is left of the line is dropped
            self._line[:1] = b" "


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
