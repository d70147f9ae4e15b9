"""Figures of the closure report: bars of the variants, seconds against bytes, runs in order."""

import base64
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..document.section import Figure
from ..document.svg import (
    BOTTOM,
    LEFT,
    MARKS,
    TOP,
    WIDTH,
    Drawing,
    decades,
    linear_scale,
    linear_ticks,
    log_scale,
)
from ..document.table import problem_name
from ..frames import Row, groups, rows
from ..units import BYTES, SECONDS, Unit, bytes_, seconds, unit_for
from .summaries import OPERATIONS, PROBLEM, VARIANTS, variant_order

HEIGHT, ROW = 250.0, 50.0
# The theme's first series is blue, the second orange: argument and closure elsewhere too.
SERIES = ("argument", "closure", "simplified", "cached", "hoisted", "static_callable")
CONSTANTS = {
    "captured_bytes": "captured",
    "embedded_bytes": "embedded",
    "hidden_argument_bytes": "hidden",
}
# Summary's column, the processes' column, its units, the heading.
PANELS = (
    ("trace_lower_compile_median_seconds", "trace_lower_compile_seconds", SECONDS, "compile time"),
    ("steady_median_seconds", "steady_median_seconds", SECONDS, "steady-state run time"),
    ("peak_rss_bytes", "peak_rss_bytes", BYTES, "peak resident set"),
)


def variants(table: pd.DataFrame, measured: pd.DataFrame, name: str) -> Figure:
    """Draw four panels a problem: compile time, steady-state run, memory, constants.

    Parameters
    ----------
    table, measured : DataFrame
        `summaries.variants`, and the processes that it summarises.
    """
    panels = []
    processes = {_key(key): found for key, found in groups(measured, PROBLEM)}
    for key, cases in groups(table, PROBLEM):
        here = processes[_key(key)]
        for column, quantity, units, what in PANELS:
            values = {r["variant"]: {"": float(r[column])} for r in rows(cases)}
            dots = {
                str(variant): [float(v) for v in found.dropna()]
                for variant, found in here.groupby("variant")[quantity]
            }
            panels.append(_bars(f"{problem_name(key)}: {what}", values, dots, units))
        constants = {
            r["variant"]: {word: float(r[c]) for c, word in CONSTANTS.items() if not pd.isna(r[c])}
            for r in rows(cases)
        }
        panels.append(_bars(f"{problem_name(key)}: constants", constants, {}, BYTES))
    return Figure(
        f"{name}_variants",
        "Each variant: compile time, steady-state run, memory, constants",
        "Bars start at zero: the median over processes for times, the maximum for bytes. Each dot "
        "is one process. Each panel has its own scale. Compile time is trace, lower and compile. "
        "Captured: arrays that the function closes over; embedded: constants handed to the "
        "compiler; hidden: captured, but passed at run time (1 MB = 10⁶ bytes).",
        tuple(panels),
    )


def _bars(
    heading: str,
    bars: Mapping[str, Mapping[str, float]],
    dots: Mapping[str, Sequence[float]],
    units: tuple[Unit, ...],
) -> Drawing:
    """Draw horizontal bars from zero: for each variant, values by the word behind them."""
    words: Callable[[float], str] = bytes_ if units is BYTES else seconds
    values = [v for group in bars.values() for v in group.values()]
    values += [v for group in dots.values() for v in group]
    unit = unit_for([_largest(values)], units)
    left, right = 96.0, 112.0 if any(len(group) > 1 for group in bars.values()) else 76.0
    ticks = linear_ticks(_largest(values) / unit.factor, 3)
    x = linear_scale(0.0, ticks[-1] * unit.factor, left, WIDTH - right)
    labels = {
        variant: [f"{words(value)} {word}".rstrip() for word, value in group.items()]
        for variant, group in bars.items()
    }
    described = "; ".join(f"{variant}: {', '.join(found)}" for variant, found in labels.items())
    panel = Drawing(f"{heading}, {unit.name}", described, TOP + ROW * len(bars) + BOTTOM)
    panel.text(0, 14, heading, "heading")
    marks = [(x(t * unit.factor), f"{t:g}") for t in ticks]
    panel.bottom_axis(marks, unit.name, left, right)
    for index, (variant, group) in enumerate(bars.items()):
        middle = TOP + ROW * (index + 0.5)
        panel.text(left - 8, middle + 4, _name(variant), "label", anchor="end")
        thick = 18.0 if len(group) == 1 else 12.0
        y = middle - 0.5 * len(group) * (thick + 1)
        for (word, value), label in zip(group.items(), labels[variant], strict=True):
            if not math.isnan(value):
                wide = max(x(value) - left, 1.0)
                css = f"bar {variant} {word}".rstrip()
                panel.rect(left, y, wide, thick, css, tip=f"{_name(variant)}: {label}")
                reach = max([x(value), *map(x, dots.get(variant, ()))])
                css = "value" if len(group) == 1 else "value small"
                panel.text(reach + 8, y + 0.5 * thick + 4, label, css)
            y += thick + 1
        for value in dots.get(variant, ()):
            tip = f"{_name(variant)}, one process: {words(value)}"
            panel.mark("circle", x(value), middle, "dot", r=3, tip=tip)
    return panel


