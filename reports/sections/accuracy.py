"""Make the section on accuracy: the error of each method against the requested digits."""

import math

import pandas as pd

from ..document.section import Figure, Section
from ..document.svg import MARKS, Axis, decades, plot
from ..document.table import count, error, problem_name, ratio, row_head, table, text, workload_name
from ..stats import PROBLEM, succeeded, table_of
from ..tables import groups, rows
from ..units import counted, scientific, significant

OURS = "vcjax"
METHODS = {OURS: "error_relative", "C++ reference": "reference_error_relative"}


def summary(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each problem, suite and method: the errors and the limit 10^-digits.

    The largest and smallest errors are over all processes and variants of the suite. If any error
    is NaN, `error_worst_relative` is NaN and `is_within` is False.
    """
    found = []
    checked = succeeded(measured, "digits")
    checked = checked.loc[checked["checked_errors_count"] > 0]
    for method, column in METHODS.items():
        if column not in checked:
            continue
        for problem, group in groups(checked, [*PROBLEM, "suite"]):
            errors = group[column]
            if method != OURS and not errors.notna().any():
                continue  # a suite without the reference
            limit, worst = 10.0 ** -int(problem["digits"]), errors.max(skipna=False)
            found.append(
                {
                    **problem,
                    "method": method,
                    "processes_count": len(errors),
                    "error_worst_relative": worst,
                    "error_best_relative": errors.min(),
                    "limit_relative": limit,
                    "error_to_limit_ratio": worst / limit,
                    "is_within": bool(worst <= limit),
                }
            )
    return table_of(found, [*PROBLEM, "method"], {"method": lambda method: method != OURS})


def section(errors: pd.DataFrame) -> Section:
    columns = (
        row_head("Method", lambda row: str(row["method"]), problem_name),
        text("Suite", "suite"),
        count("Processes", "processes_count"),
        error("Limit", "limit_relative", "10⁻ᵈ for d digits"),
        error("Worst error", "error_worst_relative", "Relative to max|B|", within="is_within"),
        error("Best error", "error_best_relative", "Relative to max|B|"),
        ratio(
            "Worst / limit",
            "error_to_limit",
            "At most 1 if the error is within the limit",
            interval=False,
        ),
    )
    return Section(
        "accuracy",
        "Accuracy",
        lead(errors),
        (),
        (
            "Each measurement checks its answer: it compares the computed fields with the known "
            "fields of the currents outside and inside the surface. The error is the largest "
            "deviation divided by max|B|, the largest component of the total field.",
        ),
        (figure(errors),),
        (table(errors, columns, "accuracy", "Errors against the limit", group_by=PROBLEM),),
    )


def lead(errors: pd.DataFrame) -> str:
    """Return a sentence that counts the problems within the limit.

    The sentence also names the problem with the largest ratio of error to limit. If any errors are
    NaN, the sentence names the problems with these errors instead.
    """
    ours = errors.loc[errors["method"] == OURS]
    held = ours.groupby(list(PROBLEM), dropna=False)["is_within"].all()
    within, total = int(held.sum()), len(held)
    sentence = f"Within the limit 10⁻ᵈ: {within} of {counted(total, 'problem')}"
    broken = ours.loc[ours["error_worst_relative"].isna()]
    if len(broken):
        names = ", ".join(dict.fromkeys(problem_name(row) for row in rows(broken)))
        return f"{sentence}; the error is not a number at {names}."
    worst = ours.loc[ours["error_to_limit_ratio"].idxmax()]
    named, found = problem_name(worst), scientific(worst["error_worst_relative"])
    if within == total:
        return f"{sentence}; {named} is the closest to its limit, with an error of {found}."
    return (
        f"{sentence}; {named} exceeds its limit most, with an error of {found}, "
        f"{significant(worst['error_to_limit_ratio'], 2)} times the limit."
    )


def figure(errors: pd.DataFrame) -> Figure:
    """Draw the largest error and the limit against digits; the axis of errors is logarithmic."""
    worst = errors["error_worst_relative"]
    finite = errors.loc[worst.between(0, math.inf, inclusive="neither")]
    levels = [*finite["error_worst_relative"], *errors["limit_relative"]]
    ticks = decades(min(levels), max(levels))
    digits = sorted(set(map(int, errors["digits"])))
    described = "; ".join(
        f"{row['method']} {problem_name(row)}: {scientific(row['error_worst_relative'])}"
        for row in rows(errors)
    )
    panel, x, y = plot(
        "Error relative to max|B|",
        described,
        Axis(digits, str, "digits", ends=(digits[0] - 0.5, digits[-1] + 0.5)),
        Axis(
            ticks,
            lambda tick: f"1e{round(math.log10(tick))}",
            is_log=True,
            every=math.ceil(len(ticks) / 9),
        ),
    )
    panel.polyline([(x(d), y(10.0**-d)) for d in digits], "limit")
    legend = [("limit", "limit: 10⁻ᵈ")]
    lines = list(groups(finite, ["method", "workload", "half_period"]))
    for index, (first, found) in enumerate(reversed(lines)):
        series, shape = f"series-{index % 6}", MARKS[index % len(MARKS)]
        worst = found.groupby("digits")["error_worst_relative"].max()
        # Shift marks that would overlap, so that they are next to each other.
        shift = 5.0 * (index - 0.5 * (len(lines) - 1))
        points = [(x(digit) + shift, y(error)) for digit, error in worst.items()]
        panel.polyline(points, f"series {series}")
        name = f"{first['method']}, {workload_name(first)}"
        for (px, py), value in zip(points, worst, strict=True):
            panel.mark(shape, px, py, f"mark {series}", r=5, tip=f"{name}: {value:.2e}")
        legend.append((f"{series} {shape}", name))
    return Figure(
        "accuracy",
        "Error against digits",
        "Largest error over all processes and variants, relative to max|B|. Errors are differences "
        "from the known answer. The dashed line is the limit.",
        (panel,),
        tuple(legend),
    )
