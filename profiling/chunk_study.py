"""Which tile sizes are best on this machine, and how far is "auto" from them?

    python profiling/chunk_study.py                  # under an hour on two quiet cores; resumable
    python profiling/chunk_study.py --operators B --grid quick --rounds 1      # two minutes
    . results/profile/chunk-study-w7x/chunks.env     # use what it recommends; chunks.md tells it

For the field on the surface (B), off it (BOFF) and the gradient (GRADB), over sources and targets
of a tile: time, temporaries, arithmetic intensity, fusions, the share of the far field. Each
process measures all sizes of one operator in turn, so that they meet the same weather; the first
of each operator also traces every size. Finished processes are kept in --out. Let nothing else
run. docs/tables.md tells the columns.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import scripting
from jaxmeter.errors import JaxmeterError

OPERATORS = ("B", "BOFF", "GRADB")
GRIDS = {
    "full": ((256, 512, 1024, 2048, 4096, 8192), (80, 160, 320, 640, 1280)),
    "quick": ((512, 2048, 8192), (80, 320, 1280)),
}
SHOWN = {
    "chunk_study": (
        *("operator", "chunk_size", "target_chunk_size", "is_auto", "ratio_to_auto"),
        *("temp_bytes", "flops_per_byte", "fusions_count", "far_fraction", "is_recommended"),
    ),
    "chunk_recommendations": (
        *("operator", "chunk_size", "target_chunk_size", "ratio_to_best"),
        *("held_out_ratio_to_best", "auto_ratio_to_best", "temp_bytes", "auto_temp_bytes"),
    ),
}


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = scripting.parser_of(__doc__)
    parser.add_argument("--case", default="w7x", help="of benchmarks.workloads.casing")
    parser.add_argument("--digits", type=int, help="of the case, where it lets you choose")
    parser.add_argument("--operators", nargs="+", choices=OPERATORS, default=OPERATORS)
    parser.add_argument("--grid", choices=tuple(GRIDS), default="full")
    parser.add_argument("--chunk-sizes", type=int, nargs="+", help="in place of the grid's")
    parser.add_argument("--target-chunk-sizes", type=int, nargs="+", help="in place of the grid's")
    parser.add_argument("--rounds", type=int, default=4, help="processes of each operator")
    parser.add_argument("--repeat", type=int, default=5, help="calls of each size in a process")
    parser.add_argument("--timeout", type=float, default=3600.0, help="seconds for a process")
    options = parser.parse_args(argv)
    if options.rounds < 1 or options.repeat < 1:
        raise JaxmeterError(
            f"got --rounds {options.rounds}, --repeat {options.repeat}; give 1 or more"
        )
    sizes = [*(options.chunk_sizes or ()), *(options.target_chunk_sizes or ())]
    if any(size < 1 for size in sizes):
        raise JaxmeterError(f"got sizes {sizes}; give 1 or more")
    return options


def work(argv: Sequence[str] | None) -> bool:
    """Measure what is not measured yet, join, recommend, save."""
    options = parse(argv)
    chosen = {name: value for name, value in os.environ.items() if name.startswith("VCJAX_CHUNK_")}
    if any(chosen.values()):
        raise JaxmeterError(f'got {chosen} in the environment, which hide "auto"; unset them')
    folder = scripting.folder_for(options, "chunk-study", options.case)
    import chunk_page
    import chunk_tables

    records = measured(options, folder)
    every = [record for found in records.values() for record in found]
    failed = [one for one in every if one.status != "ok"]
    for one in failed:
        why = "" if one.failure is None else f": {one.failure.kind}: {one.failure.message}"
        scripting.say(f"chunk_study: {one.name}: {one.status}{why}")
    if len(failed) == len(every):
        raise JaxmeterError("no process could be measured; the tables are as they were")
    tables = chunk_tables.tables(records)
    good = [one for one in every if one.status == "ok"]
    cases = str(folder / "cases")
    scripting.save(tables, folder, live=False, records=good, artefact=cases)
    path = folder / "chunks.env"
    path.write_text(chunk_tables.environment(tables), encoding="utf-8")
    page = chunk_page.page(tables, good[0].environment, options.case)
    (folder / "chunks.md").write_text(page, encoding="utf-8")
    scripting.show(tables, SHOWN, options.top)
    print(f"\nto use it: . {path}")
    return not failed


def measured(options: argparse.Namespace, folder: Path) -> dict[str, list[Any]]:
    """The records of each operator, one a process."""
    grid = GRIDS[options.grid]
    sizes = options.chunk_sizes or grid[0], options.target_chunk_sizes or grid[1]
    pairs = list(itertools.product(*sizes))
    about = {"case": options.case, "digits": options.digits, "repeat": options.repeat}
    found: dict[str, list[Any]] = {operator: [] for operator in options.operators}
    for traced, suffix, rounds in ((True, "-traced", 1), (False, "", options.rounds - 1)):
        given = {
            operator: {"operator": operator, "traced": traced, "sizes": json.dumps(pairs), **about}
            for operator in options.operators
        }
        records = scripting.measured(
            {f"{operator}{suffix}": one for operator, one in given.items()},
            folder / "cases",
            target="chunk_cases:all_sizes",
            params=lambda one: one,
            rounds=rounds,
            repeat=1,
            timeout_seconds=options.timeout,
        )
        for operator, some in zip(given, records, strict=True):
            found[operator] += some
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line."""
    return scripting.run("chunk_study", lambda: work(argv))


if __name__ == "__main__":
    sys.exit(main())
