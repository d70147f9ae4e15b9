"""The closure study's numbers, case by case, from the measurements of processes.

As everywhere in the reports, a time is the median over processes with its interval, a ratio is
taken round by round, and environments are never pooled.
"""

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from jaxmeter import median_interval, paired_ratio

from ..frames import groups, numeric, rows
from ..tables import PLACE
from .published import RUNS_COUNT

FRAMES, CHANGES, CURVE = "coronagraph_variants", "coronagraph_change", "capture_size"
ARGUMENT = "argument"
VARIANTS = ("closure", "argument", "cached", "simplified", "hoisted", "static_callable")

OPERATIONS = ("none", "exp", "cumsum")

SCRIPT_CALL = re.compile(r"script_call_(\d+)_seconds")

# A quantity of one process, and what its summary is called.
TIMES = {
    "built_seconds": "built",
    "ready_seconds": "ready",
    "steady_median_seconds": "steady",
    "steady_std_seconds": "steady_std",
    "naive_std_seconds": "naive_std",
    "first_call_seconds": "first_call",
    "trace_seconds": "trace",
    "lower_seconds": "lower",
    "compile_seconds": "compile",
}
RATIOS = ("built_seconds", "ready_seconds", "steady_median_seconds")
SIZES = (
    "captured_bytes",
    "embedded_bytes",
    "hidden_argument_bytes",
    "system_bytes",
    "cube_bytes",
    "baseline_rss_bytes",
    "compile_peak_rss_bytes",
    "peak_rss_bytes",
    "device_peak_bytes",
)
LARGEST = (
    "rate_difference_relative",
    "differing_pixels_count",
    "hlo_instructions_count",
    "fusions_count",
)


def with_study_columns(measured: pd.DataFrame, samples: pd.DataFrame) -> pd.DataFrame:
    """The measurements with what the study needs beside: times until ready, the naive spread.

    ``built_seconds`` is trace, lower and compile; ``ready_seconds`` has the first call too, as
    one who calls a jitted function waits for it. ``naive_std_seconds`` is the standard deviation of
    the first 20 runs after compiling, the first call among them.
    """
    wanted = ("size", "operation", "array_bytes")
    frame = measured.reindex(
        columns=list(dict.fromkeys([*measured.columns, *(f"parameter_{w}" for w in wanted)]))
    )
    for name in ("size", "array_bytes"):
        frame[name] = numeric(frame[f"parameter_{name}"])
    frame["operation"] = frame["parameter_operation"]
    parts = ["trace_seconds", "lower_seconds", "compile_seconds"]
    frame["built_seconds"] = frame[parts].sum(axis=1, skipna=False)
    frame["ready_seconds"] = frame["built_seconds"] + frame["first_call_seconds"]
    runs = {
        tuple(key.values()): list(group["steady_seconds"])
        for key, group in groups(samples, [*PLACE, "case", "round_index"])
    }
    keys = frame[[*PLACE, "case", "round_index"]].itertuples(index=False, name=None)
    frame["naive_std_seconds"] = [
        naive_std(first, runs.get(key, ()))
        for first, key in zip(frame["first_call_seconds"], keys, strict=True)
    ]
    return frame


def naive_std(first_call: float, steady: Sequence[float]) -> float:
    """Standard deviation of the first `RUNS_COUNT` runs; NaN where there were fewer."""
    runs = [first_call, *steady][:RUNS_COUNT]
    if len(runs) < RUNS_COUNT or pd.isna(first_call):
        return math.nan
    return statistics.stdev(runs)


def frames(measured: pd.DataFrame) -> pd.DataFrame:
    """One row for each environment, size and variant, with ratios to the argument variant."""
    made = []
    for place, group in groups(_good(measured, FRAMES), [*PLACE, "size"]):
        cases = {key["variant"]: case for key, case in groups(group, ["variant"])}
        for variant in sorted(cases, key=variant_order):
            row = {**place, "variant": variant, **_summary(cases[variant])}
            for quantity in RATIOS:
                row |= _ratio(quantity, cases[variant], cases.get(ARGUMENT))
            made.append(row)
    return pd.DataFrame(made)


def changes(measured: pd.DataFrame) -> pd.DataFrame:
    """One row for each environment, size and variant: what a change of the cube took."""
    made = []
    for place, group in groups(_good(measured, CHANGES), [*PLACE, "size", "variant"]):
        row = {**place, "processes_count": len(group)}
        row |= _time("change", group.get("change_seconds", ()))
        row["change_compiles_count"] = group["change_compiles_count"].max()
        row["follows"] = bool((group["change_follows_count"] == 1).all())
        made.append(row)
    frame = pd.DataFrame(made)
    if frame.empty:
        return frame
    return frame.sort_values(
        [*PLACE, "size", "variant"],
        key=lambda column: column.map(variant_order) if column.name == "variant" else column,
        ignore_index=True,
    )


