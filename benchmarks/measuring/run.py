"""``python -m benchmarks.measuring.run``: measure commits with asv, shown as a progress bar.

Without ``--commits`` it is the checked-out commit, in the last JAX version of ``asv.conf.json``;
with ``--commits HEAD~10..HEAD`` those commits, in every version.

Killed at any moment and repeated, it goes on where it stopped: finished cases lie in the store,
half-made asv environments and locks of dead processes are cleared away first.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
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
from benchmarks.measuring.plan import GRID_VARIABLE, GRIDS
from benchmarks.measuring.repair import AnotherRun, RunLock, repair_asv_folder

ROOT = Path(__file__).resolve().parents[2]
# By their modules: a suite's class imported here would be collected a second time by asv.
SUITES: tuple[type[common.CaseSuite], ...] = (
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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measuring.run", description=__doc__)
    parser.add_argument("--grid", choices=GRIDS, default="quick", help="which cases, how often")
    parser.add_argument("--commits", help="a range, in every JAX version of asv.conf.json")
    options = parser.parse_args(argv)
    try:
        return measure(chosen_run(options.grid, options.commits), ROOT / "results")
    except (RunFailed, AnotherRun) as error:
        print(f"benchmarks.measuring.run: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "\nbenchmarks.run: interrupted; finished cases are kept, repeat the command to go on",
            file=sys.stderr,
        )
        return 130


@dataclass(frozen=True)
class Run:
    """What asv is asked for: commits as it knows them, the settings, the grid.

    `times_count` is how often every suite is measured: for each commit and JAX version.
    """

    grid: str
    commits: str
    config: Path
    times_count: int


def chosen_run(grid: str, commits: str | None, config: Path = ROOT / "asv.conf.json") -> Run:
    """The run of a range of commits in every JAX version, or of HEAD in the last one.

    Raises
    ------
    RunFailed
        If git knows no such range, or none of its commits.
    """
    from asv.util import load_json

    settings = load_json(str(config), js_comments=True)
    versions = settings["matrix"]["req"]["jax"]
    if commits is None:
        # asv has no choice among a matrix; paths in its settings are relative to their file.
        settings["matrix"]["req"]["jax"] = versions[-1:]
        alone = config.with_name(".asv.one-jax.json")
        alone.write_text(json.dumps(settings), encoding="utf-8")
        return Run(grid, "HEAD^!", alone, 1)
    found = _git("rev-list", "--first-parent", "--count", "--end-of-options", commits)
    if not int(found):
        raise RunFailed(f"{commits!r} holds no commit; name a range: --commits HEAD~10..HEAD")
    return Run(grid, commits, config, int(found) * len(versions))


def measure(run: Run, results: Path) -> int:
    """Measure; the exit code is 0 also where single cases failed, which it tells."""
    print(announcement(run))
    results.mkdir(exist_ok=True)
    log, progress = results / "asv.log", results / "progress.jsonl"
    with RunLock(results / "run.lock") as lock:
        repair_asv_folder(ROOT / ".asv")
        progress.write_text("", encoding="utf-8")
        with open(log, "w", encoding="utf-8") as stream:
            _asv(["machine", "--yes"], stream)
            asv = start_asv(run, progress, stream, lock)
            code = follow(asv, run, progress, log)
    if code not in (0, ASV_FOUND_FAILURES):
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:])
        raise RunFailed(f"asv ended with exit code {code}; the end of {log}:\n{tail}")
    return 0


def announcement(run: Run) -> str:
    """What is measured, and that uncommitted changes of vcjax are not."""
    text = f"measuring vcjax at commit {_git('rev-parse', '--short=10', 'HEAD')}"
    changed = _git("status", "--porcelain", "--", "vcjax", "pyproject.toml")
    if run.times_count > 1:
        text = (
            f"measuring vcjax at {run.commits}: {run.times_count} times a commit in a JAX version"
        )
    if changed:
        text += (
            "\nthe working tree has changes in vcjax that are not committed: "
            f"{run.commits} is measured, without them"
        )
    return text


def start_asv(run: Run, progress: Path, log, lock: RunLock) -> subprocess.Popen:
    """Start ``asv run``; it inherits the lock, so the lock lives as long as asv does."""
    environment = {
        **os.environ,
        GRID_VARIABLE: run.grid,
        "VCJAX_BENCH_PROGRESS": str(progress),
        "PYTHONUNBUFFERED": "1",  # asv's lines are read while it works
    }
    command = [sys.executable, "-m", "asv", "--config", str(run.config), "run"]
    # A process for each number takes a while: not for those of suites this grid leaves out.
    there = [suite.__name__ for suite in SUITES if suite().plan(run.grid)]
    command += ["--bench", rf"\b({'|'.join(there)})\."]
    command += ["--show-stderr", "--record-samples", run.commits]
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


def follow(asv: subprocess.Popen, run: Run, progress: Path, log: Path) -> int:
    """Show progress until asv ends; on an interrupt end it, and everything it started."""
    from benchmarks.measuring.progress import View, drawn
    from benchmarks.measuring.repair import end_process_tree

    planned = {suite.suite: sum(c.rounds for c in suite().plan(run.grid)) for suite in SUITES}
    view = View(planned, progress, log, times_count=run.times_count)
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
