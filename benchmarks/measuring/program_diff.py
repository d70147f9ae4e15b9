"""Write the differences between the programs of two measured commits, for a review.

For each of the first `MAX_CASES` cases with different optimised programs, ``write_diffs`` starts a
worker for each commit. The worker runs ``python -m benchmarks.measuring.program_diff CASE OUT``.
This command compiles the case given by the JSON string CASE, and writes an inventory of the program
to the file OUT.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import jaxmeter
from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.runner import CACHED_ENVIRONMENT

if TYPE_CHECKING:
    from benchmarks.measuring.rounds import MeasuredSide

FOLDER = "programs"
MAX_CASES = 2


def write_diffs(
    cases: Sequence[PlannedCase], both: tuple[MeasuredSide, MeasuredSide], out: Path
) -> None:
    """Write ``out/programs/<case>.txt`` for the first `MAX_CASES` cases whose programs differ.

    The other cases with changed programs get no file, because a change of the code usually changes
    the programs of all cases in the same way. An existing file is kept.
    """
    changed = [case for case in cases if _differ(case, both)]
    for case in changed[:MAX_CASES]:
        path = out / FOLDER / f"{case.name}.txt"
        if path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        base, head = (
            inventory(side.workers.worker_case(case), path.with_suffix(f".{side.name}.json"))
            for side in both
        )
        if base is not None and head is not None:
            path.write_text(jaxmeter.table(jaxmeter.diff(base, head)) + "\n", encoding="utf-8")
            print(f"programs of {case.name} differ: {path}", flush=True)


def inventory(case: jaxmeter.BenchmarkCase, path: Path) -> jaxmeter.Inventory | None:
    """Compile a case in a worker, and return the inventory that the worker writes to `path`.

    If the worker fails, print the reason and return None.
    """
    # A program from the compilation cache has the same inventory as a newly compiled program.
    caching = {**case.env, **CACHED_ENVIRONMENT}
    environment = {**os.environ, **caching, "PYTHONPATH": os.pathsep.join(case.path)}
    worker = (sys.executable, "-P", "-m", "benchmarks.measuring.program_diff")
    try:
        done = subprocess.run(
            [*worker, case.to_json(), str(path)],
            env=environment,
            capture_output=True,
            timeout=case.timeout_seconds,
        )
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode != 0:
        why = done.stderr.decode(errors="replace").strip().splitlines() if done else []
        print(
            f"cannot compile the program of {case.name}: {why[-1] if why else 'timeout'}",
            flush=True,
        )
        return None
    return jaxmeter.Inventory.from_json(jaxmeter.read_file(path))


def _differ(case: PlannedCase, both: tuple[MeasuredSide, MeasuredSide]) -> bool:
    records = [side.store.read(case, 0) for side in both]
    known = [r.program.hlo_fingerprint for r in records if r is not None and r.status == "ok"]
    return len(known) == 2 and None not in known and known[0] != known[1]


def main(argv: Sequence[str]) -> int:
    """Compile a case, given as a JSON string, and write its inventory to a file."""
    text, out = argv
    case = jaxmeter.BenchmarkCase.from_json(text)
    make_case = jaxmeter.resolve(case.target, "program_diff", "returns a jaxmeter.Case")
    Path(out).write_text(jaxmeter.inventory(make_case(**case.params)).to_json(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
