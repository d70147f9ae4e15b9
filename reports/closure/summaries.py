"""Compute the tables of the closure report from the measurements of all processes."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from .. import stats
from ..quantities import COMPILED
from ..stats import by_round, case_summary, paired_columns, succeeded, table_of, time_columns
from ..tables import PLACE, groups, rows

CASING, FRAMES = "casing_variants", "coronagraph_variants"
CHANGES, CURVE = "coronagraph_change", "capture_size"
ARGUMENT = "argument"  # the variant with which other variants are compared
VARIANTS = ("closure", ARGUMENT, "cached", "simplified", "hoisted", "static_callable")
OPERATIONS = {"none": "array alone", "exp": "array's exp", "cumsum": "array's cumulative sum"}
PROBLEM = (*stats.PROBLEM, "size")

TIMES = (*stats.TIMES, COMPILED, "ready_seconds", "naive_std_seconds")
RATIOS = (
    "compile_seconds",
    COMPILED,
    "ready_seconds",
    "first_call_seconds",
    "steady_median_seconds",
)
MAXIMA = (
    *stats.SIZES,
    "system_bytes",
    "cube_bytes",
    "device_peak_bytes",
    "rate_difference_relative",
    "differing_pixels_count",
    "hlo_instructions_count",
    "fusions_count",
)
# The table that was published for the simulator coronagraphoto (docs/closure.md): frames of 256 by
# 256 pixels, one GPU, 20 runs for each variant. The columns are the first call including its
# compile, the steady median and the standard deviation, all in seconds, and the captured bytes.
PUBLISHED = {
    "closure": (43.7, 22.7e-3, 6.2e-3, 4.46e9),
    "argument": (5.6, 22.9e-3, 0.3e-3, 0.0),
}
PUBLISHED_SIZE = 256
SCRIPT_CALL = re.compile(r"script_call_(\d+)_seconds")
LARGE_BYTES = 1e6  # the cost of fewer embedded bytes is below the noise of compiling


def variants(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each problem and variant, with ratios to the argument variant."""
    found = []
    for problem, group in groups(of_variants(measured), PROBLEM):
        argument = group.loc[group["variant"] == ARGUMENT]
        for variant in sorted(set(group["variant"]), key=variant_order):
            case = group.loc[group["variant"] == variant]
            row = {**problem, "variant": variant, **case_summary(case, TIMES, MAXIMA)}
            for quantity in RATIOS:
                stem = f"{stats.stem_of(quantity)}_to_argument"
                row |= paired_columns(stem, case, argument, quantity)
            found.append(row)
    return table_of(found)


