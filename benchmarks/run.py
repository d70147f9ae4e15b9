"""``python -m benchmarks.run``: measure the checked-out commit with asv, shown as a progress bar.

Killed at any moment and repeated, it goes on where it stopped: finished cells lie in the store,
half-made asv environments and locks of dead processes are cleared away first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import (
    casing,
    chunks,
    closure,
    common,
    devices,
    memory,
    offsurface,
    reference,
    shape,
)
from benchmarks.plan import GRID_VARIABLE, GRIDS
from benchmarks.repair import AnotherRun, RunLock, repair_asv_folder

ROOT = Path(__file__).resolve().parents[1]
# By their modules: a suite's class imported here would be collected a second time by asv.
SUITES: tuple[type[common.CellSuite], ...] = (
    casing.CasingVariants,
    chunks.ChunkSweep,
    closure.CoronagraphVariants,
    devices.DeviceSweep,
    memory.MemorySweep,
    offsurface.OffSurface,
    reference.AgainstReference,
    reference.GradientAgainstReference,
    shape.ShapeGradient,
)
ASV_FOUND_FAILURES = 2


class RunFailed(Exception):
    """asv could not measure; the message says why and where its output is."""


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, measure, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--grid", choices=GRIDS, default="quick", help="which cells, how often")
    options = parser.parse_args(argv)
    try:
        return measure_head(options.grid, ROOT / "results")
    except (RunFailed, AnotherRun) as error:
        print(f"benchmarks.run: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "\nbenchmarks.run: interrupted; finished cells are kept, repeat the command to go on",
            file=sys.stderr,
        )
        return 130


def measure_head(grid: str, results: Path) -> int:
    """Measure HEAD on a grid; the exit code is 0 also where single cells failed, which it tells."""
    print(announcement())
    results.mkdir(exist_ok=True)
    log, progress = results / "asv.log", results / "progress.jsonl"
    with RunLock(results / "run.lock") as lock:
        repair_asv_folder(ROOT / ".asv")
        progress.write_text("", encoding="utf-8")
        with open(log, "w", encoding="utf-8") as stream:
            _asv(["machine", "--yes"], stream)
            asv = start_asv(grid, progress, stream, lock)
            code = follow(asv, grid, progress, log)
    if code not in (0, ASV_FOUND_FAILURES):
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:])
        raise RunFailed(f"asv ended with exit code {code}; the end of {log}:\n{tail}")
    return 0


def announcement() -> str:
    """Which commit is measured, and that uncommitted changes of vcjax are not."""
    commit = _git("rev-parse", "--short=10", "HEAD")
    changed = _git("status", "--porcelain", "--", "vcjax", "pyproject.toml")
    text = f"measuring vcjax at commit {commit}"
    if changed:
        text += (
            "\nthe working tree has changes in vcjax that are not committed: "
            "HEAD is measured, without them"
        )
    return text


def start_asv(grid: str, progress: Path, log, lock: RunLock) -> subprocess.Popen:
    """Start ``asv run`` on HEAD; it inherits the lock, so the lock lives as long as asv does."""
    environment = {
        **os.environ,
        GRID_VARIABLE: grid,
        "VCJAX_BENCH_PROGRESS": str(progress),
        "PYTHONUNBUFFERED": "1",  # asv's lines are read while it works
    }
    command = [sys.executable, "-m", "asv", "run", "--show-stderr", "--record-samples", "HEAD^!"]
    asv = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        pass_fds=(lock.descriptor,),
    )
    lock.name_owner(asv.pid)
    return asv


def follow(asv: subprocess.Popen, grid: str, progress: Path, log: Path) -> int:
    """Show progress until asv ends; on an interrupt end it, and everything it started."""
    from benchmarks.progress import View, drawn
    from benchmarks.repair import end_process_tree

    planned = {suite.suite: sum(c.rounds for c in suite().plan(grid)) for suite in SUITES}
    view = View(planned, progress, log)
    try:
        with drawn(view) as draw:
            while asv.poll() is None:
                draw()
                time.sleep(0.25)
            draw()
    except BaseException:
        end_process_tree(asv.pid)
        raise
    for line in view.problems:
        print(line)
    return asv.returncode


def _asv(arguments: list[str], log) -> None:
    command = [sys.executable, "-m", "asv", *arguments]
    code = subprocess.call(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
    )
    if code != 0:
        raise RunFailed(f"'asv {' '.join(arguments)}' ended with exit code {code}; see {log.name}")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise RunFailed(
            f"'git {' '.join(arguments)}' failed: {done.stderr.strip()}; "
            "measuring needs a git clone with at least one commit"
        )
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
