"""Make the table of docs/compare.md."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import median

from jaxmeter import bytes_text
from studies.harness import Row, measured, read_rows, table

HEADER = (
    "operation", "digits", "threads", "program", "whole process", "compile time", "further set-up",
    "further evaluation", "peak memory", "error",
)  # fmt: skip
_LABELS = HEADER[:4]


def table_of(rows: Sequence[Row]) -> str:
    """Return a Markdown table: medians over the processes of a program, and the largest error."""

    def key(row: Row) -> tuple:
        return tuple(str(row[name]) for name in _LABELS)

    order = list(dict.fromkeys(map(key, rows)))
    groups = itertools.groupby(sorted(rows, key=lambda row: order.index(key(row))), key)
    return table(HEADER, [[*names, *_cells(list(group))] for names, group in groups], left=4)


def _cells(rows: list[Row]) -> list[str]:
    def value(name: str) -> float:
        return median(float(row[name]) for row in rows)

    steady = [value("setup_seconds"), value("evaluation_seconds")]
    compiling = max(0.0, value("first_seconds") - sum(steady))
    errors = [float(row["error_relative"]) for row in rows if row["error_relative"]]
    is_reference = rows[0]["program"] == "C++"
    return [
        f"{value('whole_process_seconds'):.2f} s",
        "" if is_reference else f"{compiling:.2f} s",
        *(f"{seconds:.3f} s" for seconds in steady),
        bytes_text(value("peak_bytes")),
        f"{max(errors):.1e}" if errors else "",
    ]


TABLES = {"compare": lambda: table_of(read_rows(measured("compare", "rows.csv")))}
