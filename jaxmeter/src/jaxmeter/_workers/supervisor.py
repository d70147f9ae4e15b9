"""Supervise a worker: end every process that the worker leaves behind, then exit as the worker did.

A worker process forks once, before it imports any part of its task. The child does the work, and
the parent becomes the supervisor. On Linux, the supervisor ends the child and all descendants of
the child, even descendants in other sessions: when the parent of a descendant ends, the descendant
becomes a child of the supervisor (PR_SET_CHILD_SUBREAPER of prctl(2)). On other systems, the
supervisor ends only the child, and `in_worker` kills the worker's process group.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from pathlib import Path

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)
_SET_CHILD_SUBREAPER = 36
_SIGNALS = {signal.SIGCHLD, signal.SIGTERM}
_ENDING_SECONDS = 5.0
_PAUSE_SECONDS = 0.002


def fork_supervised() -> None:
    """Fork and return in the child; the parent becomes the supervisor and never returns. When the
    child ends or SIGTERM arrives, the supervisor kills the processes that are still running: the
    child and, on Linux, all its descendants. Linux sends SIGTERM when the supervisor's parent ends.
    """
    _prctl(_SET_CHILD_SUBREAPER, 1)
    _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # some systems drop signals that are ignored
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        return
    code = -signal.SIGKILL
    with contextlib.suppress(BaseException):
        code = _exit_code_of(child)
    with contextlib.suppress(BaseException):
        _end_children(child)
    _exit_as(code)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


def _exit_code_of(child: int) -> int:
    """Wait for the child; return its exit code, or -SIGTERM if SIGTERM arrives first."""
    while signal.sigwait(_SIGNALS) == signal.SIGCHLD:
        pid = -1
        while pid != 0:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                return os.waitstatus_to_exitcode(status)
    return -signal.SIGTERM


def _end_children(child: int) -> None:
    """Kill the child and all other children of this process, until no child is left, or until
    `_ENDING_SECONDS` have passed."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    until = time.monotonic() + _ENDING_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(FileNotFoundError):  # not Linux
            for pid in map(int, listed.read_text().split()):
                os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(_PAUSE_SECONDS)


def _exit_as(code: int) -> None:
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # write no second core file
        with contextlib.suppress(OSError, ValueError):  # SIGKILL has no handler
            signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.kill(os.getpid(), -code)
    os._exit(code if code >= 0 else 1)
