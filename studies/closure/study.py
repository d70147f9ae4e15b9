"""Measure the cost of closing over arrays, with the installed Python and JAX: docs/closure.md.

Each record is a file, ``results/closure/<part>/<commit>/<environment>/<case>/<round>.json``. The
part is ``cases``, or ``casing`` for the virtual casing. The commit is the last commit that changed
the measured code, and the environment names the versions of Python and JAX. The study can run in
several environments: ``python -m reports closure`` writes a page on one environment, with a table
that compares all environments. Except with ``--grid versions``, the study also writes an audit and
a picture of the coronagraph. Rerun to resume.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path

import jaxmeter
from benchmarks import closure
from benchmarks.cases.closure import frame_to_audit
from benchmarks.casing import CasingVariants
from benchmarks.measuring.checkout import git, has_changes, run_lock
from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.runner import measure_plan
from benchmarks.measuring.store import RecordStore, environment_name
from studies.closure import break_even, pictures
from studies.closure.memory import needs, within_memory
from studies.harness import RESULTS, StudyError, measured, read_rows, replace_file, table

# The files of jaxmeter that mainly determine the measured values. If only other files of jaxmeter
# change, existing records are kept.
JAXMETER = tuple(
    f"jaxmeter/src/jaxmeter/{name}.py"
    for name in ("_workers/worker", "_workers/run", "_workers/processes", "_workers/supervisor")
    + ("_measure/meter", "_measure/phases")
    + ("_capture/constants", "_capture/hoist", "_capture/replay")
    + ("_program/memory",)
)
CASES = (
    "studies/closure/break_even.py",
    "benchmarks/closure.py",
    *(f"benchmarks/cases/{name}.py" for name in ("closure", "variants")),
)
MEASURED = ("benchmarks/workloads/coronagraph", *CASES, *JAXMETER)
CASING_MEASURED = (
    "vcjax",
    "benchmarks/casing.py",
    "benchmarks/cases/field.py",
    "benchmarks/cases/preparing.py",
    "benchmarks/workloads/casing.py",
    *CASES,
    *JAXMETER,
)
SMALL, LARGE = (64, 128), (192, 256)
LARGE_VARIANTS = ("closure", "argument", "simplified", "hoisted")
VERSION_VARIANTS = ("closure", "argument", "simplified")
# On the quick grid these variants of each size have `closure.ROUNDS` rounds, and all other variants
# have `FEW_ROUNDS` rounds.
CLOSELY = {64: ("closure", "argument"), 128: LARGE_VARIANTS}
FEW_ROUNDS = {64: 1, 128: 2}
LIKE_CLOSURE = ("cached", "simplified")
"""Variants that capture the coronagraph's cube, or values computed from the cube."""
# With these budgets, ``make closure`` takes under twenty minutes on two quiet cores. The first
# round of each case always runs.
QUICK_BUDGET_SECONDS, QUICK_CASING_BUDGET_SECONDS = 880.0, 170.0
AUDITED_SIZE = 64
PICTURED_SIZE = 128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    about = "full: also sizes 192 and 256; versions: only the cases that compare versions of JAX"
    grids = ("quick", "full", "versions")
    parser.add_argument("--grid", choices=grids, default="quick", help=about)
    about = "folder for the records, audits and picture; default results/closure"
    parser.add_argument("--out", type=Path, default=RESULTS / "closure", help=about)


def plan(grid: str) -> list[PlannedCase]:
    """Return the cases of the coronagraph and of single arrays, for a choice of ``--grid``."""
    frame, rounds = closure.frame_case, closure.ROUNDS
    if grid == "versions":
        return [frame(name, size, rounds=rounds) for size in SMALL for name in VERSION_VARIANTS]
    changed = {
        64: [name for name in closure.VARIANTS if grid == "full" or name not in LIKE_CLOSURE],
        128: ["closure", "argument"],
    }
    cases = [
        frame(name, size, rounds=_rounds(grid, name, size))
        for size in SMALL
        for name in closure.VARIANTS
    ]
    cases += [closure.change_case(name, size) for size in SMALL for name in changed[size]]
    cases += break_even.cases(rounds=1 if grid == "quick" else rounds)
    if grid == "full":
        cases += [frame(name, size, rounds=3) for size in LARGE for name in LARGE_VARIANTS]
    return cases


def casing_plan(grid: str) -> list[PlannedCase]:
    """Return the cases of the virtual casing, at six digits, for a choice of ``--grid``."""
    return [
        dataclasses.replace(
            CasingVariants().case("full", variant, 6), rounds=_rounds(grid, variant, 128)
        )
        for variant in (() if grid == "versions" else closure.VARIANTS)
    ]


def _rounds(grid: str, variant: str, size: int) -> int:
    few = grid == "quick" and variant not in CLOSELY[size]
    return FEW_ROUNDS[size] if few else closure.ROUNDS


def measured_commit(paths: Sequence[str] = MEASURED) -> str:
    """Return the last commit that changed any of the paths."""
    commit = git("log", "-1", "--format=%H", "--", *paths).decode().strip()
    if not commit:
        raise StudyError(
            f"git finds no commit that changed {', '.join(paths)}; run the study in a git clone "
            "that has the history of these files"
        )
    return commit


def run(options: argparse.Namespace) -> int:
    """Measure the cases of a grid. Make the audit and the picture if their files do not exist.

    The grid "versions" has neither an audit nor a picture. Return 1 if a process failed.
    """
    grid, results = options.grid, options.out
    commit, key = measured_commit(), environment_name()
    print(f"closure study of commit {commit[:10]} in {key}, {grid} grid")
    if has_changes(*MEASURED, *CASING_MEASURED):
        print("the measured code has uncommitted changes; the records will name the last commit")
    casing_commit = measured_commit(CASING_MEASURED)
    parts = (
        (results / "cases" / commit, plan(grid), QUICK_BUDGET_SECONDS),
        (results / "casing" / casing_commit, casing_plan(grid), QUICK_CASING_BUDGET_SECONDS),
    )
    with run_lock(results / "run.lock"):
        started, failed = time.monotonic(), False
        for folder, cases, budget in parts:
            seconds = budget if grid == "quick" else None
            store, run_case = RecordStore(folder / key), within_memory(needs(cases))
            records = measure_plan(cases, store, budget_seconds=seconds, run_case=run_case)
            statuses = {record.status for of_case in records.values() for record in of_case}
            failed |= not statuses <= {"ok", "skipped"}
        if grid != "versions":
            audit, picture = results / "audits" / commit / f"{key}.json", results / "picture.png"
            if not audit.exists():
                found = jaxmeter.audit(frame_to_audit(AUDITED_SIZE))
                replace_file(audit, found.to_json(indent=2))
            if not picture.exists():
                replace_file(picture, pictures.picture(PICTURED_SIZE))
        print(f"study measured in {(time.monotonic() - started) / 60:.1f} minutes")
    return 1 if failed else 0


def versions_table() -> str:
    """Return a table of compile-time ratios, captured / passed arrays, by version of JAX."""
    lines = []
    for path in sorted(measured("closure", "").glob("*.csv")):
        for row in read_rows(path):
            if row["variant"] == "closure":
                name = "trace_lower_compile_to_argument{}_ratio"
                ratios = [float(row[name.format(end)]) for end in ("", "_low", "_high")]
                shown = "{:.2f} ({:.2f} to {:.2f})".format(*ratios)
                lines.append((row["jax_version"], row["size"], shown))
    return table(("JAX", "N", "closure over argument"), lines)


TABLES = {"closure versions": versions_table}