def embedded(points: pd.DataFrame, slope: float, name: str) -> Figure:
    """Draw compile seconds beyond the argument variant's against embedded bytes, and the fit."""
    right = linear_ticks(_largest(points["extra_bytes"] / 1e6))[-1]
    at_right = 0.0 if math.isnan(slope) else slope * right
    panel, x, y = _linear_panel(
        "Compile seconds beyond the argument variant",
        ("MB embedded", right),
        ("s", max(_largest(points["extra_seconds"]), at_right)),
    )
    if at_right > 0:
        panel.line(x(0), y(0), x(right), y(at_right), "limit")
    for row in rows(points):
        value = row["extra_seconds"]
        tip = f"{row['variant']}, {problem_name(row)}: {bytes_(row['extra_bytes'])}, "
        tip += seconds(value) if value > 0 else "no difference"
        place = x(row["extra_bytes"] / 1e6), y(max(value, 0.0))
        panel.mark(_shape(row["variant"], VARIANTS), *place, _mark(row["variant"]), r=5, tip=tip)
    shown = sorted(set(points["variant"]), key=variant_order)
    legend = [(f"key {_series(v)} {_shape(v, VARIANTS)}", _name(v)) for v in shown]
    return Figure(
        f"{name}_embedded",
        "Compile time against embedded bytes",
        "Trace, lower and compile. Each mark is a variant of one problem, medians over processes; "
        "values below zero, which are noise, are drawn at zero. The dashed line is the fit through "
        "the origin.",
        (panel,),
        (*legend, ("limit-key", "fit")),
        columns=1,
    )


def runs_in_order(runs: pd.DataFrame) -> Figure:
    """Draw each run after compiling, the first call at 0, a line for each process."""
    return Figure(
        "closure_runs",
        "Every run, in order",
        "A line is one process. The diamond is the first call after compiling; steady-state runs "
        "begin two calls later. All panels share one scale.",
        tuple(_in_order(runs, "run after compiling, 0 is the first call")),
    )


def script_calls(calls: pd.DataFrame) -> Figure:
    """Draw each call after the one that compiles, in order."""
    return Figure(
        "closure_script",
        "Timed as a script does: the calls right after the one that compiles",
        "All calls are shown. The call that compiles would be number 0; it takes seconds. All "
        "panels share one scale.",
        tuple(_in_order(calls, "call after the one that compiles")),
    )


def _in_order(runs: pd.DataFrame, axis: str) -> Iterable[Drawing]:
    top, last = _largest(runs["seconds"]) * 1e3, _largest(runs["run"])
    for key, group in groups(runs, ["variant"]):
        variant = str(key["variant"])
        heading = f"{problem_name(group.iloc[0])}, {variant}: runs in order"
        panel, x, y = _linear_panel(heading, (axis, last), ("ms", top))
        for process, found in groups(group, ["round_index"]):
            ordered = found.sort_values("run")
            points = list(zip(ordered["run"], ordered["seconds"] * 1e3, strict=True))
            panel.polyline([(x(a), y(b)) for a, b in points], f"series {_series(variant)}")
            for run, value in points:
                tip = f"process {int(process['round_index']) + 1}, run {run}: {value:.3g} ms"
                shape = "diamond" if run == 0 else "circle"
                panel.mark(shape, x(run), y(value), _mark(variant), r=3, tip=tip)
        yield panel


