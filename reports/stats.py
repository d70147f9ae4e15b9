"""Summarise processes: medians with their intervals, maxima, and ratios paired by round.

Each process gives one number for each quantity. Columns that end in `_low_seconds` and
`_high_seconds` have the ends of a median's interval, from `jaxmeter.median_interval`. A number of
bytes is summarised by the maximum. Commits and environments are never pooled.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas as pd

from jaxmeter import MedianInterval, median_interval, paired_ratio

from .quantities import COMPILE_PHASES
from .tables import PLACE, numeric, whole

PROBLEM = (*PLACE, "workload", "half_period", "digits")

TIMES = (*COMPILE_PHASES, "first_call_seconds", "steady_median_seconds", "steady_std_seconds")
SIZES = (
    "captured_bytes",
    "embedded_bytes",
    "hidden_argument_bytes",
    "argument_bytes",
    "temp_bytes",
    "baseline_rss_bytes",
    "compile_peak_rss_bytes",
    "peak_rss_bytes",
    "casing_bytes",
)


def succeeded(measured: pd.DataFrame, *columns: str, suite: str | None = None) -> pd.DataFrame:
    """Return the processes that succeeded and have a value in each of `columns`.

    If `suite` is given, only processes of this suite are returned.
    """
    if any(name not in measured for name in columns):
        return measured.iloc[:0]
    good = (measured["status"] == "ok") & measured[list(columns)].notna().all(axis=1)
    return measured.loc[good if suite is None else good & (measured["suite"] == suite)]


def case_summary(
    case: Any, times: Iterable[str] = TIMES, maxima: Iterable[str] = SIZES
) -> dict[str, Any]:
    """Return counts, times with intervals, maxima and the largest error.

    The largest error is NaN if any error is NaN.
    """
    row: dict[str, Any] = {
        "processes_count": len(case),
        "checked_errors_count": case["checked_errors_count"].sum(),
        "interval_coverage_ratio": median_interval(values(case, "steady_median_seconds")).coverage,
    }
    for quantity in times:
        row |= time_columns(stem_of(quantity), values(case, quantity))
    row |= {name: case[name].max() for name in maxima if name in case}
    errors = case["error_relative"] if "error_relative" in case else pd.Series([math.nan])
    return row | {"error_relative": errors.max(skipna=False)}


def stem_of(quantity: str) -> str:
    """Return the stem of a time's column names, such as `steady` for `steady_median_seconds`."""
    return quantity.removesuffix("_seconds").removesuffix("_median")


def time_columns(stem: str, seconds: Iterable[float]) -> dict[str, float]:
    """Return the median of `seconds` and its interval, as columns that begin with `stem`."""
    interval = median_interval(list(seconds))
    return {
        f"{stem}_median_seconds": interval.median,
        f"{stem}_low_seconds": interval.low,
        f"{stem}_high_seconds": interval.high,
    }


def ratio_columns(stem: str, interval: MedianInterval) -> dict[str, float]:
    """Return a ratio, its interval and its number of pairs, as columns that begin with `stem`."""
    return {
        f"{stem}_ratio": interval.median,
        f"{stem}_low_ratio": interval.low,
        f"{stem}_high_ratio": interval.high,
        f"{stem}_pairs_count": interval.count,
    }


def paired_columns(
    stem: str, mine: pd.DataFrame, other: pd.DataFrame, quantity: str
) -> dict[str, float]:
    """Return the ratio of a quantity between two cases, `mine` / `other`, as columns of a row.

    The processes of the cases are paired by round. Without a common round, the ratio is NaN.
    """
    return ratio_columns(stem, paired_ratio(by_round(mine, quantity), by_round(other, quantity)))


def magnitude(ratio: float) -> float:
    """Return the absolute logarithm of a ratio; infinite if the ratio is not in (0, ∞)."""
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf


def is_busy(load: Any, cpus: Any) -> bool:
    """Return whether a load means that other programs ran; False if either number is missing.

    XLA uses at most one thread for each CPU, so only other programs raise the load above the
    number of CPUs.
    """
    return not (pd.isna(load) or pd.isna(cpus)) and load > cpus


def by_round(case: pd.DataFrame, quantity: str) -> dict[int, float]:
    """Return the values of a column by round, except missing values."""
    return pd.Series(case[quantity].array, case["round_index"]).dropna().to_dict()


def values(case: pd.DataFrame, quantity: str) -> list[float]:
    """Return the values of a column, except missing values; [] if there is no such column."""
    return [] if quantity not in case else numeric(case[quantity]).dropna().tolist()


def table_of(
    found: list[dict[str, Any]],
    sort_by: Iterable[str] = (),
    order: Mapping[str, Callable[[Any], Any]] | None = None,
) -> pd.DataFrame:
    """Return a table of rows, sorted by the columns `sort_by`.

    Columns of bytes, counts and digits become nullable integers if all their numbers are whole.
    `order` maps column names to functions that return the sorting key of a value.
    """
    frame = pd.DataFrame(found)
    for name in frame.columns:
        if name.endswith(("_bytes", "_count")) or name == "digits":
            frame[name] = whole(numeric(frame[name]))
    if frame.empty or not sort_by:
        return frame
    keys = order or {}
    return frame.sort_values(
        list(sort_by),
        key=lambda column: column.map(keys.get(str(column.name), lambda value: value)),
        ignore_index=True,
    )
