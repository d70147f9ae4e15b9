"""Draw the closure report's figures: bars for variants, time against bytes, and runs in order."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..document import svg
from ..document.section import Figure
from ..document.svg import MARKS, Axis, Drawing, Scale, decades, linear_ticks
from ..document.table import problem_name
from ..quantities import COMPILED
from ..tables import groups, rows
from ..units import BYTES, SECONDS, Unit, bytes_, seconds, unit_for
from .summaries import OPERATIONS, PROBLEM, variant_name, variant_order

ROW = 50.0
# The theme draws the first series (argument) in blue and the second (closure) in orange.
SERIES = ("argument", "closure", "simplified", "cached", "hoisted", "static_callable")
CONSTANTS = {
    "captured_bytes": "captured",
    "embedded_bytes": "embedded",
    "hidden_argument_bytes": "hidden",
}
# Each panel has four items: the columns of the summary, each with a word that is shown after the
# value; the column with the values of the processes; the units; the heading.
PANELS = (
    ({"trace_lower_compile_median_seconds": ""}, COMPILED, SECONDS, "compile time"),
    ({"steady_median_seconds": ""}, "steady_median_seconds", SECONDS, "steady-state run time"),
    ({"peak_rss_bytes": ""}, "peak_rss_bytes", BYTES, "peak resident set"),
    (CONSTANTS, None, BYTES, "constants"),
)


def variants(table: pd.DataFrame, measured: pd.DataFrame, name: str) -> Figure:
    """Draw bars for each row of `summaries.variants`, and dots for its processes."""
    panels = []
    problems = zip(groups(table, PROBLEM), groups(measured, PROBLEM), strict=True)
    for (problem, cases), (_, processes) in problems:
        for words, quantity, units, what in PANELS:
            bars = {
                r["variant"]: {word: float(r[c]) for c, word in words.items() if not pd.isna(r[c])}
                for r in rows(cases)
            }
            dots = {} if quantity is None else processes.groupby("variant")[quantity].apply(list)
            panels.append(_bars(f"{problem_name(problem)}: {what}", bars, dict(dots), units))
    return Figure(
        f"{name}_variants",
        "Each variant: compile time, steady-state run, memory, constants",
        "Bars start at zero and show the median over processes for times, and the maximum over "
        "processes for bytes. Each dot is one process. Each panel has its own scale. Compile "
        "time is the sum of trace, lower and compile. Captured bytes belong to arrays that the "
        "function closes over. Embedded bytes belong to constants in the program that the "
        "compiler receives. Hidden bytes belong to captured arrays that are passed as arguments "
        "at run time. 1 MB is 10⁶ bytes.",
        tuple(panels),
    )


def _bars(
    heading: str,
    bars: Mapping[str, Mapping[str, float]],
    dots: Mapping[str, Sequence[float]],
    units: tuple[Unit, ...],
) -> Drawing:
    """Draw horizontal bars from zero, and dots for the values of processes.

    `bars` maps each variant to the values of its bars, by label. `dots` maps each variant to the
    values of its processes.
    """
    words = bytes_ if units is BYTES else seconds
    dots = {variant: [v for v in group if not pd.isna(v)] for variant, group in dots.items()}
    values = [value for group in bars.values() for value in group.values()]
    top = max([*values, *(value for group in dots.values() for value in group)], default=0.0)
    unit = unit_for([top], units)
    left, right = 96.0, 112.0 if any(len(group) > 1 for group in bars.values()) else 76.0
    ticks = [unit.factor * tick for tick in linear_ticks(top / unit.factor, 3)]
    labels = {
        variant: [f"{words(value)} {word}".rstrip() for word, value in group.items()]
        for variant, group in bars.items()
    }
    panel, x = svg.strip(
        heading,
        "; ".join(f"{variant}: {', '.join(found)}" for variant, found in labels.items()),
        Axis(ticks, lambda tick: f"{tick / unit.factor:g}", unit.name),
        height=svg.TOP + ROW * len(bars) + svg.BOTTOM,
        left=left,
        right=right,
    )
    for index, (variant, group) in enumerate(bars.items()):
        middle = svg.TOP + ROW * (index + 0.5)
        panel.text(left - 8, middle + 4, variant_name(variant), "label", anchor="end")
        thick, small = (18.0, "") if len(group) == 1 else (12.0, " small")
        y = middle - 0.5 * len(group) * (thick + 1)
        for (word, value), label in zip(group.items(), labels[variant], strict=True):
            css = f"bar {variant} {word}".rstrip()
            tip = f"{variant_name(variant)}: {label}"
            panel.rect(left, y, max(x(value) - left, 1.0), thick, css, tip=tip)
            reach = max([x(value), *map(x, dots.get(variant, ()))])
            panel.text(reach + 8, y + 0.5 * thick + 4, label, f"value{small}")
            y += thick + 1
        for value in dots.get(variant, ()):
            tip = f"{variant_name(variant)}, one process: {words(value)}"
            panel.mark("circle", x(value), middle, "dot", r=3, tip=tip)
    return panel


def embedded(points: Any, slope: float, name: str) -> Figure:
    """Draw extra compile time against extra embedded bytes, with a fitted line.

    Time and bytes are differences from the argument variant of the same problem. `slope` is the
    slope of the line in seconds per megabyte; the line is drawn only if the slope is positive.
    """
    last = points["extra_bytes"].max() / 1e6
    fitted = 0.0 if pd.isna(slope) else slope * linear_ticks(last)[-1]
    heading = "Extra compile time over the argument variant"
    top = max(points["extra_seconds"].max(), fitted)
    panel, x, y = _linear_plot(heading, "MB embedded", last, "s", top)
    if fitted > 0:
        panel.line(x(0), y(0), x(linear_ticks(last)[-1]), y(fitted), "limit")
    for row in rows(points):
        value, (series, shape) = row["extra_seconds"], _look(row["variant"])
        tip = f"{row['variant']}, {problem_name(row)}: {bytes_(row['extra_bytes'])}, "
        tip += seconds(value) if value > 0 else "no difference"
        place = x(row["extra_bytes"] / 1e6), y(max(value, 0.0))
        panel.mark(shape, *place, f"mark {series}", r=5, tip=tip)
    shown = sorted(set(points["variant"]), key=variant_order)
    legend = [(" ".join(_look(variant)), variant_name(variant)) for variant in shown]
    about = (
        "Time of trace, lower and compile, minus the time of the argument variant; both times are "
        "medians over processes. Each mark is one variant of one problem. Values below zero are "
        "noise and are drawn at zero."
    )
    if fitted > 0:
        legend += [("limit", "fit")]
        about += " The dashed line is the fit through the origin."
    title = "Compile time against embedded bytes"
    return Figure(f"{name}_embedded", title, about, (panel,), tuple(legend))


def runs_in_order(runs: pd.DataFrame) -> Figure:
    """Draw the times of the first call and the steady-state runs, with a line for each process."""
    return Figure(
        "closure_runs",
        "Every recorded run, in order",
        "Each line is one process. The diamond is the first call after compiling. The second call "
        "warms up the program and is not recorded. Steady-state runs follow. All panels share one "
        "scale.",
        tuple(_in_order(runs, "run after compiling (0: first call)")),
    )


def script_calls(calls: pd.DataFrame) -> Figure:
    """Draw the times of the calls after the compiling call, in order."""
    return Figure(
        "closure_script",
        "The calls right after the compiling call, timed as in a script",
        "Each line is one process. The compiling call, number 0, takes much longer and is not "
        "shown. All panels share one scale.",
        tuple(_in_order(calls, "call after the compiling call")),
    )


def _in_order(runs: Any, axis: str) -> Iterable[Drawing]:
    top, last = runs["seconds"].max() * 1e3, runs["run"].max()
    for key, group in groups(runs, ["variant"]):
        series, _ = _look(key["variant"])
        heading = f"{problem_name(group.iloc[0])}, {key['variant']}: runs in order"
        panel, x, y = _linear_plot(heading, axis, last, "ms", top)
        for process, found in groups(group.sort_values("run"), ["round_index"]):
            points = list(zip(found["run"], found["seconds"] * 1e3, strict=True))
            panel.polyline([(x(a), y(b)) for a, b in points], f"series {series}")
            for run, value in points:
                tip = f"process {int(process['round_index']) + 1}, run {run}: {value:.3g} ms"
                shape = "diamond" if run == 0 else "circle"
                panel.mark(shape, x(run), y(value), f"mark {series}", r=3, tip=tip)
        yield panel


def break_even(curve: pd.DataFrame) -> Figure:
    """Draw extra compile time against the bytes of the array, for each operation."""
    shown = curve.loc[curve["extra_median_seconds"] > 0].sort_values("array_bytes")
    sizes, extra = curve["array_bytes"], list(shown["extra_median_seconds"])
    levels = decades(min(extra), max(extra)) if extra else [1e-3, 1.0]
    panel, x, y = svg.plot(
        "Cost of closing over one array",
        f"{len(shown)} sizes and operations",
        Axis(decades(min(sizes), max(sizes)), bytes_, "bytes of the array", is_log=True, every=2),
        Axis(levels, seconds, is_log=True),
        right=36.0,  # space for half of the last label
    )
    legend = []
    for index, (operation, name) in enumerate(OPERATIONS.items()):
        series, shape = f"series-{index}", MARKS[index]
        legend.append((f"{series} {shape}", name))
        found = rows(shown.loc[shown["operation"] == operation])
        points = [(x(row["array_bytes"]), y(row["extra_median_seconds"])) for row in found]
        panel.polyline(points, f"series {series}")
        for point, row in zip(points, found, strict=True):
            tip = f"{name}, {bytes_(row['array_bytes'])}: {seconds(row['extra_median_seconds'])}"
            panel.mark(shape, *point, f"mark {series}", tip=tip)
    return Figure(
        "closure_break_even",
        "Extra compile time against the size of the array",
        "Time of trace, lower and compile, minus the time of the same program with the array as an "
        "argument. Differences below zero are noise and are left out.",
        (panel,),
        tuple(legend),
    )


def picture(path: Path) -> Figure:
    """Return a figure of the simulated frame, with the picture embedded in the page."""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    described = "A ring of dust, three planets, and the residual light of the star"
    panel = Drawing("A simulated frame", described, 400)
    panel.parts.append(
        f'<image x="0" y="0" width="400" height="400" href="data:image/png;base64,{data}"/>'
    )
    return Figure(
        "closure_picture",
        "The simulated frame",
        "One exposure of ten minutes: a star behind its mask, three planets, and a ring of dust "
        "that scatters light forwards. The scale of the counts shows both faint and bright parts.",
        (panel,),
    )


def _linear_plot(
    heading: str, axis: str, last: float, unit: str, top: float
) -> tuple[Drawing, Scale, Scale]:
    """Return a panel with two linear axes, and the scales of both axes.

    The horizontal axis runs from zero to at least `last`, the vertical axis to at least `top`.
    """
    across = Axis(linear_ticks(last), lambda tick: f"{tick:g}", axis)
    up = Axis(linear_ticks(top), lambda tick: f"{tick:g} {unit}")
    return svg.plot(heading, f"{axis} against {unit}", across, up)


def _look(variant: str) -> tuple[str, str]:
    """Return the CSS class of a variant's colour, and the shape of its mark."""
    place = variant_order(variant)
    series = SERIES.index(variant) if variant in SERIES else len(SERIES) - 1
    return f"series-{series}", MARKS[place % len(MARKS)]
