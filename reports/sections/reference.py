"""Make the sections that compare fields and gradients of vcjax with the C++ reference."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from jaxmeter import median_interval

from ..document.section import Figure, Section
from ..document.svg import BOTTOM, TOP, Axis, Drawing, decades, strip
from ..document.table import (
    count,
    digits_name,
    error,
    problem_name,
    ratio,
    row_head,
    table,
    time,
    workload_name,
)
from ..document.words import processes
from ..quantities import COMPILE_PHASES, FIELD_ERRORS
from ..stats import PROBLEM, ratio_columns, stem_of, succeeded, table_of, time_columns, values
from ..tables import groups, rows
from ..units import counted, seconds, significant
from ..units import ratio as ratio_text

GRADIENT_ERRORS = {name.replace("error", "gradient_error"): name for name in FIELD_ERRORS}
COMPILING = [*COMPILE_PHASES, "prepare_compile_seconds"]
TIMES = (
    "choose_seconds",
    "tables_seconds",
    "prepare_seconds",
    "setup_seconds",
    "reference_setup_seconds",
    "evaluation_seconds",
    "reference_evaluation_seconds",
)
LOADS = ("cpu_per_wall", "reference_cpu_per_wall")


def summary(measured: pd.DataFrame, *, gradient: bool = False) -> pd.DataFrame:
    """Return a row for each problem that vcjax and the C++ package solved in the same process.

    The rows are on fields or, if `gradient` is true, on gradients. Errors of gradients are relative
    to the largest component of the gradient.

    `setup` is the time from a new surface to its first field or gradient. For vcjax, this time
    includes choosing a quadrature rule, making tables, preparing and evaluating, but no compiling.
    For the reference, it includes making a new object and evaluating. `evaluation` is the time of
    one more evaluation. A speed-up is the median, over processes, of the ratio reference / vcjax.
    """
    both = succeeded(measured, "reference_evaluation_seconds")
    wanted = [*COMPILING, *TIMES, *FIELD_ERRORS, *GRADIENT_ERRORS, *LOADS]
    both = both.reindex(columns=list(dict.fromkeys([*both.columns, *wanted])))
    both = both.loc[both["gradient_error_relative"].notna() == gradient]
    if gradient:
        both = both.drop(columns=list(FIELD_ERRORS)).rename(columns=GRADIENT_ERRORS)
    both = both.assign(all_compile_seconds=both[COMPILING].sum(axis=1, skipna=False))
    found = []
    for problem, group in groups(both, PROBLEM):
        row: dict[str, Any] = {**problem, "processes_count": len(group)}
        for quantity in (*TIMES, "all_compile_seconds"):
            row |= time_columns(stem_of(quantity), values(group, quantity))
        for name in ("evaluation", "setup"):
            speedups = group[f"reference_{name}_seconds"] / group[f"{name}_seconds"]
            row |= ratio_columns(f"{name}_speedup", median_interval(speedups.dropna().tolist()))
        row |= {name: group[name].max(skipna=False) for name in FIELD_ERRORS}
        for load in LOADS:
            row[f"{load}_highest_ratio"] = group[load].max()
            row[f"{load}_lowest_ratio"] = group[load].min()
        row["evaluations_to_repay_compile_count"] = _evaluations_to_repay(row)
        found.append(row)
    return table_of(found)


def _evaluations_to_repay(row: Mapping[str, Any]) -> float:
    """Return how many evaluations repay the compile time of vcjax; NaN if no number does.

    The result is the smallest n with c + s_vcjax + (n - 1) e_vcjax <= s_reference + (n - 1)
    e_reference. Here c is the compile time, s is the time of a set-up including the first
    evaluation, and e is the time of a further evaluation. If a time is missing, the result is NaN.
    """
    saved_each = row["reference_evaluation_median_seconds"] - row["evaluation_median_seconds"]
    ours = row["all_compile_median_seconds"] + row["setup_median_seconds"]
    behind = ours - row["reference_setup_median_seconds"]
    if math.isnan(saved_each) or math.isnan(behind) or (saved_each <= 0 < behind):
        return math.nan
    repaid = behind / saved_each if behind > 0 else 0.0
    return 1.0 + math.ceil(repaid) if math.isfinite(repaid) else math.nan


def section(problems: pd.DataFrame, *, gradient: bool = False) -> Section:
    name = "gradient_against_reference" if gradient else "against_reference"
    what = "gradient" if gradient else "field"
    caption = f"The {what} by vcjax and by the C++ reference"
    columns = (
        row_head("Problem", workload_name, digits_name),
        count("Processes", "processes_count"),
        time("Evaluation", "evaluation", f"A further {what} by vcjax"),
        time("C++ evaluation", "reference_evaluation", f"A further {what} by the reference"),
        ratio("C++ / vcjax", "evaluation_speedup", "Ratio of evaluation times in the same process"),
        time(
            "Set-up + evaluation",
            "setup",
            "Choose a rule, make tables, prepare, evaluate; no compiling",
        ),
        time("C++ set-up + evaluation", "reference_setup", f"A new object and its first {what}"),
        ratio(
            "C++ / vcjax ",
            "setup_speedup",
            "Ratio of set-up + evaluation times in the same process",
        ),
        time("Compile", "all_compile", "Trace, lower and compile of prepare and evaluation"),
        count(
            "Repaid after",
            "evaluations_to_repay_compile_count",
            "Evaluations until compiling is repaid",
        ),
        error("Error", "error_relative", "Maximum over processes"),
        error("C++ error", "reference_error_relative", "Maximum over processes"),
        ratio("CPU / wall", "cpu_per_wall_highest", "Maximum; 1 is one thread", interval=False),
        ratio(
            "C++ CPU / wall",
            "reference_cpu_per_wall_highest",
            "Maximum; 1 is one thread",
            interval=False,
        ),
    )
    return Section(
        "gradient_reference" if gradient else "reference",
        "Gradients against the C++ reference" if gradient else "Against the C++ reference",
        lead(problems, what),
        tuple(sentences(problems)),
        (
            "Both packages ran interleaved in the same worker process, on the same surface, field "
            f"and targets. Set-up + evaluation is the time from a new surface to its first {what}; "
            f"evaluation is the time of a further {what} on the same surface. The table shows the "
            "median and interval of each ratio over processes. Each process compiles once, and "
            "compile time has its own column.",
        ),
        (figure(problems, name),),
        (table(problems, columns, name, caption, group_by=("workload", "half_period")),),
    )


def lead(problems: pd.DataFrame, what: str = "field") -> str:
    """Return sentences on the speed-ups of evaluation and set-up, as ranges over all problems."""
    return (
        f"With one thread each and without compile time, vcjax evaluates a {what} "
        f"{_span(problems, 'evaluation')} as fast as the C++ reference. From a new surface to "
        f"its first {what}, vcjax is {_span(problems, 'setup')} as fast (medians of the "
        f"ratios in each process; {counted(len(problems), 'problem')}, "
        f"{processes(problems)} each)."
    )


def _span(problems: pd.DataFrame, which: str) -> str:
    ratios = values(problems, f"{which}_speedup_ratio")
    if not ratios:
        return "an unknown number of times"
    ends = dict.fromkeys(significant(end) for end in (min(ratios), max(ratios)))
    return f"{' to '.join(ends)} times"


def sentences(problems: pd.DataFrame) -> list[str]:
    """Return sentences on problems where compiling never pays off, and on the use of threads."""
    said = []
    never = [
        problem_name(row)
        for row in rows(problems)
        if pd.isna(row["evaluations_to_repay_compile_count"])
        and row["evaluation_median_seconds"] >= row["reference_evaluation_median_seconds"]
    ]
    if never:
        names = ", ".join(never)
        said.append(f"At {names} compiling is never repaid, because evaluation is no faster.")
    # Add a sentence if a package used more or less than one processor.
    highest = problems[[f"{load}_highest_ratio" for load in LOADS]].max(axis=None)
    lowest = problems[[f"{load}_lowest_ratio" for load in LOADS]].min(axis=None)
    if highest > 1.1:
        said.append(
            "More than one thread was used: the highest processor time was "
            f"{ratio_text(highest)} the wall time."
        )
    if lowest < 0.9:
        said.append(
            "Other programs used the processor: the lowest processor time was "
            f"{ratio_text(lowest)} the wall time. Therefore the times are too long, and the ratios "
            "are noisy."
        )
    return said


def figure(problems: pd.DataFrame, name: str) -> Figure:
    """Draw two panels with a logarithmic time axis and marks for vcjax and the reference."""
    return Figure(
        name,
        "vcjax and the C++ reference, one thread each",
        "Medians over processes. Both packages ran in the same process. The numbers at the right "
        "show how many times as fast vcjax is. Compile time is not included; the table shows it.",
        (
            _panel(problems, "Further evaluation", "evaluation"),
            _panel(problems, "Set-up + first evaluation", "setup"),
        ),
        (("series-0 circle", "vcjax"), ("series-1 diamond", "C++ reference")),
    )


def _panel(problems: pd.DataFrame, title: str, stem: str) -> Drawing:
    ours, theirs = f"{stem}_median_seconds", f"reference_{stem}_median_seconds"
    lines = rows(problems)
    positive = [row[name] for row in lines for name in (ours, theirs) if row[name] > 0]
    ticks = decades(min(positive), max(positive)) if positive else [0.1, 1.0]
    left = 128.0
    described = "; ".join(
        f"{problem_name(row)}: vcjax {seconds(row[ours])}, C++ {seconds(row[theirs])}"
        for row in lines
    )
    panel, x = strip(
        title,
        described,
        Axis(ticks, "{:g}".format, f"{title.lower()}, s (logarithmic)", is_log=True),
        height=TOP + 34.0 * len(lines) + BOTTOM,
        left=left,
        right=58.0,
    )
    for index, row in enumerate(lines):
        y = TOP + 34.0 * (index + 0.5)
        panel.text(left - 8, y - 2, workload_name(row), "label", anchor="end")
        panel.text(left - 8, y + 12, digits_name(row), "tick", anchor="end")
        if not (row[ours] > 0 and row[theirs] > 0):
            continue
        a, b = x(row[ours]), x(row[theirs])
        panel.line(a, y, b, y, "link")
        tip = f"C++ reference: {seconds(row[theirs])}"
        panel.mark("diamond", b, y, "mark series-1", r=5, tip=tip)
        panel.mark("circle", a, y, "mark series-0", r=5, tip=f"vcjax: {seconds(row[ours])}")
        speedup = f"{significant(row[f'{stem}_speedup_ratio'])}×"
        panel.text(panel.width, y + 4, speedup, "value", anchor="end")
    return panel
