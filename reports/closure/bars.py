"""The figure of one program in several variants: compile, constants, steady-state run."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from ..document.figure import BOTTOM, LEFT, TOP, Figure, bottom_axis
from ..document.svg import WIDTH, Drawing, linear_scale, linear_ticks
from ..document.table import problem_name
from ..frames import Row, groups, rows
from ..sections.summaries import PROBLEM
from ..units import BYTES, SECONDS, Unit, bytes_, seconds, unit_for

ROW = 50.0
CONSTANTS = {
    "captured_bytes": "captured",
    "embedded_bytes": "embedded",
    "hidden_argument_bytes": "hidden",
}
TIMES = {"compile": "compile_seconds", "steady": "steady_median_seconds"}


@dataclass(frozen=True)
class Bar:
    """One bar: its value in the panel's unit, its style, and the words behind its number."""

    value: float
    css: str
    words: str = ""


def variants(summary: pd.DataFrame, measured: pd.DataFrame) -> Figure:
    """Three panels a problem: compile seconds, bytes of constants, steady-state seconds."""
    panels = []
    good = measured.loc[measured["status"] == "ok"]
    processes = {_key(problem): found for problem, found in groups(good, PROBLEM)}
    for problem, cases in groups(summary, PROBLEM):
        here = processes[_key(problem)]
        panels += [
            _times_panel(cases, here, "compile", "compile time"),
            _constants_panel(cases),
            _times_panel(cases, here, "steady", "steady-state run time"),
        ]
    return Figure(
        "closure_versus_argument",
        "Each variant: compile time, constants, steady-state run time",
        "Bars start at zero: the median over processes, or a byte count that is the same in all. "
        "Each dot is one process. Each panel has its own scale. Captured: arrays the function "
        "closes over; embedded: constants handed to the compiler; hidden: captured, yet passed at "
        "run time (1 MB = 10⁶ bytes).",
        tuple(panels),
        columns=3,
    )


def _times_panel(cases: pd.DataFrame, processes: pd.DataFrame, stem: str, what: str) -> Drawing:
    unit = unit_for(cases[f"{stem}_median_seconds"], SECONDS)
    dots = {
        str(variant): [float(v) / unit.factor for v in group[TIMES[stem]] if not pd.isna(v)]
        for variant, group in processes.groupby("variant")
    }
    bars = {
        row["variant"]: [Bar(row[f"{stem}_median_seconds"] / unit.factor, row["variant"])]
        for row in rows(cases)
    }
    heading = f"{problem_name(cases.iloc[0])}: {what}"
    return _bar_panel(heading, f"{what}, {unit.name}", bars, dots, unit, seconds, right=76.0)


def _constants_panel(cases: pd.DataFrame) -> Drawing:
    kinds = [name for name in CONSTANTS if name in cases]
    unit = unit_for([float(v) for name in kinds for v in cases[name].dropna()], BYTES)
    bars = {
        row["variant"]: [
            Bar(float(row[name]) / unit.factor, f"{row['variant']} {word}", word)
            for name, word in CONSTANTS.items()
            if name in kinds and not pd.isna(row[name])
        ]
        for row in rows(cases)
    }
    heading = f"{problem_name(cases.iloc[0])}: constants"
    return _bar_panel(heading, f"constants, {unit.name}", bars, {}, unit, bytes_, right=112.0)


def _bar_panel(
    heading: str,
    axis: str,
    bars: dict[str, list[Bar]],
    dots: dict[str, list[float]],
    unit: Unit,
    tell: Callable[[float], str],
    *,
    right: float,
) -> Drawing:
    """Horizontal bars from zero, grouped by variant; `tell` words a value in its base unit."""
    height = TOP + ROW * len(bars) + BOTTOM
    values = [bar.value for group in bars.values() for bar in group]
    values += [value for group in dots.values() for value in group]
    ticks = linear_ticks(max((v for v in values if not math.isnan(v)), default=0.0), 3)
    x = linear_scale(0.0, ticks[-1], LEFT, WIDTH - right)
    told = (
        f"{variant}: "
        + ", ".join(f"{tell(b.value * unit.factor)} {b.words}".strip() for b in group)
        for variant, group in bars.items()
    )
    panel = Drawing(f"{heading}, {unit.name}", "; ".join(told), height)
    panel.text(0, 14, heading, "heading")
    bottom_axis(panel, [(x(t), f"{t:g}") for t in ticks], axis, LEFT, right)
    for index, (variant, group) in enumerate(bars.items()):
        top = TOP + ROW * index
        panel.text(LEFT - 8, top + 0.5 * ROW + 4, variant, "label", anchor="end")
        thick = 18.0 if len(group) == 1 else 12.0
        y = top + 0.5 * (ROW - len(group) * (thick + 1))
        for bar in group:
            if not math.isnan(bar.value):
                label = f"{tell(bar.value * unit.factor)} {bar.words}".strip()
                tip = f"{variant}: {label}"
                wide = max(x(bar.value) - LEFT, 1.0)
                panel.rect(LEFT, y, wide, thick, f"bar {bar.css}", tip=tip)
                reach = max([x(bar.value), *map(x, dots.get(variant, ()))])
                css = "value" if len(group) == 1 else "value small"
                panel.text(reach + 8, y + 0.5 * thick + 4, label, css)
            y += thick + 1
        for value in dots.get(variant, ()):
            tip = f"{variant}, one process: {tell(value * unit.factor)}"
            panel.mark("circle", x(value), top + 0.5 * ROW, "dot", r=3, tip=tip)
    return panel


def _key(problem: Row) -> str:
    """Equal for equal problems, also where a part is missing: missing values equal nothing."""
    return str([None if pd.isna(problem[name]) else problem[name] for name in PROBLEM])
