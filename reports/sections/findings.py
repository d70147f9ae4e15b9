"""Plain sentences that say what the tables say. Every number in them comes from the tables.

A difference is claimed only where the interval of the paired ratios leaves 1 out; otherwise the
sentence says that none was seen. Where there were too few pairs for a 95 % interval it says that.
"""

import math
from typing import Any

import pandas as pd

from ..document.table import problem_name
from ..document.words import counted, processes, range_only
from ..frames import any_of, groups, rows
from ..units import bytes_, ratio, scientific, seconds, significant
from .summaries import PROBLEM


def chunk_findings(table: pd.DataFrame) -> list[str]:
    """The fastest case of each problem, and how far "auto" is from it."""
    said = []
    for _, cases in groups(table, PROBLEM):
        if not any_of(cases["is_fastest"]):
            continue
        best = cases.loc[cases["is_fastest"]].iloc[0]
        sentence = (
            f"{problem_name(best)}: fastest at chunk_size {best['chunk_size']}, target_chunk_size "
            f"{best['target_chunk_size']} with {seconds(best['steady_median_seconds'])}"
            f"{_temporary(best)}; "
        )
        auto = cases.loc[cases["is_auto"]]
        if auto.empty:
            said.append(sentence + '"auto" was not measured.')
        elif bool(auto.iloc[0]["is_fastest"]):
            said.append(sentence + 'that is "auto" itself.')
        else:
            said.append(sentence + _auto_words(auto.iloc[0]))
    return said


def accuracy_lead(table: pd.DataFrame) -> str:
    """How many problems keep the limit asked, and the one furthest from it."""
    ours = table.loc[table["method"] == "vcjax"]
    held = ours.groupby(list(PROBLEM), dropna=False)["is_within"].all()
    within, total = int(held.sum()), len(held)
    sentence = f"Within the 10⁻ᵈ asked: {within} of {counted(total, 'problem')}"
    broken = ours.loc[ours["error_worst_relative"].isna()]
    if len(broken):
        names = ", ".join(dict.fromkeys(problem_name(row) for row in rows(broken)))
        return f"{sentence}; the error is not a number at {names}."
    worst = ours.loc[ours["error_to_limit_ratio"].idxmax()]
    named = f"{problem_name(worst)} with {scientific(worst['error_worst_relative'])}"
    if within == total:
        return f"{sentence}; the closest to its limit is {named}."
    return (
        f"{sentence}; the furthest off is {named}, "
        f"{significant(worst['error_to_limit_ratio'], 2)} times the limit{_theirs(table, worst)}."
    )


def reference_lead(table: pd.DataFrame, what: str = "field") -> str:
    """The range of both speed-ups over all problems, and compile time beside them."""
    return (
        f"One thread each, compile time left out, vcjax evaluates a {what} "
        f"{_span(table, 'evaluation')} as fast as the C++ reference, and goes from a new surface "
        f"to its first {what} {_span(table, 'setup')} as fast (medians of process-by-process "
        f"ratios; {counted(len(table), 'problem')}, {processes(table)} each)."
    )


def reference_findings(table: pd.DataFrame) -> list[str]:
    """Compile time, and after how many evaluations it is paid back."""
    said = []
    for row in rows(table):
        compiled = row["all_compile_median_seconds"]
        if math.isnan(compiled):
            continue
        repaid = row["evaluations_to_repay_compile_count"]
        if pd.isna(repaid):
            tail = "which is never paid back, since evaluation is no faster"
        elif repaid == 1:
            tail = "paid back by the first evaluation already"
        else:
            tail = f"paid back after {counted(int(repaid), 'evaluation')}"
        said.append(f"{problem_name(row)}: tracing and compiling took {seconds(compiled)}, {tail}.")
    return said + _threads(table)


def _threads(table: pd.DataFrame) -> list[str]:
    """Whether both sides had one processor for themselves, and no more."""
    names = ("cpu_per_wall", "reference_cpu_per_wall")
    least = [float(v) for name in names for v in table[f"{name}_lowest_ratio"].dropna()]
    most = [float(v) for name in names for v in table[f"{name}_highest_ratio"].dropna()]
    if not least:
        return []
    said = []
    if max(most) > 1.1:
        said.append(f"Not one thread each: processor time was up to {ratio(max(most))} wall time.")
    if min(least) < 0.9:
        said.append(
            f"Other programs took the processor: processor time was down to {ratio(min(least))} "
            "wall time, so the seconds are too many and the ratios noisy."
        )
    return said


def preparation_lead(table: pd.DataFrame) -> str:
    """The seconds to make the smallest and the largest casing."""
    ordered = rows(table.sort_values("casing_bytes"))
    ends = ordered if len(ordered) < 3 else [ordered[0], ordered[-1]]
    told = "; ".join(
        f"{seconds(row['steady_median_seconds'])} for {bytes_(float(row['casing_bytes']))} "
        f"({problem_name(row)})"
        for row in ends
    )
    return f"Once compiled, preparing takes {told}."


def problems_lead(failures: pd.DataFrame) -> str:
    if failures.empty:
        return "Nothing failed, and nothing was skipped."
    counts = failures["status"].value_counts()
    return (
        "Left out of every table above: "
        + ", ".join(f"{count} {status}" for status, count in counts.items())
        + "."
    )


def _auto_words(auto: Any) -> str:
    stem = "steady_to_fastest"
    if math.isnan(auto[f"{stem}_ratio"]):
        return '"auto" has no round in common with it.'
    text = (
        f'"auto" takes {seconds(auto["steady_median_seconds"])}{_temporary(auto)}, '
        f"{significant(auto[f'{stem}_ratio'])} times as long ({range_only(auto, stem)})"
    )
    same = auto[f"{stem}_low_ratio"] <= 1 <= auto[f"{stem}_high_ratio"]
    return f"{text}, which is within the noise." if same else f"{text}."


def _temporary(row: Any) -> str:
    value = row.get("temp_bytes")
    return "" if value is None or pd.isna(value) else f" and {bytes_(float(value))} temporary"


def _theirs(table: pd.DataFrame, worst: Any) -> str:
    """The C++ reference's error at the same problem, where it was measured."""
    theirs = rows(table.loc[table["method"] != "vcjax"])
    same = [row for row in theirs if problem_name(row) == problem_name(worst)]
    if not same:
        return ""
    return f" (the C++ reference: {scientific(same[0]['error_worst_relative'])})"


def _span(table: pd.DataFrame, which: str) -> str:
    values = [float(value) for value in table[f"{which}_speedup_ratio"].dropna()]
    if not values:
        return "an unknown number of times"
    low, high = min(values), max(values)
    if low == high:
        return f"{significant(low)} times"
    return f"{significant(low)} to {significant(high)} times"
