"""Put numbers into words for the sentences of sections.

A ratio compares processes that are paired by round. With two or more pairs, a phrase states a
difference only if the interval of the ratio does not contain 1. A phrase has a note if there are
too few pairs for a 95 % interval.
"""

import math
from typing import Any

import pandas as pd

from jaxmeter import MEDIAN_COVERAGE, MIN_VALUES_COUNT

from ..units import counted, ratio, significant


def processes(table: pd.DataFrame) -> str:
    """Return the number of processes per row as a phrase: `6 processes` or `5 to 6 processes`."""
    counts = sorted(int(count) for count in table["processes_count"])
    if counts[0] == counts[-1]:
        return counted(counts[0], "process")
    return f"{counts[0]} to {counted(counts[-1], 'process')}"


def ratio_words(row: Any, stem: str, noun: str) -> str:
    """Return a phrase such as `compiling takes 5.20 times as long (4.90 to 5.60, 6 pairs)`."""
    middle, low, high = (row[f"{stem}{part}_ratio"] for part in ("", "_low", "_high"))
    if math.isnan(middle):
        return f"{noun} could not be compared"
    if row[f"{stem}_pairs_count"] > 1 and low <= 1 <= high:
        return f"{noun} shows no difference ({ratio(middle)}; {range_only(row, stem)})"
    return f"{noun} takes {significant(middle)} times as long ({range_only(row, stem)})"


def ratio_range(row: Any, stem: str) -> str:
    """Return a phrase such as `2.41× (2.30 to 2.60, 6 pairs)`, or `not compared`."""
    middle = row[f"{stem}_ratio"]
    return "not compared" if math.isnan(middle) else f"{ratio(middle)} ({range_only(row, stem)})"


def range_only(row: Any, stem: str) -> str:
    """Return a phrase such as `2.30 to 2.60, 6 pairs`, or `one pair, inconclusive`."""
    pairs = int(row[f"{stem}_pairs_count"])
    if pairs == 1:
        return "one pair, inconclusive"
    low, high = (significant(row[f"{stem}_{end}_ratio"]) for end in ("low", "high"))
    doubt = "" if pairs >= MIN_VALUES_COUNT else ", too few to be certain"
    return f"{low} to {high}, {pairs} pairs{doubt}"


def too_few(table: pd.DataFrame) -> list[str]:
    """Return a warning if a case has too few processes for a 95 % interval, else an empty list."""
    count = min((int(n) for n in table["processes_count"]), default=MIN_VALUES_COUNT)
    if count >= MIN_VALUES_COUNT:
        return []
    enough = f"{MIN_VALUES_COUNT} processes are enough."
    if count == 1:
        return ["Some cases have only one process, so differences are inconclusive; " + enough]
    covered = 100 * (1 - 2.0 ** (1 - count))
    return [
        f"Some cases have only {counted(count, 'process')}. Their intervals contain the true "
        f"median with {covered:.0f} % probability, not {100 * MEDIAN_COVERAGE:.0f} %, so small "
        f"differences are inconclusive; {enough}"
    ]
