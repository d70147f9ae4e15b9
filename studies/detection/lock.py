"""Measure whether the lock file finds injected regressions, and whether it gives false alarms.

    python -m studies lock                # measure with the installed JAX; takes ten minutes

Each regression that exact quantities show is injected into a copy of vcjax, and
``jaxmeter lock --check`` runs on the copy. The unchanged package is checked many times, in worker
processes with different hash seeds. Each check traces and compiles again. The results are written
to lock.csv; rows that were measured with other versions of JAX are kept. The exit code is 1 if a
regression is not found, or if a check of the unchanged package differs from the lock file.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.measuring.pair import inject
from jaxmeter import LockCheck, temporary_folder
from jaxmeter.__main__ import main
from studies.detection.findings import EQUAL, INJECTED
from studies.harness import ROOT, Row, StudyError, measured, read_rows, worker_rows, write_rows

FIELD = "benchmarks.cases.operations:field"
SEEDS = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    add = parser.add_argument
    add("--checks", type=int, default=100, help="number of checks of the field; default 100")
    about = "number of checks of all functions; default 20"
    add("--all-checks", type=int, default=20, help=about)
    about = "file for the rows; default: the committed file"
    add("--out", type=Path, default=measured("detection", "lock.csv"), help=about)


def run(options: argparse.Namespace) -> int:
    """Measure with the installed JAX and write the rows."""
    jax = version("jax")
    rows = [injected_row(jax, name) for name, one in INJECTED.items() if one.exact_case is not None]
    rows += [equal_row(jax, [FIELD], options.checks), equal_row(jax, [], options.all_checks)]
    others = [row for row in read_rows(options.out) if row["jax"] != jax]
    write_rows(options.out, sorted(others + rows, key=_version))
    missed = [row for row in rows if (row["injected"] == EQUAL) != (int(row["differing"]) == 0)]
    for row in missed:
        print(
            f"{row['injected']}: {row['differing']} of {row['checks']} checks differ from the lock "
            f"file; expected: 0 for {EQUAL!r}, 1 for an injected regression"
        )
    return 1 if missed else 0


def injected_row(jax: str, name: str) -> Row:
    """Check a copy of vcjax with an injected regression, and return the row."""
    with temporary_folder("vcjax-lock-") as folder:
        shutil.copytree(ROOT / "vcjax", folder / "vcjax")
        inject(name, folder / "vcjax")
        for file in ("pyproject.toml", "jaxmeter.lock.toml"):
            shutil.copy(ROOT / file, folder)
        # `jaxmeter lock` puts its working folder first on `sys.path`, so it imports the copy.
        path = os.pathsep.join(map(str, (ROOT, ROOT / "jaxmeter" / "src")))
        done = subprocess.run(
            [sys.executable, "-P", "-m", "jaxmeter", "lock", "--check", "--json", "-"],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
    if done.returncode not in (0, 1):
        raise StudyError(
            f"jaxmeter lock --check gave exit code {done.returncode} on a copy of vcjax with the "
            f"regression {name!r}; fix this error, then run the study again: "
            f"{done.stderr.strip()[-300:]}"
        )
    changes = LockCheck.from_json(done.stdout).changes
    regressed = Counter(one.quantity for one in changes if one.verdict == "regression")
    print(f"JAX {jax}, {name}: {', '.join(regressed) or 'not found'}", flush=True)
    return {
        "jax": jax,
        "injected": name,
        "functions": "all",
        "checks": 1,
        "differing": int(bool(regressed) and done.returncode == 1),
        "quantities": ", ".join(sorted(regressed)),
    }


def equal_row(jax: str, targets: Sequence[str], count: int) -> Row:
    """Check the unchanged package `count` times, with different hash seeds, and return one row.

    `targets` are the functions to check; if there are none, check all functions of the lock file.
    """
    found: list[Row] = []
    for seed in range(SEEDS):
        arguments = {"targets": targets, "count": len(range(seed, count, SEEDS))}
        found += worker_rows(equal_checks, arguments, env={"PYTHONHASHSEED": str(seed)})
        print(f"JAX {jax}, equal: {len(found)} of {count}", flush=True)
    return {
        "jax": jax,
        "injected": EQUAL,
        "functions": "field" if targets else "all",
        "checks": len(found),
        "differing": sum(row["exit_code"] != "0" for row in found),
        "quantities": "; ".join(sorted({row["output"] for row in found} - {""})),
    }


def equal_checks(targets: Sequence[str], count: int) -> Iterator[Row]:
    """Yield the exit code of each check in this process, with the output if the code is not 0."""
    for _ in range(count):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = main(["lock", "--check", *targets])
        yield {"exit_code": code, "output": " ".join(output.getvalue().split()) if code else ""}


def _version(row: Row) -> tuple[int, ...]:
    return tuple(map(int, row["jax"].split(".")[:3]))
