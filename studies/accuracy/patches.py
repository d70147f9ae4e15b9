"""Measure errors at points off the surface without patches, by distance: docs/equations.md.

    python -m studies patches                    # measure 3 and 6 digits; rerun to resume
    python -m studies patches --digits 3 --shapes QA
    python -m studies patches --save             # replace committed rows by measured rows

`vcjax._kernels.off_surface.reach_of_patches` returns the distance from the surface, in node
spacings, beyond which a point needs no patch. The study places points at 0.7 to 1.3 times this
distance, on both sides of the surface, and evaluates the fields there without patches. The data and
the exact results are the same as in ``python -m studies accuracy``.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

import vcjax
from benchmarks.measuring.checkout import code_version
from studies.accuracy import measure
from studies.accuracy.shapes import FIELDS, Shape, shapes
from studies.accuracy.study import ENVIRONMENT, replaced_rows
from studies.harness import RESULTS, Row, in_worker, measured, read_rows, table, write_rows
from vcjax._geometry.foot import Periods, filled_count, nearest
from vcjax._kernels.off_surface import reach_of_patches

SHARES = (0.7, 0.8, 0.9, 1.0, 1.1, 1.3)
"""Distances at which points are placed, as shares of the reach of patches."""
EDGES = (0.7, 0.85, 1.0, 1.15, 1.5)
"""Edges of the columns of the table, also as shares of the reach of patches."""
_COLUMNS = "shape", "field", "quantity", "digits", "from_share", "over", "code"
_NO_CUTOFF = 1e-3
"""A `cutoff` of a rule, so small that only points very close to the surface have patches."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    parser.add_argument("--shapes", nargs="+", choices=tuple(shapes()), default=tuple(shapes()))
    parser.add_argument("--digits", nargs="+", type=int, default=(3, 6))
    parser.add_argument("--save", action="store_true", help="replace the committed rows")
    parser.add_argument("--out", type=Path, default=RESULTS / "accuracy" / "patches.jsonl")


def run(options: argparse.Namespace) -> int:
    """Measure the rows that the file does not contain yet.

    With ``--save`` replace committed rows by measured rows instead.
    """
    if options.save:
        rows = [{name: row[name] for name in _COLUMNS} for row in read_rows(options.out)]
        file = measured("accuracy", "patches.csv")
        write_rows(file, replaced_rows(file, rows, _key))
        return 0
    code = code_version()
    done = {_key(row) for row in read_rows(options.out) if row["code"] == code}
    for shape in options.shapes:
        digits = [d for d in options.digits if (shape, str(d)) not in done]
        if digits:
            print(f"{shape}, {digits} digits", flush=True)
            given = dict(shape=shape, digits=digits, code=code)
            in_worker(rows_of, options.out, given, env=ENVIRONMENT)
    return 0


def _key(row: Row) -> tuple[str, str]:
    return row["shape"], str(row["digits"])


def rows_of(shape: str, digits: Sequence[int], code: str) -> Iterator[Row]:
    """Yield the rows of a shape: the largest error in each range of distances."""
    jax.config.update("jax_enable_x64", True)
    for d in digits:
        rows = []
        for quantity in ("off", "off gradient"):
            for field in FIELDS:
                fixed = dict(shape=shape, field=field, quantity=quantity, digits=d, code=code)
                found = _without_patches(shapes()[shape], field, quantity, d)
                rows += [fixed | row for row in found]
        yield from rows
        jax.clear_caches()


def _without_patches(shape: Shape, field: str, quantity: str, digits: int) -> Iterator[Row]:
    data, *currents = measure.data_of(shape, field, digits + measure.EXTRA_DIGITS[quantity])
    gradient = quantity == "off gradient"
    rule = vcjax.choose_off_surface(data.X, data.B, digits, **data.symmetry, gradient=gradient)
    bare = replace(rule, cutoff=_NO_CUTOFF)
    casing = vcjax.prepare_off_surface(bare, data.X)
    _, _, lengths = measure.frame(shape.name)
    spacing = (lengths * np.array(rule.spacing)[:, None]).max(axis=0)
    reach = reach_of_patches(rule) * spacing / shape.minor_radius
    points, _, is_inside = measure.points_off(shape, [share * reach for share in SHARES])
    away = _nodes_away(casing, points)
    errors, _ = measure.errors_off_surface(shape, casing, data.B, points, is_inside, currents)
    has_none = away > reach_of_patches(bare)
    share = away / reach_of_patches(rule)
    for first, last in itertools.pairwise(EDGES):
        here = has_none & (share >= first) & (share < last)
        if here.any():
            yield dict(from_share=first, over=float(f"{errors[here].max() * 10.0**digits:.3g}"))


def _nodes_away(casing: vcjax.OffSurfaceCasing, points: np.ndarray) -> np.ndarray:
    """Return the distances of n points from the surface in node spacings, shape (n,)."""
    fill = filled_count(len(points)) - len(points)
    filled = np.pad(points, ((0, fill), (0, 0)), mode="edge")
    surface = Periods(casing.nodes[:3], casing.turns)
    found = jax.jit(nearest, static_argnums=2)(filled, surface, casing.rule)
    return np.asarray(found.nodes_away)[: len(points)]


def largest_errors() -> str:
    """Return a table of the largest error in units of 10^-digits, by the range of distances."""
    rows: Any = pd.read_csv(measured("accuracy", "patches.csv"))
    rows["quantity"] = rows["quantity"].map({"off": "field", "off gradient": "gradient"})
    worst = rows.pivot_table("over", ["quantity", "digits"], "from_share", "max", 0.0)
    lines = [(*case, *(f"{error:.2g}" for error in errors)) for case, *errors in worst.itertuples()]
    header = [f"{first:g} to {last:g}" for first, last in itertools.pairwise(EDGES)]
    return table(("quantity", "digits", *header), lines)


TABLES = {"accuracy patches": largest_errors}
