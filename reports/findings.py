"""Plain sentences that say what the tables say. Every number in them comes from the tables.

A difference is claimed only where the interval of the paired ratios leaves 1 out; otherwise the
sentence says that none was seen. Where there were too few pairs for a 95 % interval it says that.
"""

import math
from typing import Any

import pandas as pd

from .display import problem_name
from .frames import any_of, groups, rows
from .intervals import COVERAGE_ASKED, FEWEST_FOR_COVERAGE
from .summaries import ARGUMENT, PROBLEM
from .units import bytes_, ratio, scientific, seconds, significant

# Of a ratio to the argument variant: its name in the table, and what it is a ratio of.
COMPILE = ("compile_to_argument", "compiling")
SETTLED = ("settled_to_argument", "the settled run")


def closure_lead(table: pd.DataFrame) -> str:
    """What closing over costs, at the problem with the most captured bytes."""
    chosen = _largest_pair(table)
    if chosen is None:
        return (
            "No closure variant was measured beside an argument variant, so nothing can be said "
            "about the cost of closing over arrays."
        )
    closure, argument = chosen
    spent = (
        f"{seconds(closure['compile_median_seconds'])} against "
        f"{seconds(argument['compile_median_seconds'])}"
    )
    return (
        f"With {_bytes_or(closure['captured_bytes'], 'its arrays')} closed over instead of passed "
        f"as arguments ({problem_name(closure)}), {_ratio_words(closure, *COMPILE)}: {spent}; "
        f"{_ratio_words(closure, *SETTLED)}."
    )


def closure_findings(table: pd.DataFrame) -> list[str]:
    """Cost per captured megabyte, what simplified constants change, what arguments still hold."""
    said = []
    chosen = _largest_pair(table)
    if chosen is not None:
        closure, argument = chosen
        extra = closure["compile_median_seconds"] - argument["compile_median_seconds"]
        megabytes = (closure["captured_bytes"] - argument["captured_bytes"]) / 1e6
        if closure["compile_to_argument_low_ratio"] > 1 and megabytes > 0:
            said.append(
                f"At {problem_name(closure)} that is {seconds(extra / megabytes)} of compile time "
                f"for each captured megabyte ({seconds(extra)} for {significant(megabytes)} MB)."
            )
        said += _other_problems(table, closure) + _simplified(table, closure)
    held = table.loc[table["variant"] == ARGUMENT, "captured_bytes"].dropna()
    if len(held):
        said.append(
            f"The argument variant still captures {bytes_(float(held.max()))} at most, over "
            f"{_counted(len(held), 'problem')}."
        )
    few = min(int(count) for count in table["processes_count"])
    if few < FEWEST_FOR_COVERAGE:
        said.append(_too_few(few))
    return said


def chunk_findings(table: pd.DataFrame) -> list[str]:
    """The fastest cell of each problem, and how far "auto" is from it."""
    said = []
    for _, cells in groups(table, PROBLEM):
        if not any_of(cells["is_fastest"]):
            continue
        best = cells.loc[cells["is_fastest"]].iloc[0]
        sentence = (
            f"{problem_name(best)}: fastest at chunk_size {best['chunk_size']}, target_chunk_size "
            f"{best['target_chunk_size']} with {seconds(best['settled_median_seconds'])}"
            f"{_temporary(best)}; "
        )
        auto = cells.loc[cells["is_auto"]]
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
    sentence = f"{within} of {_counted(total, 'problem')} stay within the 10⁻ᵈ asked"
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


