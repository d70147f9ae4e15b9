"""The checkout that is measured: its commits, their packages, and the lock of a run."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from jaxmeter import JaxmeterError, host_environment

ROOT = Path(__file__).resolve().parents[2]


class CheckoutError(Exception):
    """An error that the user can correct; the message says what to try."""


def exit_code(command: str, work: Callable[[], int | None]) -> int:
    """Do the work of a command, print the message of an error, and return the exit code.

    The code is the result of `work` (0 for None), 2 after an error that the user can correct, and
    130 after an interruption. SIGTERM is an interruption too, so that workers are ended.
    """
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return work() or 0
    except (CheckoutError, JaxmeterError, OSError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\n{command}: interrupted; rerun to resume", file=sys.stderr)
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)


def git(*arguments: str) -> bytes:
    """Run git in the checkout and return its output."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    if done.returncode != 0:
        raise CheckoutError(
            f"'git {' '.join(arguments)}' failed: {done.stderr.decode().strip()}; "
            "measure in a git clone that contains the commit"
        )
    return done.stdout


def commit_named(name: str) -> str:
    """Return the full hash of a commit; `name` is any name of the commit that git accepts."""
    return git("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").decode().strip()


def has_changes(*paths: str) -> bool:
    """Return whether the files or folders `paths` have changes that are not committed."""
    return bool(git("status", "--porcelain", "--", *paths))


def code_version() -> str:
    """Return a short digest of vcjax's code, the versions of JAX and jaxlib, and the machine."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "vcjax").rglob("*.py")):
        digest.update(path.read_bytes())
    environment = host_environment()
    digest.update(f"{environment.jax} {environment.jaxlib} {environment.machine}".encode())
    return digest.hexdigest()[:12]


def unpacked_package(commit: str, folder: Path) -> Path:
    """Unpack the package ``vcjax`` of a commit into a new folder, and return the package's path."""
    folder.mkdir(parents=True)
    archive = git("archive", commit, "--", "vcjax")
    subprocess.run(["tar", "-x", "-f", "-", "-C", folder], input=archive, check=True)
    return folder / "vcjax"


@contextmanager
def run_lock(path: Path = ROOT / "results" / "run.lock") -> Iterator[int]:
    """Hold the lock of a measuring run within a ``with`` block, and yield the lock's descriptor.

    A child process can inherit this file descriptor. The operating system releases the lock when
    every process with the descriptor has closed it or ended. If another process holds the lock,
    a `CheckoutError` is raised.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.pread(descriptor, 20, 0).decode() or "unknown"
        os.close(descriptor)
        raise CheckoutError(
            f"process {owner} is measuring in this checkout already; "
            "wait until that process ends, or stop that process, then run the same command again"
        ) from None
    try:
        name_owner(descriptor, os.getpid())
        yield descriptor
    finally:
        os.close(descriptor)


def name_owner(lock: int, pid: int) -> None:
    """Write the id of a process into the file of a lock; `lock` is the file descriptor."""
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(pid).encode(), 0)
