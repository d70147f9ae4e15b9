"""The study's figures: runs in their order, seconds against bytes, memory, the picture."""

import base64
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..document.figure import BOTTOM, LEFT, TOP, Figure, bottom_axis
from ..document.svg import WIDTH, Drawing, decades, linear_scale, linear_ticks, log_scale
from ..frames import groups, rows
from ..units import BYTES, bytes_, seconds, unit_for
from .summaries import VARIANTS, variant_order

HEIGHT = 250.0
RIGHT = 16.0
SHAPES = ("circle", "square", "diamond", "triangle", "circle", "square")
OPERATIONS = {"none": "array alone", "exp": "exp of it", "cumsum": "cumulative sum of it"}


def legend(names: Sequence[str], order: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """A mark of its own for each name."""
    return tuple((f"key {_series(n, order)} {_shape(n, order)}", n) for n in names)


def runs_in_order(runs: pd.DataFrame, size: int) -> Figure:
    """Milliseconds of each run after compiling, the first call at 0, a line for each process."""
    return Figure(
        "closure_runs",
        "Every run, in the order taken",
        "A line is one process. The diamond is the first call after compiling; the meter leaves "
        "out the one after it. All panels share one scale.",
        _in_order(runs, size, "run after compiling, 0 is the first call"),
    )


def script_calls(calls: pd.DataFrame, size: int) -> Figure:
    """Milliseconds of each call after the one that compiles, in order."""
    return Figure(
        "closure_script",
        "As a script sees them: the calls right after the one that compiles",
        "None is left out. The call that compiles would be number 0; it takes seconds. All panels "
        "share one scale.",
        _in_order(calls, size, "call after the one that compiles"),
    )


def _in_order(runs: pd.DataFrame, size: int, axis: str) -> tuple[Drawing, ...]:
    top = _largest(runs["seconds"]) * 1e3
    panels = []
    for key, group in groups(runs, ["variant"]):
        variant = str(key["variant"])
        panel, x, y = _axes(
            f"N = {size}, {variant}: runs in order",
            axis,
            (0.0, _largest(runs["run"])),
            top,
            "ms",
        )
        for process, one in groups(group, ["round_index"]):
            ordered = one.sort_values("run")
            points = list(zip(ordered["run"], ordered["seconds"] * 1e3, strict=True))
            panel.polyline([(x(a), y(b)) for a, b in points], f"series {_series(variant)}")
            for run, value in points:
                tip = f"process {int(process['round_index']) + 1}, run {run}: {value:.3g} ms"
                shape = "diamond" if run == 0 else "circle"
                panel.mark(shape, x(run), y(value), f"mark {_series(variant)}", r=3, tip=tip)
        panels.append(panel)
    return tuple(panels)


def seconds_against_bytes(points: pd.DataFrame, fitted: float) -> Figure:
    """Building seconds beyond the argument variant's against bytes embedded, and the fit."""
    sizes = points["extra_bytes"] / 1e6
    right = linear_ticks(_largest(sizes))[-1]
    top = max(_largest(points["extra_seconds"]), 0.0 if math.isnan(fitted) else fitted * right)
    panel, x, y = _axes(
        "Seconds beyond the argument variant",
        "MB embedded",
        (0.0, right),
        top,
        "s",
    )
    if not math.isnan(fitted):
        panel.line(x(0), y(0), x(right), y(fitted * right), "limit")
    for row in rows(points):
        value = row["extra_seconds"]
        tip = f"{row['variant']}, N = {int(row['size'])}: {bytes_(row['extra_bytes'])}, "
        tip += seconds(value) if value > 0 else "nothing"
        style = f"mark {_series(row['variant'])}"
        place = x(row["extra_bytes"] / 1e6), y(max(value, 0.0))
        panel.mark(_shape(row["variant"]), *place, style, r=5, tip=tip)
    shown = sorted(set(points["variant"]), key=variant_order)
    return Figure(
        "closure_slope",
        "Compile time against what is embedded",
        "Trace, lower and compile. Each mark is a variant at one size, medians over processes; "
        "one below zero, which is noise, stands at zero. The dashed line is the fit through the "
        "origin.",
        (panel,),
        (*legend(shown, VARIANTS), ("limit-key", "fit")),
        columns=1,
    )


def break_even(curve: pd.DataFrame) -> Figure:
    """Extra seconds against bytes of one array, by what is done to it; both axes logarithmic."""
    shown = curve.loc[curve["extra_median_seconds"] > 0]
    ticks = decades(_smallest(curve["array_bytes"]), _largest(curve["array_bytes"]))
    extra = shown["extra_median_seconds"]
    levels = decades(_smallest(extra), _largest(extra)) if len(extra) else [1e-3, 1.0]
    panel = _blank("Cost of closing over one array", shown)
    right = 36.0  # half of the last label
    x = log_scale(ticks[0], ticks[-1], LEFT, WIDTH - right)
    y = log_scale(levels[0], levels[-1], HEIGHT - BOTTOM, TOP)
    bottom_axis(panel, [(x(t), bytes_(t)) for t in ticks[::2]], "bytes of the array", LEFT, right)
    for level in levels:
        panel.line(LEFT, y(level), WIDTH - right, y(level), "grid")
        panel.text(LEFT - 8, y(level) + 4, seconds(level), "tick", anchor="end")
    names = list(OPERATIONS)
    for key, group in groups(shown, ["operation"]):
        operation = str(key["operation"])
        ordered = group.sort_values("array_bytes")
        series, shape = _series(operation, names), _shape(operation, names)
        points = [(x(r["array_bytes"]), y(r["extra_median_seconds"]), r) for r in rows(ordered)]
        panel.polyline([(a, b) for a, b, _ in points], f"series {series}")
        for a, b, row in points:
            tip = f"{OPERATIONS.get(operation, operation)}, {bytes_(row['array_bytes'])}: "
            tip += seconds(row["extra_median_seconds"])
            panel.mark(shape, a, b, f"mark {series}", r=4, tip=tip)
    marks = [(css, OPERATIONS.get(name, name)) for css, name in legend(names, names)]
    return Figure(
        "closure_break_even",
        "From how many bytes on does it show?",
        "Seconds of trace, lower and compile beyond the same program with the array as an "
        "argument; differences below zero, which are noise, are left out.",
        (panel,),
        tuple(marks),
        columns=1,
    )


def memory(table: pd.DataFrame) -> Figure:
    """Peak resident set of each variant, a panel for each size."""
    panels = []
    for key, cases in groups(table, ["size"]):
        unit = unit_for(cases["peak_rss_bytes"].dropna(), BYTES)
        top = TOP + 26.0 * len(cases) + BOTTOM
        ticks = linear_ticks(_largest(cases["peak_rss_bytes"]) / unit.factor, 3)
        x = linear_scale(0.0, ticks[-1], LEFT + 34, WIDTH - 70)
        heading = f"N = {int(key['size'])}: peak resident set"
        told = (f"{r['variant']}: {bytes_(float(r['peak_rss_bytes']))}" for r in rows(cases))
        panel = Drawing(heading, "; ".join(told), top)
        panel.text(0, 14, heading, "heading")
        bottom_axis(panel, [(x(t), f"{t:g}") for t in ticks], unit.name, LEFT + 34, 70)
        for index, row in enumerate(rows(cases)):
            if pd.isna(row["peak_rss_bytes"]):
                continue
            y, value = TOP + 26.0 * index, float(row["peak_rss_bytes"])
            panel.text(LEFT + 28, y + 15, row["variant"].replace("_", " "), "label", anchor="end")
            wide = x(value / unit.factor) - LEFT - 34
            panel.rect(LEFT + 34, y + 3, wide, 16, f"bar {row['variant']}", tip=bytes_(value))
            panel.text(x(value / unit.factor) + 6, y + 15, bytes_(value), "value small")
        panels.append(panel)
    return Figure(
        "closure_memory",
        "Peak memory of a process",
        "From just before tracing to the last steady-state run, arrays and program included; most "
        "of all processes.",
        tuple(panels),
    )


def picture(path: Path) -> Figure:
    """The simulated frame, its pixels inside the page."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    panel = Drawing(
        "A simulated frame", "A ring of dust, three planets, what is left of the star", 400
    )
    panel.parts.append(
        f'<image x="0" y="0" width="400" height="400" href="data:image/png;base64,{data}"/>'
    )
    return Figure(
        "closure_picture",
        "What is computed",
        "One exposure of ten minutes, counts on a scale that shows faint and bright: a star behind "
        "its mask, three planets, a ring of dust that scatters forwards.",
        (panel,),
        columns=2,
    )


def _axes(heading: str, axis: str, across: tuple[float, float], top: float, unit: str):
    """A panel with linear axes: the panel and both scales."""
    levels, steps = linear_ticks(top), linear_ticks(across[1])
    panel = Drawing(heading, f"{axis} against {unit}", HEIGHT)
    panel.text(0, 14, heading, "heading")
    x = linear_scale(across[0], steps[-1], LEFT, WIDTH - RIGHT)
    y = linear_scale(0.0, levels[-1], HEIGHT - BOTTOM, TOP)
    bottom_axis(panel, [(x(t), f"{t:g}") for t in steps], axis, LEFT, RIGHT)
    for level in levels:
        panel.line(LEFT, y(level), WIDTH - RIGHT, y(level), "grid")
        panel.text(LEFT - 8, y(level) + 4, f"{level:g} {unit}", "tick", anchor="end")
    return panel, x, y


def _blank(heading: str, shown: pd.DataFrame) -> Drawing:
    panel = Drawing(heading, f"{len(shown)} sizes and operations", HEIGHT)
    panel.text(0, 14, heading, "heading")
    return panel


def _largest(column: Any) -> float:
    return max((float(v) for v in column if not pd.isna(v)), default=0.0)


def _smallest(column: Any) -> float:
    return min((float(v) for v in column if not pd.isna(v)), default=0.0)


def _series(name: str, order: Sequence[str] = VARIANTS) -> str:
    # The theme's first series is blue, the second orange: argument and closure elsewhere too.
    colours = {"argument": 0, "closure": 1, "simplified": 2, "cached": 3, "hoisted": 4}
    if name in order and order is not VARIANTS:
        return f"series-{list(order).index(name)}"
    return f"series-{colours.get(name, 5)}"


def _shape(name: str, order: Sequence[str] = VARIANTS) -> str:
    return SHAPES[list(order).index(name) % len(SHAPES)] if name in order else "circle"