def reference_lead(table: pd.DataFrame) -> str:
    """The range of both speed-ups over all problems, and compile time beside them."""
    return (
        f"One thread each, compile time left out, vcjax evaluates {_span(table, 'evaluation')} as "
        f"fast as the C++ reference, and goes from a new surface to its first field "
        f"{_span(table, 'setup')} as fast (medians of process-by-process ratios; "
        f"{_counted(len(table), 'problem')}, {_processes(table)} each)."
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
            tail = f"paid back after {_counted(int(repaid), 'evaluation')}"
        said.append(f"{problem_name(row)}: tracing and compiling took {seconds(compiled)}, {tail}.")
    return said


def preparation_lead(table: pd.DataFrame) -> str:
    """The seconds to make the smallest and the largest casing."""
    ordered = rows(table.sort_values("casing_bytes"))
    ends = ordered if len(ordered) < 3 else [ordered[0], ordered[-1]]
    told = "; ".join(
        f"{seconds(row['settled_median_seconds'])} for {bytes_(float(row['casing_bytes']))} "
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


def _largest_pair(table: pd.DataFrame) -> tuple[Any, Any] | None:
    """The closure row with the most captured bytes that has an argument row beside it."""
    best = None
    for _, cells in groups(table, PROBLEM):
        by_variant = {row["variant"]: row for row in rows(cells)}
        if "closure" not in by_variant or ARGUMENT not in by_variant:
            continue
        pair = (by_variant["closure"], by_variant[ARGUMENT])
        if best is None or _bytes_of(pair[0]) > _bytes_of(best[0]):
            best = pair
    return best


def _other_problems(table: pd.DataFrame, told: Any) -> list[str]:
    """The compile ratios of the closure at the problems that the lead did not speak of."""
    closures = rows(table.loc[table["variant"] == "closure"])
    parts = [
        f"{problem_name(row)}: {_ratio_range(row, COMPILE[0])}"
        for row in closures
        if problem_name(row) != problem_name(told) and not math.isnan(row[f"{COMPILE[0]}_ratio"])
    ]
    if not parts:
        return []
    return [f"Compile time of closure to argument elsewhere. {'; '.join(parts)}."]


def _simplified(table: pd.DataFrame, closure: Any) -> list[str]:
    simplified = rows(table.loc[table["variant"] == "simplified"])
    row = next((r for r in simplified if problem_name(r) == problem_name(closure)), None)
    if row is None:
        return []
    return [
        f"The same closure with JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1 passes "
        f"{_bytes_or(row.get('hidden_argument_bytes'), 'its arrays')} as hidden arguments and "
        f"embeds {_bytes_or(row.get('embedded_bytes'), 'an unknown number of bytes')}; against "
        f"the argument variant, {_ratio_words(row, *COMPILE)}."
    ]


def _ratio_words(row: Any, stem: str, noun: str) -> str:
    """`compiling takes 5.2 times as long (4.9 to 5.6, 6 pairs)`, or that none was seen."""
    middle, low, high = (row[f"{stem}{part}_ratio"] for part in ("", "_low", "_high"))
    if math.isnan(middle):
        return f"{noun} could not be compared"
    if row[f"{stem}_pairs_count"] > 1 and low <= 1 <= high:
        return f"{noun} shows no difference ({ratio(middle)}; {_range_only(row, stem)})"
    return f"{noun} takes {significant(middle)} times as long ({_range_only(row, stem)})"


def _ratio_range(row: Any, stem: str) -> str:
    return f"{ratio(row[f'{stem}_ratio'])} ({_range_only(row, stem)})"


def _range_only(row: Any, stem: str) -> str:
    pairs = int(row[f"{stem}_pairs_count"])
    if pairs == 1:
        return "one pair, so no interval"
    low, high = (significant(row[f"{stem}_{end}_ratio"]) for end in ("low", "high"))
    doubt = "" if pairs >= FEWEST_FOR_COVERAGE else ", too few to be sure"
    return f"{low} to {high}, {pairs} pairs{doubt}"


def _auto_words(auto: Any) -> str:
    stem = "settled_to_fastest"
    if math.isnan(auto[f"{stem}_ratio"]):
        return '"auto" has no round in common with it.'
    text = (
        f'"auto" takes {seconds(auto["settled_median_seconds"])}{_temporary(auto)}, '
        f"{significant(auto[f'{stem}_ratio'])} times as long ({_range_only(auto, stem)})"
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


def _processes(table: pd.DataFrame) -> str:
    counts = sorted(int(count) for count in table["processes_count"])
    if counts[0] == counts[-1]:
        return _counted(counts[0], "process")
    return f"{counts[0]} to {_counted(counts[-1], 'process')}"


def _too_few(count: int) -> str:
    covered = 100 * (1 - 2.0 ** (1 - count)) if count else 0
    return (
        f"Some cells have {_counted(count, 'process')} only: a range then holds the true median "
        f"with {covered:.0f} % probability, not {100 * COVERAGE_ASKED:.0f} %, so small differences "
        f"prove nothing; {FEWEST_FOR_COVERAGE} processes are enough."
    )


def _counted(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def _bytes_of(row: Any) -> float:
    value = row["captured_bytes"]
    return -1.0 if pd.isna(value) else float(value)


def _bytes_or(value: Any, otherwise: str) -> str:
    return otherwise if value is None or pd.isna(value) else bytes_(float(value))
