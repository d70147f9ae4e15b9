"""What the measurements say, case by case: medians over processes, their intervals, paired ratios.

Every summary starts from `tables.measurements`, uses the processes that succeeded, and groups by
commit and environment first. A time is the median over processes of a quantity of one process,
with `_low_seconds` and `_high_seconds` of `jaxmeter.median_interval`; a ratio is taken round by
round between processes that ran side by side, then treated alike.
"""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from jaxmeter import MedianInterval, median_interval, paired_ratio

from ..frames import any_of, groups, numeric, whole
from ..tables import FIELD_ERRORS, PLACE

ARGUMENT = "argument"  # the variant that the others are compared with
VARIANTS = ("closure", "argument", "simplified")
AUTO = "auto"
PREPARATION_SUITE = "casing_preparation"
CHUNK_SUITE = "chunk_sweep"
PROBLEM = (*PLACE, "workload", "half_period", "digits")

# Time of one process -> what its summary is called.
TIMES = {
    "trace_seconds": "trace",
    "lower_seconds": "lower",
    "compile_seconds": "compile",
    "first_call_seconds": "first_call",
    "steady_median_seconds": "steady",
    "steady_std_seconds": "steady_std",
}
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


def closure_versus_argument(measured: pd.DataFrame) -> pd.DataFrame:
    """One row for each problem and variant, with ratios to the argument variant beside it."""
    rows = []
    for problem, group in groups(_with(measured, "variant"), PROBLEM):
        by_variant = {found["variant"]: case for found, case in groups(group, ["variant"])}
        baseline = by_variant.get(ARGUMENT)
        for variant in sorted(by_variant, key=variant_order):
            mine = by_variant[variant]
            row = {**problem, "variant": variant, **_summary(mine)}
            for quantity in ("compile_seconds", "first_call_seconds", "steady_median_seconds"):
                name = f"{TIMES[quantity]}_to_argument"
                row |= _ratio_columns(name, _paired(mine, baseline, quantity))
            rows.append(row)
    return _finished(rows)


def chunk_sizes(measured: pd.DataFrame) -> pd.DataFrame:
    """One row for each problem, chunk size and target chunk size, with ratios to the fastest.

    `is_fastest` marks the case of the smallest steady-state median; `steady_to_fastest_ratio`
    compares with it side by side, and its interval says whether the two can be told apart at all.
    """
    rows = []
    swept = _with(measured, "chunk_size", "target_chunk_size")
    # Other suites vary tiles too, of quantities that no column tells apart.
    for problem, group in groups(swept.loc[swept["suite"] == CHUNK_SUITE], PROBLEM):
        cases = {
            (found["chunk_size"], found["target_chunk_size"]): case
            for found, case in groups(group, ["chunk_size", "target_chunk_size"])
        }
        medians = {
            key: median_interval(_values(c, "steady_median_seconds")).median
            for key, c in cases.items()
        }
        timed = {key: value for key, value in medians.items() if not math.isnan(value)}
        fastest = min(timed, key=lambda key: timed[key]) if timed else None
        for key in sorted(cases, key=lambda key: (chunk_order(key[0]), chunk_order(key[1]))):
            row = {**problem, "chunk_size": key[0], "target_chunk_size": key[1]}
            row |= _summary(cases[key])
            reference = cases[fastest] if fastest is not None else None
            ratio = _paired(cases[key], reference, "steady_median_seconds")
            row |= _ratio_columns("steady_to_fastest", ratio)
            rows.append(row | {"is_fastest": key == fastest, "is_auto": key == (AUTO, AUTO)})
    return _finished(rows)


