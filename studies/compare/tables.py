"""Make the tables of docs/compare.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median

from jaxmeter import bytes_text
from studies.harness import Row, measured, read_rows, table

_CASE = "operation", "digits", "threads"
HEADER = (
    *_CASE, "whole process", "with the cache", "whole C++", "compile time", "further set-up",
    "further evaluation", "evaluation in C++", "peak memory", "memory of C++", "error",
    "error of C++",
)  # fmt: skip


def table_of(rows: Sequence[Row]) -> str:
    """Return a Markdown table: medians over the processes of a program, and the largest error.

    Parameters
    ----------
    rows : measured on one processor.
    """
    cases: dict[tuple, dict[str, list[Row]]] = {}
    for row in rows:
        programs = cases.setdefault(tuple(str(row[name]) for name in _CASE), {})
        programs.setdefault(row["program"], []).append(row)
    return table(HEADER, [[*case, *_cells(programs)] for case, programs in cases.items()], left=3)


def _cells(programs: dict[str, list[Row]]) -> list[str]:
    def of(program: str, name: str) -> float:
        found = [row[name] for row in programs.get(program, ()) if row[name] not in ("", None)]
        combine = max if name == "error_relative" else median
        return combine(map(float, found)) if found else float("nan")

    def seconds(program: str, name: str, places: int) -> str:
        return _text(of(program, name), lambda value: f"{value:.{places}f} s")

    ours, reference = "vcjax", "C++"
    steady = [of(ours, name) for name in ("setup_seconds", "evaluation_seconds")]
    compiling = of(ours, "first_seconds") - sum(steady)
    return [
        *(seconds(name, "whole_process_seconds", 2) for name in (ours, "vcjax, cached", reference)),
        _text(compiling, lambda value: f"{max(0.0, value):.2f} s"),
        seconds(ours, "setup_seconds", 3),
        *(seconds(name, "evaluation_seconds", 3) for name in (ours, reference)),
        *(_text(of(name, "peak_bytes"), bytes_text) for name in (ours, reference)),
        *(_text(of(name, "error_relative"), "{:.1e}".format) for name in (ours, reference)),
    ]


def _text(value: float, write) -> str:
    return "" if value != value else write(value)


def by_processor(rows: Sequence[Row]) -> dict[str, str]:
    """Return a table for each processor."""
    names = dict.fromkeys(row["processor"] for row in rows)
    return {name: table_of([row for row in rows if row["processor"] == name]) for name in names}


def _on(maker: str) -> str:
    found = by_processor(read_rows(measured("compare", "rows.csv")))
    (text,) = (text for name, text in found.items() if name.startswith(maker))
    return text


TABLES = {f"compare {name}": partial(_on, name) for name in ("Intel", "AMD")}
