"""Measure errors in units of 10^-digits, and error estimates, by shape: docs/accuracy.md.

    python -m studies accuracy                      # measure everything, in hours; rerun to resume
    python -m studies accuracy --digits 3 6 9       # 3, 6 and 9 digits, in an hour on two cores
    python -m studies accuracy --shapes QA --quantities field     # measure one shape and quantity
    python -m studies accuracy --save               # replace committed rows by measured rows

The exact results are Biot-Savart fields of known currents, and their gradients. The grid of B
resolves two more digits than requested (four more for gradients), but may miss 1e-15 of max |B|.
The measured error is therefore mostly the error of the quadrature. Each quantity on each shape is
measured in a process of its own. Programs are compiled without LLVM's optimisation, because it
takes most of the time and changes results only by rounding.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.measuring.checkout import code_version
from studies.accuracy import measure
from studies.accuracy.page import in_order, kept_rows
from studies.accuracy.shapes import FIELDS, shapes
from studies.harness import RESULTS, Row, StudyError, in_worker, measured, read_rows, write_rows

DIGITS = tuple(range(2, 13))
ENVIRONMENT = {"XLA_FLAGS": "--xla_backend_optimization_level=0", "JAX_PLATFORMS": "cpu"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    parser.add_argument("--shapes", nargs="+", choices=tuple(shapes()), default=tuple(shapes()))
    parser.add_argument("--fields", nargs="+", choices=FIELDS, default=FIELDS)
    parser.add_argument("--digits", nargs="+", type=int, default=DIGITS)
    kinds = tuple(measure.MEASURES)
    parser.add_argument("--quantities", nargs="+", choices=kinds, default=kinds)
    text = "replace the committed rows by the rows in --out"
    parser.add_argument("--save", action="store_true", help=text)
    parser.add_argument("--out", type=Path, default=RESULTS / "accuracy" / "rows.jsonl")


def run(options: argparse.Namespace) -> int:
    """Measure the rows that the file does not contain yet.

    With ``--save`` replace committed rows by measured rows instead.
    """
    if options.save:
        file = measured("accuracy", "rows.csv")
        write_rows(file, in_order(replaced_rows(file, kept_rows(read_rows(options.out)), _key)))
        return 0
    code, failures = code_version(), 0
    done = {_key(row) for row in read_rows(options.out) if row["code"] == code}
    for shape in options.shapes:
        for quantity in options.quantities:
            missing = [
                d
                for d in options.digits
                if any((shape, field, quantity, str(d)) not in done for field in options.fields)
            ]
            if not missing:
                continue
            print(f"{shape}, {quantity}, {missing} digits", flush=True)
            wanted = dict(shape=shape, fields=options.fields, digits=missing, code=code)
            try:
                given = wanted | dict(quantity=quantity)
                in_worker(measure.shape_rows, options.out, given, env=ENVIRONMENT)
            except StudyError as error:
                print(error, file=sys.stderr)
                failures += 1
    return 1 if failures else 0


def replaced_rows(file: Path, rows: list[Row], key: Callable[[Row], Any]) -> list[Row]:
    """Return the rows of a file, in which new rows replace all rows with the same key.

    New rows that were measured with other code than the last new row of their key are left out.
    """
    newest = {key(row): row["code"] for row in rows}
    kept = [row for row in read_rows(file) if key(row) not in newest]
    return [*kept, *(row for row in rows if row["code"] == newest[key(row)])]


def _key(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("shape", "field", "quantity", "digits"))
