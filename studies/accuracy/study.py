"""Measure errors in units of 10^-digits, and error estimates, by shape: docs/accuracy.md.

    python -m studies accuracy                      # measure all shapes, in hours; rerun to resume
    python -m studies accuracy --digits 3 6 9       # 3, 6 and 9 digits, in an hour on two cores
    python -m studies accuracy --shapes QA --quantities field     # measure one shape and quantity
    python -m studies accuracy --digits 3 6 --quantities "off without patches"
    python -m studies accuracy --save               # replace committed rows by measured rows

The exact results are Biot-Savart fields of known currents, and the gradients of these fields. The
grid of B resolves two more digits than requested (four more for gradients), but at most 15 digits.
The measured error is therefore mostly the error of the quadrature. Each quantity on each shape is
measured in a process of its own. LLVM's optimisation is off: it would take most of the compile
time, and it changes results only by rounding errors.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import pandas as pd

import vcjax
from benchmarks.measuring.checkout import code_version
from studies.accuracy import measure, patches
from studies.accuracy.shapes import FIELDS, shapes
from studies.harness import (
    RESULTS,
    Row,
    StudyError,
    in_worker,
    measured,
    read_rows,
    table,
    write_rows,
)

DIGITS = tuple(range(2, 13))
QUANTITIES: dict[str, Callable[..., Iterator[Row]]] = {
    "field": measure.on_surface,
    "off": measure.off_surface,
    "gradient": partial(measure.on_surface, gradient=True),
    "off gradient": partial(measure.off_surface, gradient=True),
    "off without patches": patches.without_patches,
    "off gradient without patches": partial(patches.without_patches, gradient=True),
}
"""For each quantity: the function that yields the rows."""
TITLES = {
    "field": "field",
    "off": "field off the surface",
    "gradient": "gradient",
    "off gradient": "gradient off the surface",
}
"""The quantities with error estimates, and their names in the tables."""
COLUMNS = (
    *("shape", "field", "quantity", "digits", "distance", "side"),
    *("error", "estimate", "over", "ratio", "least_ratio"),
    *("quad_nphi", "quad_ntheta", "src_nphi", "src_ntheta", "refused", "code"),
)
MEANINGFUL = 1e-3
"""Errors up to this size, in units of 10^-digits, are negligible.

