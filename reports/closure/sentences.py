"""Write sentences on closing over arrays, with all numbers from the tables."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..document.table import problem_name
from ..document.words import ratio_range, ratio_words, too_few
from ..quantities import Row
from ..tables import groups, row_of_largest, rows
from ..units import bytes_, counted, scientific, seconds, significant
from .summaries import (
    ARGUMENT,
    LARGE_BYTES,
    PROBLEM,
    extra_seconds,
    published_seconds_per_megabyte,
    row_of,
    slope,
    variant_name,
)

COMPILING, STEADY = "trace_lower_compile_to_argument", "steady_to_argument"
NOTHING = (
    "No closure variant was measured next to an argument variant, so nothing can be said about "
    "the cost of closing over arrays."
)


def lead(cases: pd.DataFrame) -> str:
    """Return a sentence on the cost of closing over the arrays of the largest problem."""
    pair = _largest_pair(cases)
    if pair is None:
        return NOTHING
    closure, _ = pair
    medians = ""
    # A process without a partner in its round affects a median, but not the ratio of the pairs.
    # The medians could then contradict the ratio, so they are left out.
    if all(row["processes_count"] == closure[f"{COMPILING}_pairs_count"] for row in pair):
        times = (seconds(row["trace_lower_compile_median_seconds"]) for row in pair)
        medians = f", with medians of {' against '.join(times)}"
    captured = _number(closure, "captured_bytes", math.nan)
    held = "an unknown number of bytes" if math.isnan(captured) else bytes_(captured)
    return (
        f"If {held} are closed over instead of passed as arguments ({problem_name(closure)}), "
        f"{ratio_words(closure, COMPILING, 'compiling')}{medians}; "
        f"{ratio_words(closure, STEADY, 'the steady-state run')}."
    )


def sentences(cases: pd.DataFrame) -> list[str]:
    """Return sentences on captured bytes, times, cost per megabyte and different results."""
    kinds = (_captured, _ratios, _slope, _differences)
    return [sentence for kind in kinds for sentence in kind(cases)] + too_few(cases)


def _largest_pair(cases: pd.DataFrame) -> list[Row] | None:
    """Return the closure row and the argument row of one problem; None if no problem has both.

    If several problems have both rows, take the problem with the most `captured_bytes` in its
    closure row.
    """
    by_size = cases.sort_values("captured_bytes", ascending=False, na_position="last")
    for closure in rows(by_size.loc[by_size["variant"] == "closure"]):
        argument = row_of(_same_problem(cases, closure), ARGUMENT)
        if argument is not None:
            return [closure, argument]
    return None


def _same_problem(cases: pd.DataFrame, row: Row) -> pd.DataFrame:
    return cases.loc[[problem_name(other) == problem_name(row) for other in rows(cases)]]


def _captured(cases: pd.DataFrame) -> Iterator[str]:
    """Compare the captured bytes of each closure with its workload's arrays.

    Each closure should capture the bytes of these arrays. In addition, it may capture the
    bytes that the argument variant captures. Yield a sentence for each closure that captures
    another number of bytes. If there is no such closure, yield one sentence on all closures.
    """
    are_exact, shared = [], 0.0
    for row in rows(cases.loc[cases["variant"] == "closure"]):
        arrays = _number(row, "casing_bytes", _number(row, "system_bytes", math.nan))
        more = _number(row, "captured_bytes", math.nan) - arrays
        argument = row_of(_same_problem(cases, row), ARGUMENT)
        allowed = 0.0 if argument is None else _number(argument, "captured_bytes", 0.0)
        if math.isnan(more):
            continue
        are_exact.append(more in (0.0, allowed))
        shared = max(shared, more)
        if not are_exact[-1]:
            yield (
                f"At {problem_name(row)} the closure captures {bytes_(abs(more))} "
                f"{'more' if more > 0 else 'less'} than its workload's arrays."
            )
    if are_exact and all(are_exact):
        tail = f", plus at most {bytes_(shared)} that the argument variant captures too"
        said = "Each closure captures exactly the bytes of its workload's arrays"
        yield f"{said}{tail if shared else ''}."


def _ratios(cases: pd.DataFrame) -> Iterator[str]:
    """Yield, for each problem, sentences that compare its variants with the argument variant."""
    for key, problem in groups(cases, PROBLEM):
        others = rows(problem.loc[problem["variant"] != ARGUMENT])
        if row_of(problem, ARGUMENT) is None or not others:
            continue
        said = f"{problem_name(key)}, compile time against the argument variant: "
        said += f"{_ratios_of(others, COMPILING)}."
        different = [row for row in others if _is_steady_different(row)]
        if different:
            said += f" The steady-state run differs: {_ratios_of(different, STEADY)}."
        yield said


def _ratios_of(others: list[Row], stem: str) -> str:
    return ", ".join(f"{variant_name(row['variant'])} {ratio_range(row, stem)}" for row in others)


def _is_steady_different(row: Row) -> bool:
    low, high = (row[f"{STEADY}_{end}_ratio"] for end in ("low", "high"))
    return row[f"{STEADY}_pairs_count"] > 1 and not low <= 1 <= high


def _slope(cases: pd.DataFrame) -> Iterator[str]:
    points = extra_seconds(cases)
    cost = slope(points["extra_bytes"], points["extra_seconds"])
    if cost <= 0:
        yield "The cost of embedding is within the noise of the compile time."
    elif not math.isnan(cost):
        large = points.loc[points["extra_bytes"] >= LARGE_BYTES]
        yield (
            f"Each embedded megabyte adds {significant(1e3 * cost)} ms of compile time "
            f"(fit to the {len(large)} of {counted(len(points), 'case')} that embed 1 MB or more; "
            f"published: {significant(1e3 * published_seconds_per_megabyte())} ms)."
        )


def _differences(cases: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence on the largest differences between variants in rate maps and in counts."""
    row = row_of_largest(cases, "rate_difference_relative")
    if row is not None:
        difference = row["rate_difference_relative"]
        pixels = (cases["differing_pixels_count"] / cases["size"] ** 2).max()
        yield (
            f"Rate maps of all variants agree within {scientific(difference)} of their maximum (a "
            "case above 1e−5 fails). If counts are drawn from the rate maps with the same key, at "
            f"most {100 * pixels:.2g} % of the counts differ, because the last digit of a rate may "
            "change a draw."
        )


def _number(row: Any, name: str, otherwise: float) -> float:
    value = row.get(name)
    return otherwise if value is None or pd.isna(value) else float(value)
