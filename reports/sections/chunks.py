"""Chunk sizes: steady-state time and temporary memory of each pair, the fastest and "auto"."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..document.section import Figure, Section
from ..document.svg import WIDTH, Drawing
from ..document.table import (
    count,
    error,
    problem_name,
    ratio,
    row_head,
    size,
    table,
    text,
    time,
)
from ..document.words import range_only
from ..frames import any_of, groups, rows
from ..stats import PROBLEM, case_summary, paired_columns, succeeded, table_of
from ..units import BYTES, SECONDS, Unit, bytes_, seconds, significant, unit_for

SUITE = "chunk_sweep"
AUTO = "auto"


def summary(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each problem and pair of chunk sizes, with its ratio to the fastest.

    `is_fastest` marks the smallest steady-state median; the interval of `steady_to_fastest_ratio`
    shows whether a pair differs from it significantly.
    """
    pair = ["chunk_size", "target_chunk_size"]
    found = []
    # Other suites vary tiles too, of quantities that no column separates.
    swept = succeeded(measured, *pair, suite=SUITE)
    for problem, group in groups(swept, PROBLEM):
        cases = {tuple(key.values()): case for key, case in groups(group, pair)}
        summaries = {key: case_summary(case) for key, case in cases.items()}
        timed = {key: row["steady_median_seconds"] for key, row in summaries.items()}
        timed = {key: value for key, value in timed.items() if not math.isnan(value)}
        fastest = min(timed, key=lambda key: timed[key]) if timed else None
        for key, case in cases.items():
            row = {**problem, **dict(zip(pair, key, strict=True)), **summaries[key]}
            best = group.iloc[:0] if fastest is None else cases[fastest]
            row |= paired_columns("steady_to_fastest", case, best, "steady_median_seconds")
            found.append(row | {"is_fastest": key == fastest, "is_auto": key == (AUTO, AUTO)})
    return table_of(found, [*PROBLEM, *pair], dict.fromkeys(pair, chunk_order))


def chunk_order(chunk: str) -> tuple[int, int]:
    """Return the sorting key: sizes by number, then "none" (one chunk), then "auto"."""
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
        ratio("Steady / fastest", "steady_to_fastest", "Steady-state seconds, paired by round"),
        time("Steady std", "steady_std", "Within one process; median over processes"),
        size("Temporaries", "temp_bytes", "Temporary memory of the compiled program"),
        time("Compile", "compile", "XLA, cold, no compilation cache"),
        size("RSS peak", "peak_rss_bytes", "Peak resident set of the process"),
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
        (
            table(
                cases,
                columns,
                name="chunk_sizes",
                caption="Each pair of chunk sizes",
                group_by=PROBLEM,
            ),
        ),
    )


def sentences(cases: pd.DataFrame) -> list[str]:
    """Name the fastest pair of each problem and the ratio of "auto" to it."""
    said = []
    for _, problem in groups(cases, PROBLEM):
        if not any_of(problem["is_fastest"]):
            continue
        best = problem.loc[problem["is_fastest"]].iloc[0]
        auto = problem.loc[problem["is_auto"]]
        if auto.empty:
            tail = '"auto" was not measured.'
        elif bool(auto.iloc[0]["is_fastest"]):
            tail = 'that is "auto" itself.'
        else:
            tail = _auto_words(auto.iloc[0])
        said.append(
            f"{problem_name(best)}: fastest at chunk_size {best['chunk_size']}, target_chunk_size "
            f"{best['target_chunk_size']} with {seconds(best['steady_median_seconds'])}"
            f"{_temporaries(best)}; {tail}"
        )
    return said


def _auto_words(auto: Any) -> str:
    stem = "steady_to_fastest"
    if math.isnan(auto[f"{stem}_ratio"]):
        return '"auto" has no round in common with it.'
    text = (
        f'"auto" takes {seconds(auto["steady_median_seconds"])}{_temporaries(auto)}, '
        f"{significant(auto[f'{stem}_ratio'])} times as long ({range_only(auto, stem)})"
    )
    is_same = auto[f"{stem}_low_ratio"] <= 1 <= auto[f"{stem}_high_ratio"]
    return f"{text}, which is within the noise." if is_same else f"{text}."


def _temporaries(row: Any) -> str:
    value = row.get("temp_bytes")
    return "" if value is None or pd.isna(value) else f" and {bytes_(float(value))} temporaries"


def maps(cases: pd.DataFrame) -> Figure:
    """Draw two maps a problem, of steady-state seconds and of temporary bytes."""
    panels = []
    for problem, found in groups(cases, PROBLEM):
        title = problem_name(problem)
        panels.append(_map(found, "steady_median_seconds", SECONDS, f"{title}: steady-state run"))
        if "temp_bytes" in found and any_of(found["temp_bytes"].notna()):
            panels.append(_map(found, "temp_bytes", BYTES, f"{title}: temporaries"))
    return Figure(
        "chunk_sizes",
        "Steady-state seconds and temporary memory against both chunk sizes",
        "Stronger colour is more, on a logarithmic scale within each map; the outlined tile is the "
        "minimum of its map. Dashed: not measured. auto: the choice of vcjax; none: all points in "
        "one chunk.",
        tuple(panels),
    )


def _map(cases: pd.DataFrame, column: str, units: tuple[Unit, ...], title: str) -> Drawing:
    down = sorted(cases["chunk_size"].unique(), key=chunk_order)
    across = sorted(cases["target_chunk_size"].unique(), key=chunk_order)
    values = {
        (row["chunk_size"], row["target_chunk_size"]): float(row[column])
        for row in rows(cases)
        if not pd.isna(row[column])
    }
    unit = unit_for(values.values(), units)
    left, tall = 62.0, 38.0
    wide = min((WIDTH - left) / max(len(across), 1), 120.0)
    described = "; ".join(
        f"chunk_size {c}, target_chunk_size {t}: {significant(v / unit.factor)} {unit.name}"
        for (c, t), v in values.items()
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
            box = (left + wide * i + 1.5, y + 1.5, wide - 3, tall - 3)
            _tile(panel, box, (chunk, target), values, unit)
    return panel


def _tile(
    panel: Drawing,
    box: tuple[float, float, float, float],
    key: Any,
    values: Mapping[Any, float],
    unit: Unit,
) -> None:
    x, y, width, height = box
    if key not in values:
        panel.rect(x, y, width, height, "empty", tip="not measured")
        return
    # A span below a factor of two would paint noise in strong colours.
    value, low, high = values[key], min(values.values()), max(values.values())
    span = max(math.log(high / low), math.log(2.0)) if low > 0 else 1.0
    level = math.log(value / low) / span if low > 0 else value / (high or 1.0)
    shown = significant(value / unit.factor)
    style = f"fill:color-mix(in oklab, var(--heat-low), var(--heat-high) {100 * level:.0f}%)"
    css = "heat least" if key == min(values, key=lambda k: values[k]) else "heat"
    panel.rect(x, y, width, height, css, tip=f"{shown} {unit.name}", style=style)
    ink = "heat-ink-high" if level > 0.6 else "heat-ink-low"
    panel.text(x + 0.5 * width, y + 0.5 * height + 4, shown, f"heat-value {ink}", anchor="middle")
