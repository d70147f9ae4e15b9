"""Make the section on chunk sizes: time and temporary memory for each pair of chunk sizes."""

import math
from typing import Any

import pandas as pd

from ..document.section import Figure, Section
from ..document.svg import WIDTH, Drawing
from ..document.table import count, error, problem_name, ratio, row_head, size, table, text, time
from ..document.words import range_only
from ..quantities import Row
from ..stats import PROBLEM, case_summary, paired_columns, succeeded, table_of
from ..tables import groups, rows
from ..units import BYTES, SECONDS, Unit, bytes_, seconds, significant, unit_for

SUITE = "chunk_sweep"
AUTO = "auto"


def summary(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each problem and pair of chunk sizes.

    The column `is_fastest` marks the pair with the smallest steady-state median. The columns
    `steady_to_fastest_*` have the ratio of a pair's time to the time of the fastest pair.
    """
    pair = ["chunk_size", "target_chunk_size"]
    found = []
    # Leave out the suite memory_sweep: its rows would mix fields and gradients here.
    swept = succeeded(measured, *pair, suite=SUITE)
    for problem, group in groups(swept, PROBLEM):
        cases = {tuple(key.values()): case for key, case in groups(group, pair)}
        summaries = {key: case_summary(case) for key, case in cases.items()}
        times = {key: row["steady_median_seconds"] for key, row in summaries.items()}
        timed = [key for key, value in times.items() if not math.isnan(value)]
        fastest = min(timed, key=lambda key: times[key], default=None)
        for key, case in cases.items():
            row = {**problem, **dict(zip(pair, key, strict=True)), **summaries[key]}
            best = group.iloc[:0] if fastest is None else cases[fastest]
            row |= paired_columns("steady_to_fastest", case, best, "steady_median_seconds")
            found.append(row | {"is_fastest": key == fastest, "is_auto": key == (AUTO, AUTO)})
    return table_of(found, [*PROBLEM, *pair], dict.fromkeys(pair, chunk_order))


def chunk_order(chunk: str) -> tuple[int, int]:
    """Return the sorting key of a chunk size: numbers come first, then "none", then "auto"."""
    if chunk.isdecimal():
        return (0, int(chunk))
    return (2, 0) if chunk == AUTO else (1, 0)


def section(cases: pd.DataFrame) -> Section:
    said = sentences(cases)
    columns = (
        row_head("chunk_size", lambda row: str(row["chunk_size"]), problem_name),
        text("target_chunk_size", "target_chunk_size"),
        count("Processes", "processes_count"),
        time("Steady-state run", "steady", "Median of process medians"),
        ratio(
            "Steady / fastest", "steady_to_fastest", "Ratio of steady-state times, paired by round"
        ),
        time(
            "Steady std", "steady_std", "Standard deviation within a process; median over processes"
        ),
        size("Temporaries", "temp_bytes", "Temporary memory of the compiled program"),
        time("Compile", "compile", "Compilation by XLA, without a cache"),
        size("RSS peak", "peak_rss_bytes", "Peak resident set, up to the last run"),
        error("Error", "error_relative", "Maximum over processes, relative to max|B|"),
    )
    return Section(
        "chunks",
        "Chunk sizes",
        said[0] if said else "No case of the chunk-size sweep was timed.",
        tuple(said[1:]),
        (
            "The far field is summed in tiles of chunk_size source points by target_chunk_size "
            "target points. Small tiles stay in the cache; large tiles need more temporary memory.",
        ),
        (maps(cases),),
        (table(cases, columns, "chunk_sizes", "Each pair of chunk sizes", group_by=PROBLEM),),
    )


def sentences(cases: pd.DataFrame) -> list[str]:
    """Return a sentence on each timed problem: the fastest chunk sizes, and how "auto" compares."""
    said = []
    for _, problem in groups(cases, PROBLEM):
        if not problem["is_fastest"].any():
            continue
        best = problem.loc[problem["is_fastest"]].iloc[0]
        said.append(
            f"{problem_name(best)}: fastest at chunk_size {best['chunk_size']}, target_chunk_size "
            f"{best['target_chunk_size']}, with {seconds(best['steady_median_seconds'])}"
            f"{_temporaries(best)}; {_auto_words(rows(problem.loc[problem['is_auto']]))}"
        )
    return said


def _auto_words(found: list[Row]) -> str:
    if not found:
        return '"auto" was not measured.'
    (auto,), stem = found, "steady_to_fastest"
    if auto["is_fastest"]:
        return 'this pair is "auto" itself.'
    if math.isnan(auto[f"{stem}_ratio"]):
        return '"auto" was not measured in the same rounds.'
    text = (
        f'"auto" takes {seconds(auto["steady_median_seconds"])}{_temporaries(auto)}, '
        f"{significant(auto[f'{stem}_ratio'])} times as long ({range_only(auto, stem)})"
    )
    is_same = auto[f"{stem}_low_ratio"] <= 1 <= auto[f"{stem}_high_ratio"]
    return f"{text}; the difference is within the noise." if is_same else f"{text}."


def _temporaries(row: Any) -> str:
    value = row.get("temp_bytes")
    return "" if value is None or pd.isna(value) else f" and {bytes_(float(value))} of temporaries"


def maps(cases: pd.DataFrame) -> Figure:
    """Draw maps of each problem: steady-state seconds and, if measured, temporary bytes."""
    panels = []
    for problem, found in groups(cases, PROBLEM):
        title = problem_name(problem)
        panels.append(_map(found, "steady_median_seconds", SECONDS, f"{title}: steady-state run"))
        if "temp_bytes" in found and found["temp_bytes"].notna().any():
            panels.append(_map(found, "temp_bytes", BYTES, f"{title}: temporaries"))
    return Figure(
        "chunk_sizes",
        "Steady-state seconds and temporary memory against both chunk sizes",
        "A stronger colour means a larger value within the same map. The outlined square is the "
        "minimum of its map, and dashed squares were not measured. With auto, vcjax chooses the "
        "chunk size. With none, all points are in one chunk.",
        tuple(panels),
    )


def _map(cases: Any, column: str, units: tuple[Unit, ...], title: str) -> Drawing:
    down, across = (
        sorted(cases[name].unique(), key=chunk_order)
        for name in ("chunk_size", "target_chunk_size")
    )
    values = cases.dropna(subset=column).set_index(["chunk_size", "target_chunk_size"])[column]
    unit = unit_for(values, units)
    shown = {key: significant(value / unit.factor) for key, value in values.items()}
    left, tall = 62.0, 38.0
    wide = min((WIDTH - left) / max(len(across), 1), 120.0)
    described = "; ".join(
        f"chunk_size {c}, target_chunk_size {t}: {text} {unit.name}"
        for (c, t), text in shown.items()
    )
    panel = Drawing(f"{title}, {unit.name}", described, 76.0 + tall * len(down))
    panel.text(0, 14, f"{title}, {unit.name}", "heading")
    panel.text(left, 38, "target_chunk_size →", "axis")
    panel.text(0, 56, "chunk_size ↓", "axis")
    for i, target in enumerate(across):
        panel.text(left + wide * (i + 0.5), 56, target, "tick", anchor="middle")
    for j, chunk in enumerate(down):
        y = 64 + tall * j
        panel.text(left - 8, y + 0.5 * tall + 3, chunk, "tick", anchor="end")
        for i, target in enumerate(across):
            x, key = left + wide * i, (chunk, target)
            box = (x + 1.5, y + 1.5, wide - 3, tall - 3)
            if key not in shown:
                panel.rect(*box, "empty", tip="not measured")
                continue
            level = _level(values[key], values)
            heat = f"color-mix(in oklab, var(--heat-low), var(--heat-high) {100 * level:.0f}%)"
            css = "heat least" if key == values.idxmin() else "heat"
            panel.rect(*box, css, tip=f"{shown[key]} {unit.name}", style=f"fill:{heat}")
            ink = f"heat-value heat-ink-{'high' if level > 0.6 else 'low'}"
            panel.text(x + 0.5 * wide, y + 0.5 * tall + 4, shown[key], ink, anchor="middle")
    return panel


def _level(value: float, values: Any) -> float:
    """Return a value's logarithmic position between the minimum (0) and maximum (1) of `values`.

    If the maximum is less than twice the minimum, position 1 is twice the minimum. If the minimum
    is not positive, the position is the value divided by the maximum.
    """
    low, high = values.min(), values.max()
    if low <= 0:
        return value / (high or 1.0)
    # On a scale shorter than a factor of two, noise would get strong colours.
    return math.log(value / low) / max(math.log(high / low), math.log(2.0))
