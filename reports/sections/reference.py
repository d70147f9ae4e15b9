"""Figures of methods against each other: errors, and times beside the C++ reference."""

import math

import pandas as pd

from ..document.figure import BOTTOM, TOP, Figure, bottom_axis
from ..document.svg import WIDTH, Drawing, decades, linear_scale, log_scale
from ..document.table import digits_name, problem_name, workload_name
from ..frames import groups, rows
from ..units import scientific, seconds, significant

MARKS = ("circle", "square", "triangle", "diamond")


def accuracy(table: pd.DataFrame) -> Figure:
    """Worst error against digits, logarithmic, with the limit asked; a line for each workload."""
    finite = table.loc[table["error_worst_relative"] > 0]
    levels = [*finite["error_worst_relative"], *table["limit_relative"]]
    ticks = decades(min(levels), max(levels))
    ticks = ticks[:: math.ceil(len(ticks) / 8)] if len(ticks) > 9 else ticks
    digits = sorted(int(d) for d in table["digits"].unique())
    width, height, left, bottom = 420.0, 290.0, 50.0, 44.0
    x = linear_scale(digits[0] - 0.5, digits[-1] + 0.5, left, width - 20)
    y = log_scale(min(ticks[0], min(levels)), max(ticks[-1], max(levels)), height - bottom, 26)
    panel = Drawing("Error against digits asked", _told_errors(table), height, width)
    panel.text(0, 14, "error relative to max|B|", "axis")
    for tick in ticks:
        panel.line(left, y(tick), width - 20, y(tick), "grid")
        panel.text(left - 8, y(tick) + 4, f"1e{round(math.log10(tick))}", "tick", anchor="end")
    for digit in digits:
        panel.text(x(digit), height - bottom + 20, str(digit), "tick", anchor="middle")
    panel.text(0.5 * (left + width - 20), height - 6, "digits asked", "axis", anchor="middle")
    panel.polyline([(x(d), y(10.0**-d)) for d in digits], "limit")
    legend = [("limit-key", "asked: 10⁻ᵈ")]
    # Marks that would lie upon each other stand side by side.
    lines = list(groups(finite, ["method", "workload", "half_period"]))
    for index, (first, found) in enumerate(reversed(lines)):
        style = f"series-{index % 6}"
        worst: dict[int, float] = {}
        for row in rows(found):
            digit, error = int(row["digits"]), float(row["error_worst_relative"])
            worst[digit] = max(error, worst.get(digit, error))
        shift = 5.0 * (index - 0.5 * (len(lines) - 1))
        points = [(x(d) + shift, y(e)) for d, e in sorted(worst.items())]
        panel.polyline(points, f"series {style}")
        name = f"{first['method']}, {workload_name(first)}"
        for (px, py), value in zip(points, [worst[d] for d in sorted(worst)], strict=True):
            tip = f"{name}: {value:.2e}"
            panel.mark(MARKS[index % len(MARKS)], px, py, f"mark {style}", r=5, tip=tip)
        legend.append((f"key {style} {MARKS[index % len(MARKS)]}", name))
    return Figure(
        "accuracy",
        "Error against the digits asked",
        "Worst error over all processes and variants, relative to max|B|, on the known answer; "
        "the dashed line is what was asked for.",
        (panel,),
        tuple(legend),
        columns=1,
    )


def _told_errors(table: pd.DataFrame) -> str:
    return "; ".join(
        f"{row['method']} {problem_name(row)}: {scientific(row['error_worst_relative'])}"
        for row in rows(table)
    )


def against_reference(table: pd.DataFrame, name: str) -> Figure:
    """Two panels of paired marks, ours and the reference's, on a logarithmic time axis."""
    panels = (
        _pair_panel(table, "Further evaluation", EVALUATION),
        _pair_panel(table, "Set-up + first evaluation", SETUP),
    )
    return Figure(
        name,
        "vcjax and the C++ reference, one thread each",
        "Medians over processes; both ran in the same process. Numbers at the right: how many "
        "times as fast vcjax is. Compile seconds are not in these marks; the table has them.",
        panels,
        (("key series-0 circle", "vcjax"), ("key series-1 diamond", "C++ reference")),
    )


# What vcjax's time, the reference's, and their ratio are called in the table.
EVALUATION = ("evaluation", "reference_evaluation", "evaluation_speedup")
SETUP = ("setup", "reference_setup", "setup_speedup")


def _pair_panel(table: pd.DataFrame, title: str, stems: tuple[str, str, str]) -> Drawing:
    lines = rows(table)
    names = [f"{stem}_median_seconds" for stem in stems[:2]]
    values = [row[name] for row in lines for name in names if row[name] > 0]
    ticks = decades(min(values), max(values)) if values else [0.1, 1.0]
    height = TOP + 34.0 * len(lines) + BOTTOM
    left, right = 128.0, 58.0
    x = log_scale(ticks[0], ticks[-1], left, WIDTH - right)
    described = "; ".join(
        f"{problem_name(row)}: vcjax {seconds(row[names[0]])}, C++ {seconds(row[names[1]])}"
        for row in lines
    )
    panel = Drawing(f"{title}, s", described, height)
    panel.text(0, 14, title, "heading")
    marks = [(x(t), f"{t:g}") for t in ticks]
    bottom_axis(panel, marks, f"{title.lower()}, s (logarithmic)", left, right)
    for index, row in enumerate(lines):
        y = TOP + 34.0 * (index + 0.5)
        panel.text(left - 8, y - 2, workload_name(row), "label", anchor="end")
        panel.text(left - 8, y + 12, digits_name(row), "tick", anchor="end")
        if not (row[names[0]] > 0 and row[names[1]] > 0):
            continue
        a, b = x(row[names[0]]), x(row[names[1]])
        panel.line(a, y, b, y, "link")
        tip = f"C++ reference: {seconds(row[names[1]])}"
        panel.mark("diamond", b, y, "mark series-1", r=5, tip=tip)
        panel.mark("circle", a, y, "mark series-0", r=5, tip=f"vcjax: {seconds(row[names[0]])}")
        panel.text(WIDTH, y + 4, f"{significant(row[f'{stems[2]}_ratio'])}×", "value", anchor="end")
    return panel
