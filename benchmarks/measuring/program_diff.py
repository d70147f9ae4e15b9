"""Write the differences between the programs of two measured commits, for a review.

``write_diffs`` describes the first `MAX_CASES` cases with different optimised programs. If a case
has no file with differences yet, a worker is started for each commit. The worker calls `described`,
which compiles the case and writes an inventory of the compiled program to a file.
"""

from __future__ import annotations

import dataclasses
import json
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
            print(f"the programs of {case.name} differ; differences are in {path}", flush=True)


def inventory(case: jaxmeter.BenchmarkCase, path: Path) -> jaxmeter.Inventory | None:
    """Return the inventory that a worker writes to `path`.

    If the worker writes no inventory, print the reason and return None.
    """
    path.unlink(missing_ok=True)
    describing = dataclasses.replace(
        case,
        target="benchmarks.measuring.program_diff:described",
        params={
            "target": case.target,
            "given": json.dumps(dict(case.params)),
            "out": str(path.resolve()),
        },
        repeat=1,
        compiles=1,
        # A program from the compilation cache has the same inventory as a newly compiled program.
        env={**case.env, **CACHED_ENVIRONMENT},
    )
    record = jaxmeter.run_case(describing)
    if not path.exists():
        failure = record.failure
        why = f"{failure.kind}: {failure.message}" if failure else "the worker wrote no inventory"
        print(f"cannot compile the program of {case.name}: {why}", flush=True)
        return None
    return jaxmeter.Inventory.from_json(jaxmeter.read_file(path))


def described(*, target: str, given: str, out: str) -> jaxmeter.Case:
    """Write the inventory of a case to the file `out`, and return a case that computes nothing.

    `target` names the function that makes the case of the inventory. `given` has the parameters of
    this function, as a JSON object.
    """
    make_case = jaxmeter.resolve(target, "program_diff", "returns a jaxmeter.Case")
    jaxmeter.write_file(Path(out), jaxmeter.inventory(make_case(**json.loads(given))).to_json())
    return jaxmeter.Case(lambda: 0)


def _differ(case: PlannedCase, both: tuple[MeasuredSide, MeasuredSide]) -> bool:
    records = [side.store.read(case, 0) for side in both]
    known = [r.program.hlo_fingerprint for r in records if r is not None and r.status == "ok"]
    return len(known) == 2 and None not in known and known[0] != known[1]
