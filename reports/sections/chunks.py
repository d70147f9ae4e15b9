"""Maps of steady-state time and temporary memory against the two chunk sizes."""

import math
from typing import Any

import pandas as pd

from ..document.figure import Figure
from ..document.svg import WIDTH, Drawing
from ..document.table import problem_name
from ..frames import any_of, groups, rows
from ..units import BYTES, SECONDS, Unit, significant, unit_for
from .summaries import PROBLEM, chunk_order


def chunk_maps(summary: pd.DataFrame) -> Figure:
    """Two maps a problem, of steady-state seconds and of temp bytes against both chunk sizes."""
    panels = []
    for problem, cells in groups(summary, PROBLEM):
        title = problem_name(problem)
        panels.append(
            _map_panel(cells, "steady_median_seconds", SECONDS, f"{title}: steady-state run")
        )
        if "temp_bytes" in cells and any_of(cells["temp_bytes"].notna()):
            panels.append(_map_panel(cells, "temp_bytes", BYTES, f"{title}: temporary memory"))
    return Figure(
        "chunk_sizes",
        "Steady-state seconds and temporary memory against both chunk sizes",
        "Stronger colour is more, on a logarithmic scale within each map; the outlined cell is the "
        "least of its map. Dashed: not measured. auto: what vcjax chooses by itself; none: all at "
        "once.",
        tuple(panels),
    )


def _map_panel(cells: pd.DataFrame, column: str, units: tuple[Unit, ...], title: str) -> Drawing:
    down = sorted(cells["chunk_size"].unique(), key=chunk_order)
    across = sorted(cells["target_chunk_size"].unique(), key=chunk_order)
    values = {
        (row["chunk_size"], row["target_chunk_size"]): float(row[column])
        for row in rows(cells)
        if not pd.isna(row[column])
    }
    unit = unit_for(values.values(), units)
    left, tall = 62.0, 38.0
    wide = min((WIDTH - left) / max(len(across), 1), 120.0)
    height = 76.0 + tall * len(down)
    least = min(values, key=lambda key: values[key]) if values else None
    described = "; ".join(
        f"chunk_size {c}, target_chunk_size {t}: {significant(v / unit.factor)} {unit.name}"
        for (c, t), v in values.items()
    )
    panel = Drawing(f"{title}, {unit.name}", described, height)
    panel.text(0, 14, f"{title}, {unit.name}", "heading")
    panel.text(left, 38, "target_chunk_size →", "axis")
    panel.text(0, 56, "chunk_size ↓", "axis")
    for i, chunk in enumerate(across):
        panel.text(left + wide * (i + 0.5), 56, chunk, "tick", anchor="middle")
    for j, chunk in enumerate(down):
        y = 64 + tall * j
        panel.text(left - 8, y + 0.5 * tall + 3, chunk, "tick", anchor="end")
        for i, target in enumerate(across):
            value = values.get((chunk, target))
            box = (left + wide * i + 1.5, y + 1.5, wide - 3, tall - 3)
            _map_cell(panel, box, value, values, unit, is_least=(chunk, target) == least)
    return panel


def _map_cell(
    panel: Drawing,
    box: tuple[float, float, float, float],
    value: float | None,
    values: dict[Any, float],
    unit: Unit,
    *,
    is_least: bool,
) -> None:
    x, y, width, height = box
    if value is None:
        panel.rect(x, y, width, height, "empty", tip="not measured")
        return
    # A span of less than a factor two would paint noise in strong colours.
    low, high = min(values.values()), max(values.values())
    span = max(math.log(high / low), math.log(2.0)) if low > 0 else 1.0
    level = math.log(value / low) / span if low > 0 else value / (high or 1.0)
    shown = f"{significant(value / unit.factor)}"
    style = f"fill:color-mix(in oklab, var(--heat-low), var(--heat-high) {100 * level:.0f}%)"
    css = "heat least" if is_least else "heat"
    panel.rect(x, y, width, height, css, tip=f"{shown} {unit.name}", style=style)
    ink = "heat-ink-high" if level > 0.6 else "heat-ink-low"
    panel.text(x + 0.5 * width, y + 0.5 * height + 4, shown, f"heat-value {ink}", anchor="middle")
