"""``python -m benchmarks.measuring.run``: measure the checked-out commit, or a range of commits.

Without ``--commits`` the command measures the package vcjax of HEAD. It uses the interpreter that
runs the command, and the benchmarks and jaxmeter of the working tree. Uncommitted changes of vcjax
are not measured. With ``--commits HEAD~10..HEAD``, asv measures all commits of this range with
every JAX version that asv.conf.json lists.

An interrupted or killed command resumes when it is run again: successful rounds are kept in the
store. Exit codes: 0 if the commits are measured, even if cases failed; 2 if they cannot be
measured; 130 if interrupted. With ``--commits``, any other code is an exit code of asv.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import jaxmeter
from benchmarks import casing, closure, common, habits, reference, suites
from benchmarks.measuring.checkout import (
    ROOT,
    CheckoutError,
    commit_named,
    exit_code,
    git,
    has_changes,
    name_owner,
    run_lock,
    unpacked_package,
)
from benchmarks.measuring.plan import GRID_VARIABLE, GRIDS, RESUME_VARIABLE, PlannedCase
from benchmarks.measuring.runner import Progress, RunCase, Workers, measure_plan
from benchmarks.measuring.store import RecordStore, environment_name, store_root

ASV_BYTES = 2**26  # limit for the size of asv's result files

# The modules are imported, not the classes: asv would collect an imported class a second time.
SUITES: tuple[type[common.CaseSuite], ...] = (
    casing.CasingVariants,
    suites.ChunkSweep,
    closure.CoronagraphVariants,
    suites.DeviceSweep,
    habits.Habits,
    habits.Loops,
    suites.MemorySweep,
    suites.OffSurface,
    reference.AgainstReference,
    reference.GradientAgainstReference,
    suites.ShapeGradient,
)
ASV = (sys.executable, "-m", "asv")
ASV_FOUND_FAILURES = 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.measuring.run", description=__doc__)
    parser.add_argument(
        "--grid", choices=GRIDS, default="quick", help="which cases are measured, and how often"
    )
    parser.add_argument(
        "--commits", help="range of commits to measure with every JAX version of asv.conf.json"
    )
    options = parser.parse_args(argv)
    if options.commits is None:
        work = partial(measure_head, options.grid)
    else:
        work = partial(measure_range, options.grid, options.commits)
    return exit_code("benchmarks.measuring.run", work)


def measure_head(grid: str, run_case: RunCase = jaxmeter.run_case) -> None:
    """Measure the cases of all suites at the checked-out commit, and store the records."""
    commit, key = commit_named("HEAD"), environment_name()
    print(f"measuring vcjax at commit {commit[:10]} in {key}, {grid} grid")
    if has_changes("vcjax"):
        print("uncommitted changes of vcjax are not measured")
    store = RecordStore(store_root() / commit / key)
    plans = [(suite(), plan) for suite in SUITES if (plan := suite().plan(grid))]
    progress = Progress(sum(case.rounds for _, cases in plans for case in cases))
    with run_lock(), jaxmeter.temporary_folder("vcjax-head-") as folder:
        package = unpacked_package(commit, folder / "source")
        workers = Workers(store, folder, run_case, package=package)
        for suite, cases in plans:
            measure_plan(
                cases,
                store,
                progress,
                budget_seconds=suite.budget_seconds(grid),
                workers=workers,
            )
    for line in progress.failures:
        print(line)


def measure_range(grid: str, commits: str) -> int:
    """Measure a range of commits with ``asv run``, and return asv's exit code.

    The exit code with which asv reports failed cases is replaced by 0.
    """
    # asv splits the string like a shell and passes the words to git.
    if not re.fullmatch(r"[^-\s'\"\\][^\s'\"\\]*", commits):
        raise CheckoutError(
            f"got --commits {commits!r}, which is not a range of commits; give e.g. HEAD~10..HEAD"
        )
    if not int(git("rev-list", "--count", "--end-of-options", commits)):
        raise CheckoutError(
            f"got --commits {commits!r}, which contains no commit; give e.g. HEAD~10..HEAD"
        )
    with run_lock() as lock:
        repair_asv_folder(ROOT / ".asv")
        described = subprocess.run([*ASV, "machine", "--yes"], cwd=ROOT, stdout=subprocess.DEVNULL)
        if described.returncode:
            raise CheckoutError(
                f"'{' '.join(ASV)} machine --yes' failed with exit status {described.returncode}; "
                "run this command to see the reason"
            )
        # asv would start a process for each metric of a suite without cases on the grid.
        names = "|".join(suite.__name__ for suite in SUITES if suite().plan(grid))
        options = "--bench", rf"\b({names})\.", "--show-stderr", "--record-samples"
        # asv inherits the lock, so that the lock is held until asv has ended.
        with subprocess.Popen(
            [*ASV, "run", *options, commits],
            cwd=ROOT,
            env={**os.environ, GRID_VARIABLE: grid, RESUME_VARIABLE: "1"},
            stdin=subprocess.DEVNULL,
            pass_fds=(lock,),
        ) as asv:
            name_owner(lock, asv.pid)
            try:
                code = asv.wait()
            except BaseException:
                asv.terminate()
                raise
    return 0 if code == ASV_FOUND_FAILURES else code


def planned_cases(grid: str) -> dict[str, PlannedCase]:
    """Return the cases of all suites on a grid, by name."""
    return {case.name: case for suite in SUITES for case in suite().plan(grid)}


def repair_asv_folder(folder: Path) -> None:
    """Clean up files that a killed run of asv left behind, so that later runs of asv do not fail.

    asv does not write its results atomically, so a result file may be truncated. A result file that
    is not JSON gets the suffix ``.unreadable``. Lock files in asv's clones of the project are
    removed, because git would refuse every later checkout.
    """
    for path in sorted((folder / "results").rglob("*.json")):
        try:
            json.loads(jaxmeter.read_file(path, ASV_BYTES))
        except (ValueError, RecursionError):
            path.replace(path.with_suffix(".unreadable"))
    for path in sorted((folder / "env").glob("*/project/.git/*.lock")):
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
