"""Find this machine's best tile sizes, and compare the sizes of "auto" with them: docs/chunks.md.

    # Measure everything, in under an hour on two quiet cores; rerun to resume.
    python -m studies chunks
    # Measure one operator at a few sizes, in two minutes.
    python -m studies chunks --operators B --grid quick --rounds 1
    # Use the recommended sizes in this shell; results/chunks/w7x/chunks.md explains them.
    . results/chunks/w7x/chunks.env

The operators are the field on the surface (B), the field off the surface (BOFF) and the gradient
(GRADB). A tile size is a number of sources and a number of targets. For each size the study
measures time, temporaries, arithmetic intensity, fusions and the far field's share of the time. All
calls are inside `jit`. On CPUs, "auto" may mean other sizes outside `jit` (docs/chunks.md). Each
process interleaves all sizes of one operator, so that machine noise affects all sizes alike. The
first process of each operator also records a profiler trace of every size. Run no other program at
the same time.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from pathlib import Path
from typing import Any

import jaxmeter.tables
from benchmarks.measuring.checkout import code_version
from benchmarks.measuring.plan import WORKER_ENVIRONMENT
from jaxmeter import host_environment
from studies.chunks import cases, tables
from studies.harness import RESULTS, Row, StudyError, in_worker, read_rows, replace_file

GRIDS = {
    "full": ((256, 512, 1024, 2048, 4096, 8192), (80, 160, 320, 640, 1280)),
    "quick": ((512, 2048, 8192), (80, 320, 1280)),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    add = parser.add_argument
    add("--case", default="w7x", help="problem of benchmarks.workloads.casing")
    add("--digits", type=int, help="number of digits; the default depends on the case")
    names, about = tuple(tables.NAMES), "operators to measure; default: all"
    add("--operators", nargs="+", choices=names, default=names, help=about)
    add("--grid", choices=tuple(GRIDS), default="full", help="tile sizes; default %(default)s")
    about = "numbers of {} in a tile, instead of the numbers of --grid"
    add("--chunk-sizes", type=int, nargs="+", help=about.format("sources"))
    add("--target-chunk-sizes", type=int, nargs="+", help=about.format("targets"))
    add("--rounds", type=int, default=4, help="number of processes for each operator")
    add("--repeat", type=int, default=5, help="calls of each size in a process")
    add("--timeout", type=float, default=3600.0, help="time limit of each process, seconds")
    add("--out", type=Path, help="folder; default results/chunks/CASE")


def run(options: argparse.Namespace) -> int:
    """Run the processes that have no rows in the folder yet, and write the results.

    The results are the tables, the page, and the environment variables with the recommended sizes.
    """
    numbers = [options.rounds, options.repeat]
    numbers += [*(options.chunk_sizes or ()), *(options.target_chunk_sizes or ())]
    if min(numbers) < 1:
        raise StudyError(
            f"--rounds, --repeat and each tile size must be 1 or more; got {min(numbers)}"
        )
    chosen = [n for n, value in os.environ.items() if n.startswith("VCJAX_CHUNK_") and value]
    if chosen:
        raise StudyError(
            'the study must measure the tile sizes of "auto", but these environment variables '
            f"override them: {', '.join(chosen)}; unset the variables"
        )
    folder = options.out or RESULTS / "chunks" / options.case
    processes, failures = measure(options, folder / "processes.jsonl")
    if not processes:
        raise StudyError(
            "no process could be measured, so the tables were not written; fix the errors above, "
            "then run the study again"
        )
    sizes, advice = tables.study_tables(processes)
    environment = host_environment()
    frames = {"chunk_study": sizes, "chunk_recommendations": advice}
    jaxmeter.tables.save(frames, folder, environment)
    replace_file(folder / "chunks.env", tables.variables(advice))
    replace_file(folder / "chunks.md", tables.page(sizes, advice, environment, options.case))
    print(tables.advice_table(advice))
    print(
        f"tables, page and variables: {folder}\n"
        f"to use the recommended sizes: . {folder / 'chunks.env'}"
    )
    return 1 if failures else 0


def measure(options: argparse.Namespace, file: Path) -> tuple[list[Row], int]:
    """Run the wanted processes that have no row in the file yet.

    Return the rows of the wanted processes that succeeded, and the number of processes that failed.
    """
    grid = GRIDS[options.grid]
    sizes = options.chunk_sizes or grid[0], options.target_chunk_sizes or grid[1]
    fixed = {name: getattr(options, name) for name in ("case", "digits", "repeat")}
    # On one machine, JAX_PLATFORMS decides whether JAX uses a GPU.
    code = f"{code_version()} {os.environ.get('JAX_PLATFORMS', '')}".strip()
    fixed |= {"sizes": list(map(list, itertools.product(*sizes))), "code": code}
    wanted = [
        {"operator": operator, "process": number, **fixed}
        for number in range(options.rounds)
        for operator in options.operators
    ]
    failures = 0
    limits: Any = {"env": WORKER_ENVIRONMENT, "timeout_seconds": options.timeout}
    for one in wanted:
        if _kept(file, [one]):
            continue
        print(f"{one['operator']}, process {one['process'] + 1}", flush=True)
        try:
            in_worker(cases.process_rows, file, one, **limits)
        except StudyError as error:
            print(error, file=sys.stderr)
            failures += 1
    return _kept(file, wanted), failures


def _kept(file: Path, wanted: list[Row]) -> list[Row]:
    """Return the rows of the file that belong to a wanted process."""
    return [row for row in read_rows(file) if any(one.items() <= row.items() for one in wanted)]