def script_calls(measured: pd.DataFrame) -> pd.DataFrame:
    """Seconds of each call that was timed as a script does; call 0 is the one that compiles."""
    found = []
    for row in rows(_good(measured, CHANGES)):
        for name, seconds in row.items():
            call = SCRIPT_CALL.fullmatch(str(name))
            if call is not None and not pd.isna(seconds):
                keys = {key: row[key] for key in (*PLACE, "size", "variant", "round_index")}
                found.append(keys | {"run": int(call[1]), "seconds": float(seconds)})
    names = [*PLACE, "size", "variant", "round_index", "run", "seconds"]
    return pd.DataFrame(found, columns=pd.Index(names))


def curve(measured: pd.DataFrame) -> pd.DataFrame:
    """One row for each environment, operation and size of array: the cost of closing over it.

    ``extra`` is what building the program takes beyond that of the program which gets its array as
    an argument, round by round.
    """
    made = []
    for key, group in groups(_good(measured, CURVE), [*PLACE, "operation", "array_bytes"]):
        cases = {found["variant"]: case for found, case in groups(group, ["variant"])}
        if "closure" not in cases:
            continue
        closed = cases["closure"]
        passed = cases[ARGUMENT] if ARGUMENT in cases else closed.iloc[:0]
        base = _by_round(passed, "built_seconds")
        built = _by_round(closed, "built_seconds")
        row = {**key, "processes_count": len(closed)}
        row["embedded_bytes"] = closed["embedded_bytes"].max()
        row |= _time("built", built.values())
        row |= _time("argument_built", base.values())
        row |= _time("extra", [built[i] - base[i] for i in built.keys() & base.keys()])
        row |= _time("steady", closed["steady_median_seconds"])
        row |= _ratio("steady_median_seconds", closed, passed)
        made.append(row)
    frame = pd.DataFrame(made)
    if frame.empty:
        return frame
    return frame.sort_values(
        [*PLACE, "operation", "array_bytes"],
        key=lambda column: column.map(_operation_order) if column.name == "operation" else column,
        ignore_index=True,
    )


def extra_seconds(table: pd.DataFrame) -> pd.DataFrame:
    """One row for each case that embeds arrays in: bytes and building seconds beyond the
    argument's.

    Parameters
    ----------
    table : DataFrame
        `frames` of one environment.
    """
    made = []
    for _, cases in groups(table, [*PLACE, "size"]):
        passed = cases.loc[cases["variant"] == ARGUMENT]
        if passed.empty:
            continue
        base = passed.iloc[0]
        for _, row in cases.loc[cases["embedded_bytes"] > base["embedded_bytes"]].iterrows():
            made.append(
                {
                    "size": row["size"],
                    "variant": row["variant"],
                    "extra_bytes": float(row["embedded_bytes"] - base["embedded_bytes"]),
                    "extra_seconds": row["built_median_seconds"] - base["built_median_seconds"],
                    "pairs_count": row["built_to_argument_pairs_count"],
                }
            )
    names = ["size", "variant", "extra_bytes", "extra_seconds", "pairs_count"]
    return pd.DataFrame(made, columns=pd.Index(names))


def slope(points: Iterable[tuple[float, float]]) -> float:
    """Seconds a megabyte: the line through the origin that fits seconds against bytes best.

    Least squares weighed by one over the bytes, so that the largest point does not decide alone;
    nothing captured costs nothing. NaN without points.
    """
    found = [(size, seconds) for size, seconds in points if size > 0 and not math.isnan(seconds)]
    if not found:
        return math.nan
    sizes, seconds = np.array(found).T
    return float(seconds.sum() / sizes.sum() * 1e6)


def variant_order(variant: str) -> int:
    """Sorting key; variants that are not known come last."""
    return VARIANTS.index(variant) if variant in VARIANTS else len(VARIANTS)


def _operation_order(operation: str) -> int:
    return OPERATIONS.index(operation) if operation in OPERATIONS else len(OPERATIONS)


def _good(measured: pd.DataFrame, suite: str) -> pd.DataFrame:
    return measured.loc[(measured["status"] == "ok") & (measured["suite"] == suite)]


def _summary(case: pd.DataFrame) -> dict[str, Any]:
    row: dict[str, Any] = {"processes_count": len(case)}
    for quantity, name in TIMES.items():
        row |= _time(name, case.get(quantity, ()))
    row |= {name: case[name].max() if name in case else math.nan for name in SIZES}
    row |= {name: case[name].max() if name in case else math.nan for name in LARGEST}
    return row


def _time(name: str, values: Any) -> dict[str, float]:
    interval = median_interval([float(v) for v in values if not pd.isna(v)])
    return {
        f"{name}_median_seconds": interval.median,
        f"{name}_low_seconds": interval.low,
        f"{name}_high_seconds": interval.high,
    }


def _ratio(quantity: str, mine: pd.DataFrame, other: pd.DataFrame | None) -> dict[str, float]:
    name = f"{TIMES[quantity]}_to_argument"
    interval = median_interval([])
    if other is not None:
        interval = paired_ratio(_by_round(mine, quantity), _by_round(other, quantity))
    return {
        f"{name}_ratio": interval.median,
        f"{name}_low_ratio": interval.low,
        f"{name}_high_ratio": interval.high,
        f"{name}_pairs_count": interval.count,
    }


def _by_round(case: pd.DataFrame, quantity: str) -> Mapping[int, float]:
    known = case.loc[case[quantity].notna()]
    return dict(zip(known["round_index"], known[quantity], strict=True))
