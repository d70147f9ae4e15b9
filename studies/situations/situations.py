"""Compare jaxmeter's reports on captured arrays with the truth, which is known by construction.

A fresh process measures the programs of ``tests/jaxmeter`` with JAX's default treatment of captured
constants. Except with JAX 0.7, another process measures the same programs with simplified constants
(``JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1``). The rows are written to ``jax_VERSION.csv``. The exit
code is 1 if a report is wrong.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jaxmeter
from studies.harness import Row, measured, worker_rows, write_rows

SMALL_BYTES = 32
"""With simplified constants, arrays of at most this size stay embedded."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    folder = measured("situations", "")
    parser.add_argument("--out", type=Path, default=folder, help="folder for the rows")


def run(options: argparse.Namespace) -> int:
    """Measure all programs and write the rows."""
    jax = version("jax")
    file = options.out / f"jax_{jax}.csv"
    found: list[Row] = []
    # JAX 0.7 cannot lower programs with simplified constants.
    for simplified in (False, True)[: 1 if jax.startswith("0.7.") else 2]:
        mode = {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": str(int(simplified)), "JAX_ENABLE_X64": "1"}
        found += worker_rows(rows, {"simplified": simplified}, env=mode, timeout_seconds=600)
    write_rows(file, found)
    wrong = [row for row in found if row["correct"] == "no"]
    print(f"{file.name}: {len(found) - len(wrong)} of {len(found)} correct")
    for row in wrong:
        print(f"  wrong: {row['situation']} ({row['constants']})", file=sys.stderr)
    return 1 if wrong else 0


def rows(simplified: bool) -> Iterator[Row]:
    """Yield a row for each program: true and reported bytes, paths and lines of its arrays.

    If `simplified` is False, also yield a row for each function in `held_situations.HELD`. These
    functions hold a captured array in different ways.
    """
    from tests.jaxmeter.capture import capture_situations, held_situations

    for name, truth in capture_situations.SITUATIONS.items():
        found = capture_situations.measured(name)
        constants, arrays = found.constants, found.audit.arrays
        embedded = [size for size in truth.embedded if not simplified or size <= SMALL_BYTES]
        hidden = sum(truth.hidden) if simplified else 0
        marked = capture_situations.marked_lines(name).values()
        used = {use.line for array in arrays for use in array.uses}
        yield row(
            name,
            "simplified" if simplified else "default",
            captured_bytes=(sum(truth.captured), constants.captured_bytes),
            embedded_bytes=(sum(embedded), constants.embedded_bytes),
            embedded_count=(len(embedded), constants.embedded_count),
            hidden_argument_bytes=(hidden, constants.hidden_argument_bytes),
            paths=(sorted(truth.paths), sorted(array.path for array in arrays)),
            lines=(sorted(set(itertools.chain(*marked))), sorted(used)),
        )
    size = held_situations.CUBE_BYTES
    for name, held in held_situations.HELD.items() if not simplified else ():
        found = jaxmeter.audit(held.fn, held_situations.X)
        yield row(
            name,
            "default",
            captured_bytes=(size, found.captured_bytes),
            embedded_bytes=(size, found.embedded_bytes),
            embedded_count=(1, found.embedded_count),
            hidden_argument_bytes=("", ""),
            paths=([held.path], [array.path for array in found.arrays]),
            lines=("", ""),
        )


def row(situation: str, constants: str, **pairs: tuple[Any, Any]) -> Row:
    """Return a row of the (true, reported) values in `pairs`, and whether all reports are right."""
    found: Row = {"situation": situation, "constants": constants}
    for name, (true, reported) in pairs.items():
        found |= {f"{name}_true": _text(true), f"{name}_reported": _text(reported)}
    found["correct"] = "yes" if all(true == said for true, said in pairs.values()) else "no"
    return found


def _text(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
