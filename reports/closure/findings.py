"""Plain sentences on closing over arrays. Every number in them comes from the tables."""

import math
from typing import Any

import pandas as pd

from jaxmeter import MIN_VALUES_COUNT

from ..document.table import problem_name
from ..document.words import bytes_or, counted, ratio_range, ratio_words, too_few
from ..frames import groups, rows
from ..sections.summaries import ARGUMENT, PROBLEM
from ..units import bytes_, seconds, significant

# Of a ratio to the argument variant: its name in the table, and what it is a ratio of.
COMPILE = ("compile_to_argument", "compiling")
SETTLED = ("steady_to_argument", "the steady-state run")


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
        f"With {bytes_or(closure['captured_bytes'], 'its arrays')} closed over instead of passed "
        f"as arguments ({problem_name(closure)}), {ratio_words(closure, *COMPILE)}: {spent}; "
        f"{ratio_words(closure, *SETTLED)}."
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
    said += _to_the_byte(table)
    held = table.loc[table["variant"] == ARGUMENT, "captured_bytes"].dropna()
    if len(held):
        said.append(
            f"The argument variant still captures {bytes_(float(held.max()))} at most, over "
            f"{counted(len(held), 'problem')}."
        )
    few = min(int(count) for count in table["processes_count"])
    if few < MIN_VALUES_COUNT:
        said.append(too_few(few))
    return said


def _largest_pair(table: pd.DataFrame) -> tuple[Any, Any] | None:
    """The closure row with the most captured bytes that has an argument row beside it."""
    best = None
    for _, cases in groups(table, PROBLEM):
        by_variant = {row["variant"]: row for row in rows(cases)}
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
        f"{problem_name(row)}: {ratio_range(row, COMPILE[0])}"
        for row in closures
        if problem_name(row) != problem_name(told) and not math.isnan(row[f"{COMPILE[0]}_ratio"])
    ]
    if not parts:
        return []
    return [f"Compile time of closure to argument elsewhere. {'; '.join(parts)}."]


def _to_the_byte(table: pd.DataFrame) -> list[str]:
    """Whether the closures capture the casing's arrays and nothing else."""
    closures = rows(table.loc[table["variant"] == "closure"])
    pairs = [(row["captured_bytes"], row.get("casing_bytes")) for row in closures]
    more = [int(a) - int(b) for a, b in pairs if not (pd.isna(a) or b is None or pd.isna(b))]
    if not more:
        return []
    if any(more):
        return [
            f"The closure captures up to {bytes_(max(more, key=abs))} more than the arrays of the "
            f"casing ({sum(difference == 0 for difference in more)} of "
            f"{counted(len(more), 'problem')} agree to the byte)."
        ]
    return ["What the closure captures is the arrays of the casing, to the byte."]


def _simplified(table: pd.DataFrame, closure: Any) -> list[str]:
    simplified = rows(table.loc[table["variant"] == "simplified"])
    row = next((r for r in simplified if problem_name(r) == problem_name(closure)), None)
    if row is None:
        return []
    return [
        f"The same closure with JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1 passes "
        f"{bytes_or(row.get('hidden_argument_bytes'), 'its arrays')} as hidden arguments and "
        f"embeds {bytes_or(row.get('embedded_bytes'), 'an unknown number of bytes')}; against "
        f"the argument variant, {ratio_words(row, *COMPILE)}."
    ]


def _bytes_of(row: Any) -> float:
    value = row["captured_bytes"]
    return -1.0 if pd.isna(value) else float(value)
