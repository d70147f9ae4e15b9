"""Make the tables of docs/accuracy.md from the committed rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from studies.harness import measured, table

QUANTITIES = {
    "field": "field",
    "off": "field off the surface",
    "gradient": "gradient",
    "off gradient": "gradient off the surface",
}
COLUMNS = (
    *("shape", "field", "quantity", "digits", "distance", "side"),
    *("error", "estimate", "over", "ratio", "least_ratio"),
    *("quad_nphi", "quad_ntheta", "src_nphi", "src_ntheta", "refused", "code"),
)
MEANINGFUL = 1e-3
"""Least error, in units of 10^-digits, for which the estimate matters.

Smaller errors are negligible.
"""


def kept_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows of the study with the committed columns, rounded to three significant digits."""
    kept = []
    for row in rows:
        for grid in ("quad", "src"):
            row[f"{grid}_nphi"], row[f"{grid}_ntheta"] = row.get(grid, ("", ""))
        kept.append({name: _short(row.get(name, "")) for name in COLUMNS})
    return kept


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows sorted by shape, field, quantity, digits, distance and side, all as text."""
    return sorted(rows, key=lambda row: [str(row[name]) for name in COLUMNS[:6]])


def _short(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _rows() -> Any:
    return pd.read_csv(measured("accuracy", "rows.csv"))


def worst_errors(quantity: str) -> str:
    """Return a table of the largest error in units of 10^-digits, by shape and digits."""
    worst = _worst(quantity, "shape").reindex(_rows()["shape"].unique(), fill_value="")
    return table(("shape", *worst), worst.itertuples())


def by_distance(quantity: str) -> str:
    """Return a table of the largest error off the surface in units of 10^-digits, by distance."""
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
    for quantity, name in QUANTITIES.items():
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
}