The table of estimates leaves them out, except in the columns "results" and "least".
"""
ENVIRONMENT = {"XLA_FLAGS": "--xla_backend_optimization_level=0", "JAX_PLATFORMS": "cpu"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    parser.add_argument("--shapes", nargs="+", choices=tuple(shapes()), default=tuple(shapes()))
    parser.add_argument("--digits", nargs="+", type=int, default=DIGITS)
    about = "default: the quantities with error estimates"
    names = tuple(TITLES)
    parser.add_argument("--quantities", nargs="+", choices=QUANTITIES, default=names, help=about)
    text = "replace the committed rows by the rows in --out"
    parser.add_argument("--save", action="store_true", help=text)
    parser.add_argument("--out", type=Path, default=RESULTS / "accuracy" / "rows.jsonl")


def run(options: argparse.Namespace) -> int:
    """Measure the rows that the file ``--out`` does not contain yet.

    With ``--save``, measure nothing; `save` copies the rows of this file to the committed file.
    """
    if options.save:
        save(options.out, measured("accuracy", "rows.csv"))
        return 0
    code, failures = code_version(), 0
    done = {_key(row) for row in read_rows(options.out) if row["code"] == code}
    for shape in options.shapes:
        for quantity in options.quantities:
            missing = [
                d
                for d in options.digits
                if any((shape, field, quantity, str(d)) not in done for field in FIELDS)
            ]
            if not missing:
                continue
            print(f"{shape}, {quantity}, {missing} digits", flush=True)
            given = dict(shape=shape, quantity=quantity, digits=missing, code=code)
            try:
                in_worker(shape_rows, options.out, given, env=ENVIRONMENT)
            except StudyError as error:
                print(error, file=sys.stderr)
                failures += 1
    return 1 if failures else 0


def save(new: Path, committed: Path) -> None:
    """Replace rows of the committed file by new rows of the same shape, field, quantity and digits.

    If these new rows were measured with several versions of the code, only the rows of the version
    that was measured last are saved.
    """
    rows = kept_rows(read_rows(new))
    if not rows:
        raise StudyError(f"{new} has no rows; measure first, or name another file with --out")
    newest = {_key(row): row["code"] for row in rows}
    kept = [row for row in read_rows(committed) if _key(row) not in newest]
    kept += [row for row in rows if row["code"] == newest[_key(row)]]
    kept.sort(key=lambda row: [str(row[name]) for name in COLUMNS[:6]])
    write_rows(committed, kept)


def shape_rows(shape: str, quantity: str, digits: Sequence[int], code: str) -> Iterator[Row]:
    """Yield the rows of a quantity on a shape, for all fields and the given digits.

    If vcjax raises a `VcjaxError`, the row has the error's message. `code` identifies the measured
    version of the code.
    """
    jax.config.update("jax_enable_x64", True)
    found = shapes()[shape]
    for d in digits:
        for field in FIELDS:
            fixed = dict(shape=shape, field=field, quantity=quantity, digits=d, code=code)
            before = time.process_time()
            try:
                rows = [*QUANTITIES[quantity](found, field, d)]
            except vcjax.VcjaxError as error:
                rows = [dict(refused=str(error))]
            for row in rows:
                yield fixed | row | dict(cpu_seconds=round(time.process_time() - before, 1))
        jax.clear_caches()


def _key(row: Row) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("shape", "field", "quantity", "digits"))


def kept_rows(rows: list[Row]) -> list[Row]:
    """Return the rows with only the committed columns; round floats to three significant digits."""
    kept = []
    for row in rows:
        for grid in ("quad", "src"):
            row[f"{grid}_nphi"], row[f"{grid}_ntheta"] = row.get(grid, ("", ""))
        kept.append({name: _short(row.get(name, "")) for name in COLUMNS})
    return kept


def _short(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _rows() -> Any:
    return pd.read_csv(measured("accuracy", "rows.csv"))


def worst_errors(quantity: str) -> str:
    """Return a table of the largest error, in units of 10^-digits, by shape and digits."""
    worst = _worst(quantity, "shape").reindex(_rows()["shape"].unique(), fill_value="")
    return table(("shape", *worst), worst.itertuples())


def by_distance(quantity: str) -> str:
    """Return a table of the largest error off the surface, in units of 10^-digits, by distance."""
    worst = _worst(quantity, ["distance", "side"]).sort_index(ascending=[False, True])
    lines = [(f"{distance:g}", side, *line) for (distance, side), *line in worst.itertuples()]
    return table(("distance, minor radii", "side", *worst), lines, left=2)


def _worst(quantity: str, keys: str | list[str]) -> Any:
    """Return the largest errors as text, by `keys`, with a column for each number of digits."""
    rows = _rows()
    worst = rows[rows["quantity"] == quantity].pivot_table("over", keys, "digits", "max")
    return worst.map(_number).rename(columns="d = {}".format)


def estimates() -> str:
    """Return a table of the ratios of estimate to error, by quantity and digits."""
    rows = _rows()
    lines = []
    for quantity, name in TITLES.items():
        some = rows[rows["quantity"] == quantity]
        for digits in sorted(some["digits"].unique()):
            every = some[some["digits"] == digits]
            matter = every[every["over"] > MEANINGFUL]
            ratios = matter["ratio"]
            lines.append(
                (
                    name,
                    digits,
                    len(every),
                    _number(every[["ratio", "least_ratio"]].min(axis=1).min()),
                    _number(ratios.quantile(0.5)),
                    _number(ratios.max()),
                    f"{(ratios > 300).sum()} of {len(matter)}",
                )
            )
    header = ("quantity", "d", "results", "least", "median", "largest", "above 300")
    return table(header, lines)


def errors_without_patches() -> str:
    """Return a table of the largest error, in units of 10^-digits, by range of distances."""
    names = {"off without patches": "field", "off gradient without patches": "gradient"}
    rows = _rows().assign(quantity=lambda rows: rows["quantity"].map(names))
    worst = rows.pivot_table("over", ["quantity", "digits"], "distance", "max", 0.0)
    lines = [(*case, *map(_number, errors)) for case, *errors in worst.itertuples()]
    header = [f"{first:g} to {last:g}" for first, last in itertools.pairwise(patches.EDGES)]
    return table(("quantity", "digits", *header), lines)


def _number(value: Any) -> str:
    return "" if pd.isna(value) else f"{value:.2g}"


TABLES = {
    "accuracy field": partial(worst_errors, "field"),
    "accuracy gradient": partial(worst_errors, "gradient"),
    "accuracy off": partial(worst_errors, "off"),
    "accuracy off gradient": partial(worst_errors, "off gradient"),
    "accuracy distance": partial(by_distance, "off"),
    "accuracy distance gradient": partial(by_distance, "off gradient"),
    "accuracy estimates": estimates,
    "accuracy patches": errors_without_patches,
}
