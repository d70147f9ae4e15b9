"""Words for numbers, shared by all sentences."""

import math
from typing import Any

import pandas as pd

from jaxmeter import MEDIAN_COVERAGE, MIN_VALUES_COUNT

from ..units import bytes_, ratio, significant


def counted(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def processes(table: pd.DataFrame) -> str:
    counts = sorted(int(count) for count in table["processes_count"])
    if counts[0] == counts[-1]:
        return counted(counts[0], "process")
    return f"{counts[0]} to {counted(counts[-1], 'process')}"


def bytes_or(value: Any, otherwise: str) -> str:
    return otherwise if value is None or pd.isna(value) else bytes_(float(value))


def ratio_words(row: Any, stem: str, noun: str) -> str:
    """`compiling takes 5.2 times as long (4.9 to 5.6, 6 pairs)`, or that none was seen."""
    middle, low, high = (row[f"{stem}{part}_ratio"] for part in ("", "_low", "_high"))
    if math.isnan(middle):
        return f"{noun} could not be compared"
    if row[f"{stem}_pairs_count"] > 1 and low <= 1 <= high:
        return f"{noun} shows no difference ({ratio(middle)}; {range_only(row, stem)})"
    return f"{noun} takes {significant(middle)} times as long ({range_only(row, stem)})"


def ratio_range(row: Any, stem: str) -> str:
    return f"{ratio(row[f'{stem}_ratio'])} ({range_only(row, stem)})"


def range_only(row: Any, stem: str) -> str:
    pairs = int(row[f"{stem}_pairs_count"])
    if pairs == 1:
        return "one pair, which may be chance"
    low, high = (significant(row[f"{stem}_{end}_ratio"]) for end in ("low", "high"))
    doubt = "" if pairs >= MIN_VALUES_COUNT else ", too few to be sure"
    return f"{low} to {high}, {pairs} pairs{doubt}"


def too_few(count: int) -> str:
    if count == 1:
        return (
            "Some cases have one process only: nothing then tells a difference from chance; "
            f"{MIN_VALUES_COUNT} processes are enough."
        )
    covered = 100 * (1 - 2.0 ** (1 - count))
    return (
        f"Some cases have {counted(count, 'process')} only: a range then holds the true median "
        f"with {covered:.0f} % probability, not {100 * MEDIAN_COVERAGE:.0f} %, so small "
        f"differences prove nothing; {MIN_VALUES_COUNT} processes are enough."
    )
