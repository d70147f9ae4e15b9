"""The values that asv stored for the commit."""

from collections.abc import Sequence

import pandas as pd

from ..document.section import Section
from ..document.table import Cell, Column, count, row_head, table
from ..quantities import Row
from ..units import bytes_, scientific, seconds

# How a value is printed, by its unit in asv.
PRINTED = {"seconds": seconds, "bytes": bytes_, "1": scientific}


def section(stored: pd.DataFrame) -> Section:
    measured = stored.loc[stored["value"].notna()]
    columns = (
        row_head("Benchmark", lambda row: row["benchmark"], lambda row: row["parameters"]),
        Column("Value", _values, "Median of the process medians, or the number itself"),
        count("Processes", "samples_count", "Process medians that asv stored"),
    )
    made = table(measured, columns, "asv", "Values in asv's results")
    return Section(
        "asv",
        "Values in asv",
        f"asv stores {len(measured)} values of this commit, in {stored['benchmark'].nunique()} "
        f"benchmarks; {len(stored) - len(measured)} combinations of the full grid were not "
        "measured in this run.",
        tables=(made,) if len(measured) else (),
    )


def _values(found: Sequence[Row]) -> list[Cell]:
    return [
        Cell(PRINTED.get(unit, str)(value), exact=f"{value!r} {unit}", order=value)
        for value, unit in ((row["value"], row["unit"]) for row in found)
    ]
