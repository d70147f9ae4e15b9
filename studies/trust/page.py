"""Make the tables of docs/trust.md from the committed rows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from studies.harness import measured, table
from studies.trust.exact import found_table
from studies.trust.measure import EQUAL
from studies.trust.verdicts import PROCESSES

CONDITIONS = ("quiet", "loaded")
SINGLE = "one function per process"


def rows_of(file: str, **wanted: object) -> pd.DataFrame:
    """Return the rows with the wanted values from a committed file."""
    rows = pd.read_csv(measured("trust", file))
    for name, value in wanted.items():
        rows = rows.loc[rows[name] == value]
    return rows


def found(column: str = "different", **wanted: Any) -> str:
    """Return text such as "3 of 40": the sum of a column of counts, and the number of pairs.

    Only rows with the values `wanted` are included. If there are no such rows, return "".
    """
    rows = rows_of("samples.csv" if "design" in wanted else "verdicts.csv", **wanted)
    return f"{rows[column].sum()} of {rows['pairs'].sum()}" if len(rows) else ""


def equal(**wanted: Any) -> list[str]:
    """Return the result of `found` for equal functions, for each of `CONDITIONS`."""
    return [found(condition=condition, study=EQUAL, **wanted) for condition in CONDITIONS]


def equal_functions() -> str:
    """Return a table of the verdicts on equal functions, based on all times in `jaxmeter.TIMES`."""
    columns = ["pairs", "same", "inconclusive", "different"]
    rows = rows_of("verdicts.csv", study=EQUAL, has_phases=True, processes=6)
    counts = rows.set_index("condition").loc[list(CONDITIONS), columns]
    counts.loc["both"] = counts.sum()
    return table(("", *columns), counts.itertuples())


def fewer_processes() -> str:
    """Return a table of how often equal functions are judged "different", by process count."""
    lines = [(count, *equal(has_phases=True, processes=count)) for count in (6, 4, 3)]
    return table(("processes", *CONDITIONS), lines)


def designs() -> str:
    """Return a table of the false alarms of each design of a comparison.

    A false alarm is a difference reported between equal functions. Only the steady-state time is
    compared.
    """
    one_side = "interleaved, all ratios on one side of 1, median beyond 3 %"
    two = "samples, two processes"
    lines = (
        ("`jaxmeter compare`", 6, {"column": "steady_different"}),
        (one_side, 6, {"column": "steady_one_side"}),
        (one_side, 3, {"column": "steady_one_side"}),
        ("interleaved, Mann-Whitney test of the samples", 1, {"design": "samples, interleaved"}),
        ("one function per process, Mann-Whitney test", 2, {"design": two}),
        ("the same test, and medians more than 3 % apart", 2, {"design": f"{two}, 3 %"}),
    )
    shown = [(name, count, *equal(processes=count, **wanted)) for name, count, wanted in lines]
    return table(("design", "processes", *CONDITIONS), shown)


def injected_effects() -> str:
    """Return a table of how often injected effects are found, by size and number of processes."""
    groups = (("quiet", 0.2), ("quiet", 0.1), ("quiet", 0.05), ("quiet", 0.03), ("loaded", 0.1))
    lines = [
        (f"{100 * effect:g} %, {condition}", {"condition": condition, "effect": effect})
        for condition, effect in groups
    ]
    name, wanted = lines[1]
    lines.append((f"{name}, {SINGLE}", {**wanted, "design": SINGLE}))
    shown = [
        (name, *(found(study="injected", processes=count, **wanted) for count in PROCESSES))
        for name, wanted in lines
    ]
    return table(("injected", "3 processes", "4", "6", "8"), shown)


def hoisting_seconds() -> str:
    """Return a table of the least and largest compile time for each form of a function."""
    ends = rows_of("hoisting.csv").agg(["min", "max"])
    lines = [
        (form.replace("_", " "), *(f"{seconds:.2g} s" for seconds in ends[f"{form}_seconds"]))
        for form in ("captured", "hoisted", "by_hand")
    ]
    lines.append(("hoisted / by hand", *(f"{ratio:.2f}" for ratio in ends["ratio"])))
    return table(("trace, lower, compile", "least", "largest"), lines)


TABLES = {
    "trust equal": equal_functions,
    "trust processes": fewer_processes,
    "trust designs": designs,
    "trust injected": injected_effects,
    "trust exact": lambda: found_table(measured("trust", "exact.csv")),
    "trust hoisting": hoisting_seconds,
}
