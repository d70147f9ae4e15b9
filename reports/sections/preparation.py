"""Make the section on preparing a casing: the times of its steps, and its memory."""

import pandas as pd

from ..document.section import Section
from ..document.table import (
    PHASES,
    count,
    digits_name,
    problem_name,
    row_head,
    size,
    table,
    time,
    workload_name,
)
from ..stats import PROBLEM, TIMES, case_summary, succeeded, table_of
from ..tables import groups, rows
from ..units import bytes_, seconds

SUITE = "casing_preparation"
ALL_TIMES = (*TIMES, "choose_seconds", "tables_seconds")


def summary(measured: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each problem of the suite that measures the preparation."""
    prepared = succeeded(measured, "casing_bytes", suite=SUITE)
    return table_of(
        [{**key, **case_summary(group, ALL_TIMES)} for key, group in groups(prepared, PROBLEM)]
    )


def section(problems: pd.DataFrame) -> Section:
    columns = (
        row_head("Problem", workload_name, digits_name),
        count("Processes", "processes_count"),
        time("Choose", "choose", "Choosing parameters from digits, surface and field, on the host"),
        time("Tables", "tables", "Making the constants of a quadrature rule, on the host"),
        time("Prepare", "steady", "Steady-state run of the compiled preparation"),
        *PHASES,
        size("Casing", "casing_bytes", "All arrays of the prepared casing"),
        size("Temporaries", "temp_bytes", "Temporary memory of the compiled program"),
        size("RSS peak", "peak_rss_bytes", "Peak resident set, up to the last run"),
    )
    return Section(
        "preparation",
        "Preparing a casing",
        lead(problems),
        paragraphs=(
            "A casing is prepared once for a surface and then evaluated often. The times in the "
            "sections on variants and chunk sizes are of evaluations of prepared casings.",
        ),
        tables=(table(problems, columns, "preparation", "Time and memory of each preparation"),),
    )


def lead(problems: pd.DataFrame) -> str:
    """Return a sentence on the time to prepare the smallest and the largest casing."""
    ordered = problems.sort_values("casing_bytes")
    ends = rows(ordered.iloc[[0, -1] if len(ordered) > 1 else [0]])
    parts = "; ".join(
        f"{seconds(row['steady_median_seconds'])} for {bytes_(float(row['casing_bytes']))} "
        f"({problem_name(row)})"
        for row in ends
    )
    return f"Once compiled, preparing a casing takes {parts}."
