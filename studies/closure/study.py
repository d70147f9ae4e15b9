"""``python -m studies.closure.study``: measure the closure study with the running interpreter.

Records lie in ``results/closure/cases/<commit>/<environment>/<case>/<round>.json``, in which the
commit is the last one that changed what is measured, and the environment names the versions of
Python and JAX: run it with several interpreters and the page shows them side by side. Beside
them lie the audit of each environment and a picture of the frame. What is finished is kept: killed
at any moment and repeated, it goes on where it stopped.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import closure
from benchmarks.measuring.checkout import CheckoutError, git, has_changes, run_lock
from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.runner import measure_plan
from benchmarks.measuring.store import RecordStore, environment_name
from jaxmeter import BenchmarkCase, Record, run_case
from studies.closure import break_even
from studies.closure.memory import needed_by, system_bytes, within_memory

ROOT = Path(__file__).resolve().parents[2]
# What the records depend on. The rest of the meter draws, compares and audits: a change there
# leaves what is measured valid.
METER = tuple(
    f"jaxmeter/src/jaxmeter/{name}.py"
    for name in ("_measure/worker", "_measure/run", "_measure/meter", "_measure/phases")
    + ("_capture/constants", "_capture/embedded", "_capture/hoist", "_capture/replay")
    + ("_program/memory",)
)
CELLS = (
    "studies/closure/break_even.py",
    "benchmarks/closure.py",
    *(f"benchmarks/cases/{name}.py" for name in ("closure", "variants")),
)
MEASURED = ("benchmarks/workloads/coronagraph", *CELLS, *METER)
CASING_MEASURED = (
    "vcjax",
    "benchmarks/cases/field.py",
    "benchmarks/cases/preparing.py",
    "benchmarks/workloads/casing.py",
    *CELLS,
    *METER,
)
STUDY_GRIDS = ("quick", "full", "versions")
GRID_HELP = "full: sizes 192 and 256 as well; versions: what is shown of other versions of JAX"
SMALL, LARGE = (64, 128), (192, 256)
LARGE_VARIANTS = ("closure", "argument", "simplified", "hoisted")
VERSION_VARIANTS = ("closure", "argument", "simplified")
# What the quick grid compares closely; of the rest one or two processes show what there is to see.
CLOSELY = {64: ("closure", "argument"), 128: ("closure", "argument", "simplified", "hoisted")}
FEW_ROUNDS = {64: 1, 128: 2}
# These do not follow a change either, for the same reason.
LIKE_CLOSURE = ("cached", "simplified")
# Twenty minutes less what building environment and page takes. Every case has its first round.
QUICK_BUDGET_SECONDS, QUICK_CASING_BUDGET_SECONDS = 880.0, 170.0
AUDITED_SIZE = 64
PICTURED_SIZE = 128


class StudyFailed(Exception):
    """The study could not be measured; the message says what to try."""


def plan(grid: str) -> list[PlannedCase]:
    """Cases of the coronagraph and of the curve.

    Sizes 64 and 128 on the quick grid, 192 and 256 on the full one too; on that for other versions
    of JAX nothing but what is shown of them.
    """
    if grid == "versions":
        return [
            closure.frame_case(variant, size, rounds=closure.ROUNDS)
            for size in SMALL
            for variant in VERSION_VARIANTS
        ]
    cases = [
        closure.frame_case(variant, size, rounds=_rounds(grid, variant, size))
        for size in SMALL
        for variant in closure.VARIANTS
    ]
    cases += [
        closure.change_case(variant, 64, rounds=1)
        for variant in closure.VARIANTS
        if grid == "full" or variant not in LIKE_CLOSURE
    ]
    cases += [closure.change_case(variant, 128, rounds=1) for variant in ("closure", "argument")]
    cases += break_even.cases(rounds=1 if grid == "quick" else closure.ROUNDS)
    if grid == "full":
        cases += [
            closure.frame_case(variant, size, rounds=3)
            for size in LARGE
            for variant in LARGE_VARIANTS
        ]
    return cases


def casing_plan(grid: str) -> list[PlannedCase]:
    """Cases of the virtual casing."""
    if grid == "versions":
        return []
    return [
        closure.casing_case(variant, rounds=_rounds(grid, variant, 128))
        for variant in closure.VARIANTS
    ]


def _rounds(grid: str, variant: str, size: int) -> int:
    few = grid == "quick" and variant not in CLOSELY[size]
    return FEW_ROUNDS[size] if few else closure.ROUNDS


def needs(cases: Sequence[PlannedCase]) -> dict[str, float]:
    """Bytes that each case's process, and that of its preparation, will need."""
    found = {}
    for case in cases:
        if "size" in case.params:
            variant, size = str(case.params["variant"]), int(str(case.params["size"]))
            found[case.name] = needed_by(variant, system_bytes(size))
            if case.preparation is not None:
                found[case.preparation.name] = needed_by("preparation", system_bytes(size))
        elif "array_bytes" in case.params:
            array_bytes = float(str(case.params["array_bytes"]))
            found[case.name] = needed_by(str(case.params["variant"]), array_bytes)
    return found


def measured_commit(paths: Sequence[str] = MEASURED) -> str:
    """The last commit that changed what is measured, so that others do not make it measured again.

    Parameters
    ----------
    paths : sequence of str
        What that is, in the repository.

    Raises
    ------
    StudyFailed
        Outside of a git clone.
    """
    commit = git("log", "-1", "--format=%H", "--", *paths).decode().strip()
    if not commit:
        raise StudyFailed(f"no commit holds {', '.join(paths)}; measuring needs a git clone")
    return commit


def run_here(case: BenchmarkCase) -> Record:
    """Run a case whose process finds this checkout's modules."""
    return run_case(dataclasses.replace(case, path=(*case.path, str(ROOT))))


def measure(grid: str, results: Path) -> None:
    """Measure a grid into `results`, and make the audit and the picture."""
    from studies.closure import pictures

    commit, key = measured_commit(), environment_name()
    print(f"closure study of commit {commit[:10]} in {key}, {grid} grid")
    if has_changes(*MEASURED, *CASING_MEASURED):
        print("what is measured has changes that are not committed: they count as that commit's")
    results.mkdir(parents=True, exist_ok=True)
    quick = grid == "quick"
    parts = (
        ("cases", commit, plan(grid), QUICK_BUDGET_SECONDS),
        (
            "casing",
            measured_commit(CASING_MEASURED),
            casing_plan(grid),
            QUICK_CASING_BUDGET_SECONDS,
        ),
    )
    with run_lock(results / "run.lock"):
        started = time.monotonic()
        for folder, of_commit, cases, budget in parts:
            if cases:
                measure_plan(
                    cases,
                    RecordStore(results / folder / of_commit / key),
                    budget_seconds=budget if quick else None,
                    run_case=within_memory(needs(cases), run_here),
                )
        if grid != "versions":
            audit = results / "audits" / commit / f"{key}.json"
            pictures.write_audit(AUDITED_SIZE, audit)
            pictures.write_picture(PICTURED_SIZE, results / "picture.png")
        print(f"study measured in {(time.monotonic() - started) / 60:.1f} minutes")


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, measure, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m studies.closure.study", description=__doc__)
    parser.add_argument("--grid", choices=STUDY_GRIDS, default="quick", help=GRID_HELP)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "closure")
    options = parser.parse_args(argv)
    try:
        measure(options.grid, options.out)
    except (StudyFailed, CheckoutError, OSError) as error:
        print(f"studies.closure.study: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "\nstudies.closure.study: interrupted; finished cases are kept, repeat the command "
            "to go on",
            file=sys.stderr,
        )
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
