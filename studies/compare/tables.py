"""Make the tables of docs/compare.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd

from jaxmeter import bytes_text
from studies.harness import Row, measured, read_rows, table

_CASE = "operation", "digits", "threads"
# Digits that the tables show. The table of equal errors also shows other digits of vcjax.
_DIGITS = "3", "6", "9", "12"
HEADER = (
    *_CASE, "whole process", "with the cache", "whole C++", "compile time",
    "set-up and evaluation", "set-up and evaluation in C++", "further evaluation",
    "evaluation in C++", "peak memory", "memory of C++", "error", "error of C++",
)  # fmt: skip
EQUAL_ERRORS = (
    "operation", "digits of C++", "threads", "error of C++", "digits of vcjax", "error",
    "set-up and evaluation", "further evaluation",
)  # fmt: skip
_STEADY = "setup_and_evaluation_seconds", "evaluation_seconds"


def table_of(rows: Sequence[Row]) -> str:
    """Return a table of the rows of one processor: medians over processes, and largest errors."""
    cases = _numbers(rows).groupby(list(_CASE), sort=False)
    lines = [[*case, *_cells(numbers.droplevel(_CASE))] for case, numbers in cases]
    return table(HEADER, lines, left=3)


def equal_errors(rows: Sequence[Row]) -> str:
    """Return a table that compares C++ with vcjax at equal errors, from the rows of one processor.

    For each row of C++ at one of `_DIGITS`, find the rows of vcjax with an equal or smaller error.
    Of these rows, use the row with the fewest digits. If there are no such rows, leave out the row
    of C++. The times are ratios of C++ to vcjax.
    """
    numbers, lines = _numbers(rows), []
    ours, reference = (numbers.xs(program, level="program") for program in ("vcjax", "C++"))
    for (operation, digits, threads), cpp in reference.iterrows():
        alike = ours.xs((operation, threads), level=("operation", "threads"))
        enough = alike[alike["error_relative"] <= cpp["error_relative"]]
        if digits in _DIGITS and len(enough):
            fewest = min(enough.index, key=int)
            found = enough.loc[fewest]
            cells = f"{cpp['error_relative']:.1e}", fewest, f"{found['error_relative']:.1e}"
            ratios = (f"{cpp[name] / found[name]:.1f}" for name in _STEADY)
            lines.append([operation, digits, threads, *cells, *ratios])
    return table(EQUAL_ERRORS, lines, left=3)


def factors(rows: Sequence[Row]) -> str:
    """Return a Markdown table of factors, by processor, number of threads and operation.

    A factor is the time of a further evaluation in C++, divided by the time in vcjax. Each cell
    has the least and the largest factor over all digits.
    """
    names, lines = ["B", "grad B", "off surface"], []
    for processor in dict.fromkeys(row["processor"] for row in rows):
        numbers = _numbers([row for row in rows if row["processor"] == processor])
        times = numbers["evaluation_seconds"].unstack("program")
        found = (times["C++"] / times["vcjax"]).groupby(["threads", "operation"])
        ends = found.agg(["min", "max"]).apply("{0[min]:.1f} to {0[max]:.1f}".format, axis=1)
        lines += [(processor, *line) for line in ends.unstack()[names].itertuples()]
    return table(("processor", "threads", *names), lines, left=2)


def _numbers(rows: Sequence[Row]) -> Any:
    """Return, for each case and program, medians over processes and the largest error."""
    frame: Any = pd.DataFrame(rows)
    names = ["whole_process_seconds", "first_seconds", *_STEADY, "peak_bytes", "error_relative"]
    keys = [frame[name].astype(str) for name in (*_CASE, "program")]
    groups = frame[names].apply(pd.to_numeric).groupby(keys, sort=False)
    return groups.median().assign(error_relative=groups["error_relative"].max())


def _cells(numbers: Any) -> list[str]:
    """Return the table's cells for a case; `numbers` has a row for each program."""
    every = numbers.reindex(["vcjax", "vcjax, cached", "C++"])
    both = every.loc[["vcjax", "C++"]]
    compiling = (every["first_seconds"] - every[_STEADY[0]]).clip(lower=0.0)
    return [
        *_texts(every["whole_process_seconds"], "{:.2f} s".format),
        *_texts(compiling[:1], "{:.2f} s".format),
        *(text for name in _STEADY for text in _texts(both[name], "{:.3f} s".format)),
        *_texts(both["peak_bytes"], bytes_text),
        *_texts(both["error_relative"], "{:.1e}".format),
    ]


def _texts(values: Any, write: Callable[[float], str]) -> list[str]:
    return ["" if pd.isna(value) else write(value) for value in values]


def by_processor(rows: Sequence[Row]) -> dict[str, str]:
    """Return the table of each processor (see `table_of`), by the name of the processor."""
    names = dict.fromkeys(row["processor"] for row in rows)
    return {name: table_of([row for row in rows if row["processor"] == name]) for name in names}


def _rows(processor: str) -> list[Row]:
    rows = read_rows(measured("compare", "rows.csv"))
    return [row for row in rows if processor in row["processor"]]


def _main_table(processor: str) -> str:
    return table_of([row for row in _rows(processor) if row["digits"] in _DIGITS])


def _equal_errors(processor: str) -> str:
    return equal_errors(_rows(processor))


TABLES = {
    **{f"compare {name}": partial(_main_table, name) for name in ("Zen 5", "Intel", "Zen 3")},
    "compare factors": lambda: factors([row for row in _rows("") if row["digits"] in _DIGITS]),
    **{f"compare equal errors {name}": partial(_equal_errors, name) for name in ("Zen 5", "Intel")},
}