def accuracy(measured: pd.DataFrame) -> pd.DataFrame:
    """One row for each problem, suite and method: the errors against the limit asked, 10^-digits.

    The worst and the best are over all processes and variants of the suite. An error that is not
    a number is the worst there can be: `error_worst_relative` is then NaN and `is_within` False.
    """
    rows = []
    methods = {"vcjax": "error_relative", "C++ reference": "reference_error_relative"}
    for method, column in methods.items():
        good = measured["status"] == "ok"
        checked = measured.loc[good & (measured["checked_errors_count"] > 0)]
        checked = checked.loc[checked["digits"].notna()] if column in checked else checked.iloc[:0]
        for problem, group in groups(checked, [*PROBLEM, "suite"]):
            errors = group[column]
            if method != "vcjax" and not any_of(errors.notna()):
                continue  # a suite without the reference
            limit = 10.0 ** -int(problem["digits"])
            worst = errors.max(skipna=False)
            rows.append(
                {
                    **problem,
                    "method": method,
                    "processes_count": len(errors),
                    "error_worst_relative": worst,
                    "error_best_relative": errors.min(),
                    "limit_relative": limit,
                    "error_to_limit_ratio": worst / limit,
                    "is_within": bool(worst <= limit),
                }
            )
    frame = _finished(rows)
    if frame.empty:
        return frame
    # vcjax before the reference within each problem, and problems in their order.
    return frame.sort_values([*PROBLEM, "method"], key=_ours_first, ignore_index=True)


def _ours_first(column: pd.Series) -> pd.Series:
    return (column != "vcjax") if column.name == "method" else column


def against_reference(measured: pd.DataFrame, *, gradient: bool = False) -> pd.DataFrame:
    """One row for each problem measured beside the C++ package, in the same process.

    Of fields, or of gradients, whose errors are relative to the largest component of the gradient;
    the table's columns have the same names for both.

    `setup` is a new surface up to its first field: ours choose, tables, prepare and evaluate, all
    compiled before; the reference's a new object with its first field. `evaluation` is a further
    field. Compiling of ours stands beside both. Ratios are reference / ours, process by process.
    """
    rows = []
    beside = _with(measured, "reference_evaluation_seconds")
    of_gradient = beside.reindex(columns=["gradient_error_relative"]).notna().any(axis=1)
    beside = beside.loc[of_gradient == gradient]
    if gradient:
        errors = [name for name in FIELD_ERRORS if name in beside]
        beside = beside.drop(columns=errors).rename(columns=GRADIENT_ERRORS)
    for problem, group in groups(beside, PROBLEM):
        group = group.reindex(columns=dict.fromkeys([*group.columns, *REFERENCE_COLUMNS]))
        group = group.assign(all_compile_seconds=group[COMPILING].sum(axis=1, skipna=False))
        row: dict[str, Any] = {**problem, "processes_count": len(group)}
        for quantity in (*REFERENCE_TIMES, "all_compile_seconds"):
            row |= _time_columns(quantity.removesuffix("_seconds"), group, quantity)
        for name in ("evaluation", "setup"):
            ratios = group[f"reference_{name}_seconds"] / group[f"{name}_seconds"]
            row |= _ratio_columns(f"{name}_speedup", median_interval(_values(ratios)))
        for error in ("error_relative", "reference_error_relative"):
            row[error] = group[error].max(skipna=False)
        for load in ("cpu_per_wall", "reference_cpu_per_wall"):
            row[f"{load}_highest_ratio"] = group[load].max()
            row[f"{load}_lowest_ratio"] = group[load].min()
        row["evaluations_to_repay_compile_count"] = _evaluations_to_repay(row)
        rows.append(row)
    return _finished(rows)


GRADIENT_ERRORS = {name.replace("error", "gradient_error"): name for name in FIELD_ERRORS}
COMPILING = ["trace_seconds", "lower_seconds", "compile_seconds", "prepare_compile_seconds"]
REFERENCE_TIMES = (
    "choose_seconds",
    "tables_seconds",
    "prepare_seconds",
    "setup_seconds",
    "reference_setup_seconds",
    "evaluation_seconds",
    "reference_evaluation_seconds",
)
REFERENCE_COLUMNS = (
    *COMPILING,
    *REFERENCE_TIMES,
    *FIELD_ERRORS,
    "cpu_per_wall",
    "reference_cpu_per_wall",
)