def of_variants(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the successful processes of the suites that compare variants."""
    good = succeeded(measured, "variant")
    return good.loc[good["suite"].isin([CASING, FRAMES])]


def changes(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the cost of changing the cube of images, by commit, environment, size and variant."""
    found = []
    where = [*PLACE, "size", "variant"]
    for key, case in groups(succeeded(measured, suite=CHANGES), where):
        row = {**key, "processes_count": len(case)}
        row |= time_columns("change", stats.values(case, "change_seconds"))
        row["change_compiles_count"] = case["change_compiles_count"].max()
        row["follows"] = bool((case["change_follows_count"] == 1).all())
        found.append(row)
    return table_of(found, where, {"variant": variant_order})


def script_calls(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the seconds of successive calls in each process; call 0 is the compiling call."""
    keys = [*PLACE, "size", "variant", "round_index"]
    good = succeeded(measured, suite=CHANGES)
    calls = {name: call for name in good if (call := SCRIPT_CALL.fullmatch(str(name)))}
    long = good.melt(keys, list(calls), "run", "seconds").dropna(subset="seconds")
    return long.assign(run=[int(calls[name][1]) for name in long["run"]]).reset_index(drop=True)


def curve(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the cost of closing over one array, by commit, environment, operation and size.

    The columns ``extra_*`` are differences between two compile times of the same round: closing
    over the array minus passing it as an argument.
    """
    found = []
    where = [*PLACE, "operation", "array_bytes"]
    for key, group in groups(succeeded(measured, suite=CURVE), where):
        closed = group.loc[group["variant"] == "closure"]
        passed = group.loc[group["variant"] == ARGUMENT]
        if closed.empty:
            continue
        mine, other = (by_round(case, "trace_lower_compile_seconds") for case in (closed, passed))
        row: dict[str, Any] = {**key, "processes_count": len(closed)}
        row["embedded_bytes"] = closed["embedded_bytes"].max()
        row |= time_columns("trace_lower_compile", mine.values())
        row |= time_columns("argument_trace_lower_compile", other.values())
        row |= time_columns("extra", [mine[i] - other[i] for i in mine.keys() & other.keys()])
        row |= time_columns("steady", stats.values(closed, "steady_median_seconds"))
        row |= paired_columns("steady_to_argument", closed, passed, "steady_median_seconds")
        found.append(row)
    return table_of(found, where, {"operation": _place_in(OPERATIONS)})


def extra_seconds(table: pd.DataFrame) -> pd.DataFrame:
    """Return the cases that embed more bytes than the argument variant of the same problem.

    The columns `extra_bytes` and `extra_seconds` are the differences from the argument variant.
    `table` is the result of `variants` for one environment.
    """
    names = ["embedded_bytes", "trace_lower_compile_median_seconds"]
    passed = table.loc[table["variant"] == ARGUMENT, [*PROBLEM, *names]]
    both = table.merge(passed, on=list(PROBLEM), suffixes=("", "_argument"))
    for extra, name in zip(("extra_bytes", "extra_seconds"), names, strict=True):
        both[extra] = (both[name] - both[f"{name}_argument"]).astype(float)
    return both.loc[both["extra_bytes"] > 0].reset_index(drop=True)


def slope(size_bytes: Any, seconds: Any) -> float:
    """Return seconds per megabyte, from a line through the origin that fits seconds against bytes.

    In the least-squares fit, each point has the weight 1 / bytes, so that the largest point does
    not dominate. Points below `LARGE_BYTES` are left out. If no points remain, the result is NaN.
    """
    large = (size_bytes >= LARGE_BYTES) & seconds.notna()
    return float(seconds[large].sum() / size_bytes[large].sum() * 1e6) if large.any() else math.nan


def published() -> pd.DataFrame:
    """Return a row for each published variant.

    The columns are `source` and some of the columns of the table that `variants` returns.
    """
    found = []
    for variant, (*times, captured) in PUBLISHED.items():
        row = {"source": "published, one GPU", "size": PUBLISHED_SIZE, "variant": variant}
        for stem, seconds in zip(("ready", "steady", "naive_std"), times, strict=True):
            row |= time_columns(stem, [seconds])
        found.append(row | {"captured_bytes": captured})
    return pd.DataFrame(found)


def published_seconds_per_megabyte() -> float:
    """Return the published cost of closing over a megabyte, from the two published rows."""
    closure, argument = PUBLISHED.values()
    return (closure[0] - argument[0]) / ((closure[3] - argument[3]) / 1e6)


def row_of(table: pd.DataFrame, variant: str, **where: Any) -> dict[str, Any] | None:
    """Return the first row of a variant with the column values `where`; None if no row matches."""
    found = table.loc[table["variant"] == variant]
    for name, value in where.items():
        found = found.loc[found[name] == value]
    return None if found.empty else rows(found)[0]


def variant_name(variant: str) -> str:
    return variant.replace("_", " ")


def _place_in(known: Iterable[str]) -> Callable[[str], int]:
    """Return a sorting key that puts names in the order of `known`, and other names last."""
    order = list(known)
    return lambda name: order.index(name) if name in order else len(order)


variant_order = _place_in(VARIANTS)
