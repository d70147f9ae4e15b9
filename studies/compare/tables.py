"""Make the tables of docs/compare.md."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median

from jaxmeter import bytes_text
from studies.harness import Row, measured, read_rows, table

_CASE = "operation", "digits", "threads"
# Digits in the tables of all times. The table of equal errors uses further digits.
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
    """Return a Markdown table: medians over the processes of a program, and the largest error.

    Parameters
    ----------
    rows : measured on one processor.
    """
    lines = [[*case, *_cells(programs)] for case, programs in _cases(rows).items()]
    return table(HEADER, lines, left=3)


def equal_errors(rows: Sequence[Row]) -> str:
    """Return a Markdown table that compares programs at equal errors.

    Each row of C++ is compared with the fewest digits at which the error of vcjax is not larger.

    Parameters
    ----------
    rows : measured on one processor.
    """
    lines = []
    for case, programs in _cases(rows).items():
        operation, digits, threads = case
        if digits not in _DIGITS:
            continue
        error = _of(programs, "C++", "error_relative")
        enough = [
            (int(other[1]), found)
            for other, found in _cases(rows).items()
            if (other[0], other[2]) == (operation, threads)
            and _of(found, "vcjax", "error_relative") <= error
        ]
        if enough:
            fewest, found = min(enough, key=lambda one: one[0])
            ratios = (_of(programs, "C++", n) / _of(found, "vcjax", n) for n in _STEADY)
            ours = _of(found, "vcjax", "error_relative")
            cells = f"{error:.1e}", fewest, f"{ours:.1e}", *(f"{ratio:.1f}" for ratio in ratios)
            lines.append([operation, digits, threads, *cells])
    return table(EQUAL_ERRORS, lines, left=3)


def factors(rows: Sequence[Row]) -> str:
    """Return a Markdown table: the time of a further evaluation in C++ over its time in vcjax.

    Each cell has the least and the largest factor of all digits.
    """
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for processor in dict.fromkeys(row["processor"] for row in rows):
        of_processor = [row for row in rows if row["processor"] == processor]
        for (operation, _, threads), programs in _cases(of_processor).items():
            times = [_of(programs, name, "evaluation_seconds") for name in ("C++", "vcjax")]
            if times[0] == times[0]:
                line = found.setdefault((processor, threads), {})
                line.setdefault(operation, []).append(times[0] / times[1])
    names = "B", "grad B", "off surface"
    lines = [
        [*case, *(f"{min(line[name]):.1f} to {max(line[name]):.1f}" for name in names)]
        for case, line in found.items()
    ]
    return table(("processor", "threads", *names), lines, left=2)


def _cases(rows: Sequence[Row]) -> dict[tuple[str, ...], dict[str, list[Row]]]:
    """Return the rows by operation, digits and threads, and then by program."""
    cases: dict[tuple[str, ...], dict[str, list[Row]]] = {}
    for row in rows:
        programs = cases.setdefault(tuple(str(row[name]) for name in _CASE), {})
        programs.setdefault(row["program"], []).append(row)
    return cases


def _of(programs: dict[str, list[Row]], program: str, name: str) -> float:
    found = [row[name] for row in programs.get(program, ()) if row[name] not in ("", None)]
    combine = max if name == "error_relative" else median
    return combine(map(float, found)) if found else float("nan")


def _cells(programs: dict[str, list[Row]]) -> list[str]:
    of = partial(_of, programs)

    def seconds(program: str, name: str, places: int) -> str:
        return _text(of(program, name), lambda value: f"{value:.{places}f} s")

    ours, reference = "vcjax", "C++"
    compiling = of(ours, "first_seconds") - of(ours, _STEADY[0])
    return [
        *(seconds(name, "whole_process_seconds", 2) for name in (ours, "vcjax, cached", reference)),
        _text(compiling, lambda value: f"{max(0.0, value):.2f} s"),
        *(seconds(name, time, 3) for time in _STEADY for name in (ours, reference)),
        *(_text(of(name, "peak_bytes"), bytes_text) for name in (ours, reference)),
        *(_text(of(name, "error_relative"), "{:.1e}".format) for name in (ours, reference)),
    ]


def _text(value: float, write) -> str:
    return "" if value != value else write(value)


def by_processor(rows: Sequence[Row]) -> dict[str, str]:
    """Return a table for each processor."""
    names = dict.fromkeys(row["processor"] for row in rows)
    return {name: table_of([row for row in rows if row["processor"] == name]) for name in names}


def _rows(processor: str) -> list[Row]:
    rows = read_rows(measured("compare", "rows.csv"))
    return [row for row in rows if processor in row["processor"]]


def _main_table(processor: str) -> str:
    return table_of([row for row in _rows(processor) if row["digits"] in _DIGITS])


TABLES = {
    **{f"compare {name}": partial(_main_table, name) for name in ("Zen 5", "Intel", "Zen 3")},
    "compare factors": lambda: factors([row for row in _rows("") if row["digits"] in _DIGITS]),
    "compare equal errors": lambda: equal_errors(_rows("Intel")),
}