def preparation(measured: pd.DataFrame) -> pd.DataFrame:
    """One row for each problem whose casing was prepared in a measurement of its own."""
    prepared = _with(measured, "casing_bytes")
    rows = []
    for problem, group in groups(prepared.loc[prepared["suite"] == PREPARATION_SUITE], PROBLEM):
        row = {**problem, **_summary(group)}
        for quantity in ("choose_seconds", "tables_seconds"):
            row |= _time_columns(quantity.removesuffix("_seconds"), group, quantity)
        rows.append(row)
    return _finished(rows)


def chunk_order(chunk: str) -> tuple[int, int]:
    """Sorting key: sizes by number, then "none" (one chunk), then "auto"."""
    if chunk.isdecimal():
        return (0, int(chunk))
    return (2, 0) if chunk == AUTO else (1, 0)


def _evaluations_to_repay(row: Mapping[str, Any]) -> float:
    """After how many evaluations ours, compile included, has taken less time than the reference.

    With n evaluations: compile + set-up of ours + n e_ours <= set-up of theirs + n e_theirs; both
    set-ups here hold the first evaluation. NaN if that never happens.
    """
    saved_each = row["reference_evaluation_median_seconds"] - row["evaluation_median_seconds"]
    ours = row["all_compile_median_seconds"] + row["setup_median_seconds"]
    behind = ours - row["reference_setup_median_seconds"]
    if math.isnan(saved_each) or math.isnan(behind) or (saved_each <= 0 < behind):
        return math.nan
    return 1.0 if behind <= 0 else 1.0 + math.ceil(behind / saved_each)


def _with(measured: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """The processes that succeeded and that have a value in each of `columns`."""
    missing = [name for name in columns if name not in measured]
    if missing:
        return measured.iloc[:0]
    present = measured[list(columns)].notna().all(axis=1)
    return measured.loc[(measured["status"] == "ok") & present]


def _summary(group: pd.DataFrame) -> dict[str, Any]:
    """All quantities of one case: times with intervals, sizes and the worst error without."""
    steady = median_interval(_values(group, "steady_median_seconds"))
    row: dict[str, Any] = {
        "processes_count": len(group),
        "checked_errors_count": sum(int(count) for count in group["checked_errors_count"]),
        "interval_coverage_ratio": steady.coverage,
    }
    for quantity, name in TIMES.items():
        row |= _time_columns(name, group, quantity)
    row |= {name: median_interval(_values(group, name)).median for name in SIZES if name in group}
    has_error = "error_relative" in group
    row["error_relative"] = group["error_relative"].max(skipna=False) if has_error else math.nan
    return row


def _time_columns(name: str, group: pd.DataFrame, quantity: str) -> dict[str, float]:
    interval = median_interval(_values(group, quantity))
    return {
        f"{name}_median_seconds": interval.median,
        f"{name}_low_seconds": interval.low,
        f"{name}_high_seconds": interval.high,
    }


def _ratio_columns(name: str, interval: MedianInterval) -> dict[str, float]:
    return {
        f"{name}_ratio": interval.median,
        f"{name}_low_ratio": interval.low,
        f"{name}_high_ratio": interval.high,
        f"{name}_pairs_count": interval.count,
    }


def _paired(mine: pd.DataFrame, other: pd.DataFrame | None, quantity: str) -> MedianInterval:
    if other is None or quantity not in mine:
        return median_interval([])
    return paired_ratio(
        dict(zip(mine["round_index"], mine[quantity], strict=True)),
        dict(zip(other["round_index"], other[quantity], strict=True)),
    )


def _values(group: pd.DataFrame | pd.Series, name: str | None = None) -> list[float]:
    column = group if name is None else group.get(name)
    return [] if column is None else [float(v) for v in column if not pd.isna(v)]


def variant_order(variant: str) -> tuple[int, str]:
    """Sorting key: closure, argument, simplified, then others by name."""
    known = VARIANTS.index(variant) if variant in VARIANTS else len(VARIANTS)
    return (known, variant)


def _finished(rows: list[dict[str, Any]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows)
    for name in frame.columns:
        # As in the measurements, so that a problem is the same in both, its digits missing or not.
        if name.endswith(("_bytes", "_count")) or name == "digits":
            frame[name] = whole(numeric(frame[name]))
    return frame