def break_even(curve: pd.DataFrame) -> Figure:
    """Draw extra seconds against the bytes of one array, by operation; both logarithmic."""
    shown = curve.loc[curve["extra_median_seconds"] > 0]
    ticks = decades(min(curve["array_bytes"]), max(curve["array_bytes"]))
    extra = list(shown["extra_median_seconds"])
    levels = decades(min(extra), max(extra)) if extra else [1e-3, 1.0]
    heading = "Cost of closing over one array"
    panel = Drawing(heading, f"{len(shown)} sizes and operations", HEIGHT)
    panel.text(0, 14, heading, "heading")
    right = 36.0  # half of the last label
    x = log_scale(ticks[0], ticks[-1], LEFT, WIDTH - right)
    y = log_scale(levels[0], levels[-1], HEIGHT - BOTTOM, TOP)
    panel.bottom_axis([(x(t), bytes_(t)) for t in ticks[::2]], "bytes of the array", LEFT, right)
    panel.left_axis([(y(level), seconds(level)) for level in levels], LEFT, right)
    legend = []
    for index, (operation, name) in enumerate(OPERATIONS.items()):
        series, shape = f"series-{index}", MARKS[index]
        legend.append((f"key {series} {shape}", name))
        found = rows(shown.loc[shown["operation"] == operation].sort_values("array_bytes"))
        points = [(x(row["array_bytes"]), y(row["extra_median_seconds"])) for row in found]
        panel.polyline(points, f"series {series}")
        for point, row in zip(points, found, strict=True):
            tip = f"{name}, {bytes_(row['array_bytes'])}: {seconds(row['extra_median_seconds'])}"
            panel.mark(shape, *point, f"mark {series}", tip=tip)
    return Figure(
        "closure_break_even",
        "Extra compile time against the size of the array",
        "Seconds of trace, lower and compile beyond the same program with the array as an "
        "argument; differences below zero, which are noise, are left out.",
        (panel,),
        tuple(legend),
        columns=1,
    )


def picture(path: Path) -> Figure:
    """Show the simulated frame, its pixels inside the page."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    described = "A ring of dust, three planets, and the residual light of the star"
    panel = Drawing("A simulated frame", described, 400)
    panel.parts.append(
        f'<image x="0" y="0" width="400" height="400" href="data:image/png;base64,{data}"/>'
    )
    return Figure(
        "closure_picture",
        "The simulated frame",
        "One exposure of ten minutes, counts on a scale that shows faint and bright: a star behind "
        "its mask, three planets, a ring of dust that scatters forwards.",
        (panel,),
    )


def _linear_panel(heading: str, across: tuple[str, float], up: tuple[str, float]):
    """Return a panel with linear axes from zero, and both scales; axes are (title, maximum)."""
    (axis, last), (unit, top) = across, up
    steps, levels = linear_ticks(last), linear_ticks(top)
    panel = Drawing(heading, f"{axis} against {unit}", HEIGHT)
    panel.text(0, 14, heading, "heading")
    x = linear_scale(0.0, steps[-1], LEFT, WIDTH - 16)
    y = linear_scale(0.0, levels[-1], HEIGHT - BOTTOM, TOP)
    panel.bottom_axis([(x(t), f"{t:g}") for t in steps], axis, LEFT, 16)
    panel.left_axis([(y(level), f"{level:g} {unit}") for level in levels], LEFT, 16)
    return panel, x, y


def _key(problem: Row) -> str:
    """Return a key equal for equal problems: missing values equal nothing, not even themselves."""
    return str([None if pd.isna(problem[name]) else problem[name] for name in PROBLEM])


def _name(variant: str) -> str:
    return variant.replace("_", " ")


def _largest(values: Iterable[Any]) -> float:
    return max((float(v) for v in values if not pd.isna(v)), default=0.0)


def _series(variant: str) -> str:
    return f"series-{SERIES.index(variant) if variant in SERIES else 5}"


def _mark(variant: str) -> str:
    return f"mark {_series(variant)}"


def _shape(name: str, order: Sequence[str]) -> str:
    return MARKS[order.index(name) % len(MARKS)] if name in order else MARKS[0]
