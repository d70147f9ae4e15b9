"""One measuring run at a time, and the traces of killed ones cleared away."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path

TAKE_OVER_SECONDS = 30.0


class AnotherRun(Exception):
    """Somebody else is measuring in this checkout."""


class RunLock:
    """A lock file held by a run and by the asv process that inherits it.

    The operating system drops the lock when its last holder dies, so it cannot go stale. Where the
    run was killed but its asv lives on, the next run ends that asv and takes over: nobody waits for
    its outcome, and its load would spoil what is measured now.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.descriptor = -1

    def __enter__(self) -> RunLock:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        if not self._take():
            self._end_orphan()
        self._write({"run": os.getpid(), "asv": None})
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def name_owner(self, asv: int) -> None:
        """Write down which asv process inherits the lock."""
        self._write({"run": os.getpid(), "asv": asv})

    def _take(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _end_orphan(self) -> None:
        owners = self._read()
        if owners.get("run") is None or _alive(owners["run"]):
            raise AnotherRun(
                f"process {owners.get('run', 'unknown')} is measuring in this checkout already; "
                "wait for it or stop it, then run the same command again"
            )
        print("an earlier run was killed and its asv still works: ending it")
        if owners.get("asv") is not None:
            end_process_tree(owners["asv"])
        deadline = time.monotonic() + TAKE_OVER_SECONDS
        while not self._take():
            if time.monotonic() > deadline:
                raise AnotherRun(f"{self._path} is still held by a process of an earlier run")
            time.sleep(0.1)

    def _read(self) -> dict:
        try:
            return json.loads(self._path.read_text(encoding="utf-8"))
        except ValueError:
            return {}

    def _write(self, owners: dict) -> None:
        os.ftruncate(self.descriptor, 0)
        os.pwrite(self.descriptor, json.dumps(owners).encode(), 0)


def repair_asv_folder(folder: Path) -> None:
    """Remove what a killed asv leaves behind and cannot get past by itself.

    Its result files are not written atomically: one cut short is set aside, so that asv writes a
    new one. Lock files of git in its own clones of the project would stop every later checkout.
    Half-made environments and wheels asv discards by itself.
    """
    for path in sorted((folder / "results").rglob("*.json")):
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            path.replace(path.with_suffix(".unreadable"))
    for path in sorted((folder / "env").glob("*/project/.git/*.lock")):
        path.unlink(missing_ok=True)


def end_process_tree(pid: int) -> None:
    """End a process and all it started: asked first, then forced."""
    import psutil

    try:
        root = psutil.Process(pid)
        processes = [*root.children(recursive=True), root]
    except psutil.NoSuchProcess:
        return
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=5)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=5)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
