"""The best tile sizes on this machine, and how far "auto" is from them: docs/chunks.md.

    python -m studies chunks                # under an hour on two quiet cores; rerun to resume
    python -m studies chunks --operators B --grid quick --rounds 1      # two minutes
    . results/chunks/w7x/chunks.env         # use the recommendation; chunks.md there explains it

For the field on the surface (B), off it (BOFF) and the gradient (GRADB), over sources and targets
of a tile: time, temporaries, arithmetic intensity, fusions, the share of the far field. Each
process interleaves all sizes of one operator, so that they meet the same machine noise; the first
process of each operator also traces every size. Let nothing else run.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.runner import measure_plan
from benchmarks.measuring.store import RecordStore
from jaxmeter import Record, host_environment
from studies.harness import RESULTS, ROOT, StudyError, replace_file, run_here

OPERATORS = ("B", "BOFF", "GRADB")
GRIDS = {
    "full": ((256, 512, 1024, 2048, 4096, 8192), (80, 160, 320, 640, 1280)),
    "quick": ((512, 2048, 8192), (80, 320, 1280)),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--case", default="w7x", help="of benchmarks.workloads.casing")
    parser.add_argument("--digits", type=int, help="of the case, where it has a choice")
    parser.add_argument("--operators", nargs="+", choices=OPERATORS, default=OPERATORS)
    parser.add_argument("--grid", choices=tuple(GRIDS), default="full")
    parser.add_argument("--chunk-sizes", type=int, nargs="+", help="instead of the grid's")
    parser.add_argument("--target-chunk-sizes", type=int, nargs="+", help="instead of the grid's")
    parser.add_argument("--rounds", type=int, default=4, help="processes of each operator")
    parser.add_argument("--repeat", type=int, default=5, help="calls of each size in a process")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds for a process")
    parser.add_argument("--out", type=Path, help="folder; default results/chunks/CASE")


def run(options: argparse.Namespace) -> int:
    """Measure the missing processes; write the tables, the page and the variables to set."""
    numbers = [options.rounds, options.repeat]
    numbers += [*(options.chunk_sizes or ()), *(options.target_chunk_sizes or ())]
    if min(numbers) < 1:
        raise StudyError(f"got {min(numbers)} among rounds, repeat and sizes; give 1 or more")
    chosen = {name: value for name, value in os.environ.items() if name.startswith("VCJAX_CHUNK_")}
    if any(chosen.values()):
        raise StudyError(f'got {chosen} in the environment, which hide "auto"; unset them')
    import pandas as pd

    import jaxmeter.tables
    from studies.chunks import page, tables

    folder = options.out or RESULTS / "chunks" / options.case
    records = measured(options, folder / "records")
    every = [record for found in records.values() for record in found]
    good = [one for one in every if one.status == "ok"]
    for one in every:
        if one.failure is not None:
            text = f"{one.name}: {one.status}: {one.failure.kind}: {one.failure.message}"
            print(text, file=sys.stderr)
    if not good:
        raise StudyError("no process could be measured; the tables were not written")
    sizes, advice = tables.size_rows(records), tables.advice_rows(records)
    frames = {
        "chunk_study": pd.DataFrame(sizes, columns=list(tables.COLUMNS)),
        "chunk_recommendations": pd.DataFrame(advice, columns=list(tables.ADVICE_COLUMNS)),
    }
    environment = good[0].environment or host_environment()
    jaxmeter.tables.save(frames, folder, environment, notes={"artefact": str(folder / "records")})
    replace_file(folder / "chunks.env", page.variables(advice).encode())
    text = page.page(sizes, advice, environment, options.case)
    replace_file(folder / "chunks.md", text.encode())
    print(page.advice_table(advice))
    print(f"tables, page and variables: {folder}\nto use them: . {folder / 'chunks.env'}")
    return 0 if len(good) == len(every) else 1


def measured(options: argparse.Namespace, folder: Path) -> dict[str, list[Record]]:
    """Return the records of each operator, one for each process, the traced one first."""
    grid = GRIDS[options.grid]
    sizes = options.chunk_sizes or grid[0], options.target_chunk_sizes or grid[1]
    fixed = {name: getattr(options, name) for name in ("case", "digits", "repeat")}
    fixed["sizes"] = json.dumps(list(itertools.product(*sizes)))
    cases = {
        operator: [
            planned({"operator": operator, "traced": traced, **fixed}, rounds, options.timeout)
            for traced, rounds in ((True, 1), (False, options.rounds - 1))
        ]
        for operator in options.operators
    }
    every = [case for traced in (0, 1) for case in (pair[traced] for pair in cases.values())]
    store = RecordStore(folder / code_version())
    found = measure_plan(every, store, run_case=run_here)
    return {
        operator: [record for case in pair for record in found.get(case.name, [])]
        for operator, pair in cases.items()
    }


def planned(params: dict, rounds: int, timeout_seconds: float) -> PlannedCase:
    """Return the case of one operator; a digest of its parameters is part of its name."""
    digest = hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:8]
    return PlannedCase(
        name=f"{params['operator']}{'-traced' * params['traced']}-{digest}",
        target="studies.chunks.cases:all_sizes",
        params=params,
        rounds=rounds,
        repeat=1,
        timeout_seconds=timeout_seconds,
    )


def code_version() -> str:
    """Return a short name for the code of vcjax, this JAX and this machine."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "vcjax").rglob("*.py")):
        digest.update(path.read_bytes())
    environment = asdict(host_environment())
    digest.update(" ".join(str(environment[n]) for n in ("jax", "jaxlib", "machine")).encode())
    return digest.hexdigest()[:12]
