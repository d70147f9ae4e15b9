"""The numbers of the closure report, case by case, from the measurements of processes."""

import math
import re
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .. import stats
from ..frames import groups, numeric, rows
from ..stats import by_round, case_summary, paired_columns, succeeded, table_of, time_columns
from ..tables import PLACE

CASING, FRAMES = "casing_variants", "coronagraph_variants"
CHANGES, CURVE = "coronagraph_change", "capture_size"
ARGUMENT = "argument"  # the variant that the others are compared with
VARIANTS = ("closure", ARGUMENT, "cached", "simplified", "hoisted", "static_callable")
OPERATIONS = {"none": "array alone", "exp": "exp of it", "cumsum": "cumulative sum of it"}
PROBLEM = (*stats.PROBLEM, "size")
RUNS_COUNT = 20  # of which a script's standard deviation is taken

TIMES = {
    **stats.TIMES,
    "trace_lower_compile_seconds": "trace_lower_compile",
    "ready_seconds": "ready",
    "naive_std_seconds": "naive_std",
}
RATIOS = (
    "compile_seconds",
    "trace_lower_compile_seconds",
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
SCRIPT_CALL = re.compile(r"script_call_(\d+)_seconds")
LARGE_BYTES = 1e6  # below, the cost of embedding is lost in the noise of compiling


def with_derived(measured: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """Return the measurements with parameters as numbers and the times that a user waits.

    ``trace_lower_compile_seconds`` is the whole compile time, ``ready_seconds`` the first call too.
    ``naive_std_seconds`` is the standard deviation of the first 20 runs after compiling, the first
    call included.
    """
    frame = measured.copy()
    for name in ("size", "array_bytes", "operation"):
        column = frame.get(f"parameter_{name}", pd.Series(index=frame.index, dtype=object))
        frame[name] = column if name == "operation" else numeric(column)
    parts = frame.reindex(columns=["trace_seconds", "lower_seconds", "compile_seconds"])
    frame["trace_lower_compile_seconds"] = parts.apply(numeric).sum(axis=1, skipna=False)
    first_calls = numeric(frame.get("first_call_seconds", pd.Series(index=frame.index)))
    frame["ready_seconds"] = frame["trace_lower_compile_seconds"] + first_calls
    where = [*PLACE, "case", "round_index"]
    runs = {key: list(found) for key, found in samples.groupby(where)["steady_seconds"]}
    keys = frame[where].itertuples(index=False, name=None)
    frame["naive_std_seconds"] = [
        naive_std(first, runs.get(key, ())) for first, key in zip(first_calls, keys, strict=True)
    ]
    return frame


def naive_std(first_call: float, steady: Sequence[float]) -> float:
    """Return the standard deviation of the first `RUNS_COUNT` runs; NaN where there are fewer."""
    runs = [first_call, *steady][:RUNS_COUNT]
    if len(runs) < RUNS_COUNT or pd.isna(first_call):
        return math.nan
    return statistics.stdev(runs)


def variants(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each problem and variant, with ratios to the argument variant.

    Parameters
    ----------
    measured : DataFrame
        From `with_derived`.
    """
    found = []
    for problem, group in groups(of_variants(measured), PROBLEM):
        cases = {key["variant"]: case for key, case in groups(group, ["variant"])}
        for variant in sorted(cases, key=variant_order):
            row = {**problem, "variant": variant, **case_summary(cases[variant], TIMES, MAXIMA)}
            for quantity in RATIOS:
                stem = f"{TIMES[quantity]}_to_argument"
                row |= paired_columns(stem, cases[variant], cases.get(ARGUMENT), quantity)
            found.append(row)
    return table_of(found)


def of_variants(measured: pd.DataFrame) -> pd.DataFrame:
    """Return the processes that succeeded, of the suites that compare variants."""
    good = succeeded(measured, "variant")
    return good.loc[good["suite"].isin([CASING, FRAMES])]


def changes(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each environment, size and variant: the cost of a change of the cube."""
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
    """Return the seconds of each call timed as a script does; call 0 is the one that compiles."""
    keys = [*PLACE, "size", "variant", "round_index"]
    good = succeeded(measured, suite=CHANGES)
    calls = {name: call for name in good if (call := SCRIPT_CALL.fullmatch(str(name)))}
    long = good.melt(keys, list(calls), "run", "seconds").dropna(subset="seconds")
    return long.assign(run=[int(calls[name][1]) for name in long["run"]]).reset_index(drop=True)


def curve(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each environment, operation and array size: the cost of closing over it.

    ``extra`` is the compile time beyond that of the same program with the array as an argument,
    round by round.
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
    order = list(OPERATIONS)
    return table_of(found, where, {"operation": lambda name: _place(name, order)})


def extra_seconds(table: pd.DataFrame) -> pd.DataFrame:
    """Return bytes and compile seconds beyond the argument variant's, of each case that embeds.

    Parameters
    ----------
    table : DataFrame
        `variants` of one environment.
    """
    names = ["embedded_bytes", "trace_lower_compile_median_seconds"]
    passed = table.loc[table["variant"] == ARGUMENT, [*PROBLEM, *names]]
    both = table.merge(passed, on=list(PROBLEM), suffixes=("", "_argument"))
    for extra, name in zip(("extra_bytes", "extra_seconds"), names, strict=True):
        both[extra] = (both[name] - both[f"{name}_argument"]).astype(float)
    return both.loc[both["extra_bytes"] > 0].reset_index(drop=True)


def slope(points: Iterable[tuple[float, float]]) -> float:
    """Return seconds a megabyte: the line through the origin that fits seconds against bytes.

    Least squares weighed by one over the bytes, so that the largest point does not decide alone.
    Points below `LARGE_BYTES` are left out; NaN without any other.
    """
    large = [(x, y) for x, y in points if x >= LARGE_BYTES and not math.isnan(y)]
    if not large:
        return math.nan
    sizes, seconds = np.array(large).T
    return float(seconds.sum() / sizes.sum() * 1e6)


def fitted(points: pd.DataFrame) -> float:
    """Return the slope of `extra_seconds`."""
    return slope(zip(points["extra_bytes"], points["extra_seconds"], strict=True))


def row_of(table: pd.DataFrame, variant: str, **where: Any) -> dict[str, Any] | None:
    """Return the row of a variant where columns have these values; None where there is none."""
    found = table.loc[table["variant"] == variant]
    for name, value in where.items():
        found = found.loc[found[name] == value]
    return None if found.empty else rows(found)[0]


def variant_order(variant: str) -> int:
    """Return the sorting key; unknown variants come last."""
    return _place(variant, VARIANTS)


def _place(name: str, known: Sequence[str]) -> int:
    return known.index(name) if name in known else len(known)
