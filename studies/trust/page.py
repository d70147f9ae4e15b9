"""The tables of docs/trust.md, from the committed rows."""

from __future__ import annotations

from studies.harness import Row, measured, read_rows, table
from studies.trust import exact, hoisting
from studies.trust.pairs import EQUAL

CONDITIONS = ("quiet", "loaded")


def found(column: str, file: str = "verdicts.csv", **wanted: object) -> str:
    """Return "how many of how many pairs" of a column; empty where no pair was measured."""
    rows = rows_of(file, **wanted)
    counts = [sum(int(row[name]) for row in rows) for name in (column, "pairs")]
    return f"{counts[0]} of {counts[1]}" if rows else ""


def rows_of(file: str, **wanted: object) -> list[Row]:
    """Return the rows with these values."""
    rows = read_rows(measured("trust", file))
    return [row for row in rows if all(row[name] == str(value) for name, value in wanted.items())]


def equal_functions() -> str:
    """Return the verdicts of equal functions, by all four times."""
    lines, columns = [], ("pairs", "same", "inconclusive", "different")
    for condition in CONDITIONS:
        (row,) = rows_of(
            "verdicts.csv", condition=condition, study=EQUAL, has_phases=True, processes=6
        )
        lines.append([int(row[name]) for name in columns])
    lines.append([sum(pair) for pair in zip(*lines, strict=True)])
    names = (*CONDITIONS, "both")
    return table(("", *columns), [(name, *line) for name, line in zip(names, lines, strict=True)])


def fewer_processes() -> str:
    """Return how often equal functions are called different, by number of processes."""
    counts = (6, 4, 3)
    lines = [(count, *equal("different", has_phases=True, processes=count)) for count in counts]
    return table(("processes", *CONDITIONS), lines)


def designs() -> str:
    """Return how often each design calls the steady-state times of equal functions different."""
    one_side = "interleaved, all ratios on one side, 3 %"
    lines = [
        ("`jaxmeter compare`", 6, *equal("steady_different", processes=6)),
        (one_side, 6, *equal("steady_one_side", processes=6)),
        (one_side, 3, *equal("steady_one_side", processes=3)),
    ]
    for name, design, count in (
        ("interleaved, Mann-Whitney test of the samples", "samples, interleaved", 1),
        ("one function each, Mann-Whitney test", "samples, two processes", 2),
        ("the same, and medians 3 % apart", "samples, two processes, 3 %", 2),
    ):
        lines.append((name, count, *equal("different", "samples.csv", design=design)))
    return table(("called different by", "processes", *CONDITIONS), lines)


def equal(column: str, file: str = "verdicts.csv", **wanted: object) -> list[str]:
    """Return `found` of equal functions in each condition."""
    return [found(column, file, condition=c, study=EQUAL, **wanted) for c in CONDITIONS]


def injected_effects() -> str:
    """Return how often an injected effect is found, by its size and the number of processes."""
    counts = (3, 4, 6, 8)
    groups = (("quiet", 0.2), ("quiet", 0.1), ("quiet", 0.05), ("quiet", 0.03), ("loaded", 0.1))
    lines = []
    for condition, effect in groups:
        shown = {"condition": condition, "study": "injected", "effect": effect}
        cells = [found("different", processes=count, **shown) for count in counts]
        lines.append((f"{100 * effect:g} %, {condition}", *cells))
    shown = {"condition": "quiet", "study": "injected", "effect": 0.1}
    single = {"file": "samples.csv", "design": "one function per process"}
    cells = [found("different", processes=count, **single, **shown) for count in counts]
    lines.append(("10 %, quiet, one function per process", *cells))
    return table(("injected", "3 processes", "4", "6", "8"), lines)


TABLES = {
    "trust equal": equal_functions,
    "trust processes": fewer_processes,
    "trust designs": designs,
    "trust injected": injected_effects,
    "trust exact": lambda: exact.found_table(read_rows(measured("trust", "exact.csv"))),
    "trust hoisting": hoisting.seconds_table,
}
