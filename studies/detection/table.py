"""The runs of the detection study: what was found, and what is a false alarm.

A run *finds* a regression if one of its own metrics is a regression in a case that it acts on. All
that cannot come from it is a *false alarm*: in an A/A test any finding at all; any finding in a
case that the regression does not touch; and, where it leaves the program as it is, any metric but
its own in the other cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from studies.harness import measured, read_rows, table, write_rows

EQUAL = "none"
SMALLEST = "casing_variants/w7x-argument-d3"
UNTOUCHED = ("casing_preparation/", "memory_sweep/gradient")
"""Cases that regressions of the field's evaluation do not touch."""
REGRESSION = "regression"
ALARMS = (REGRESSION, "improvement", "changed")
"""Verdicts of a review that report a change."""
Finding = tuple[str, str, str]
"""Case, metric and verdict."""


@dataclass(frozen=True)
class Regression:
    """A regression of studies/detection/injected.

    Attributes
    ----------
    found_by : tuple of str
        Metrics of which one must get worse, or the name of the error that breaks a case.
    exact_case : str or None
        The smallest case in which a metric other than a time shows it.
    explains : tuple of str or None
        Metrics that also get worse because of it; None where it changes the program, which may
        explain any metric of the same case.
    """

    found_by: tuple[str, ...]
    exact_case: str | None = None
    explains: tuple[str, ...] | None = None


INJECTED = {
    "captured_array": Regression(("captured_bytes", "embedded_bytes"), SMALLEST),
    "chunk_size": Regression(("temp_bytes", "steady_median_seconds"), SMALLEST),
    "float32_slip": Regression(
        ("error_relative", "WrongAnswer"), "casing_variants/w7x-argument-d9"
    ),
    "more_temporaries": Regression(("temp_bytes",), SMALLEST),
    "retrace": Regression(("RetraceError",), SMALLEST),
    "slower_compile": Regression(("trace_lower_compile_seconds",), explains=("compile_seconds",)),
    "slower_run": Regression(("steady_median_seconds",)),
}


@dataclass(frozen=True)
class Run:
    """A run: the findings of the review and of asv in the same records, joined by semicolons.

    Finds are cases; false alarms are "case metric verdict".
    """

    injected: str
    environment: str
    tested_count: int
    verdict: str
    found_in: str
    false_alarms: str
    asv_found_in: str
    asv_false_alarms: str


def run_of(name: str, review: dict[str, Any], asv: Iterable[tuple[str, str]]) -> Run:
    """Return a run from its review.json and the (case, metric) pairs that asv calls worse."""
    findings = [(one["case"], one["metric"], one["verdict"]) for one in review["findings"]]
    broken = [one for one in review["not_compared"] if one["is_regression"]]
    findings += [(one["case"], one["failure_kind"], REGRESSION) for one in broken]
    of_asv = [(case, metric, REGRESSION) for case, metric in asv]
    return Run(
        injected=name,
        environment=review["environment"],
        tested_count=review["tested_count"],
        verdict=review["verdict"],
        found_in="; ".join(found_in(name, findings)),
        false_alarms="; ".join(false_alarms(name, findings)),
        asv_found_in="; ".join(found_in(name, of_asv)),
        asv_false_alarms="; ".join(false_alarms(name, of_asv)),
    )


def found_in(name: str, findings: Iterable[Finding]) -> list[str]:
    """Return the cases with a regression in one of its own metrics."""
    own = INJECTED[name].found_by if name in INJECTED else ()
    found = [case for case, metric, verdict in findings if verdict == REGRESSION and metric in own]
    return list(dict.fromkeys(case for case in found if not case.startswith(UNTOUCHED)))


def false_alarms(name: str, findings: Iterable[Finding]) -> list[str]:
    """Return the findings that the regression cannot explain, as "case metric verdict"."""
    return [
        f"{case} {metric} {verdict}"
        for case, metric, verdict in findings
        if verdict in ALARMS and not _is_explained(name, case, metric)
    ]


def _is_explained(name: str, case: str, metric: str) -> bool:
    if name == EQUAL or case.startswith(UNTOUCHED):
        return False
    regression = INJECTED[name]
    return regression.explains is None or metric in regression.found_by + regression.explains


def markdown(runs: Sequence[Run]) -> str:
    """Return the table and every false alarm."""
    alarms = []
    for name, some in _by_name(runs).items():
        for who, column in (("", "false_alarms"), ("asv, ", "asv_false_alarms")):
            found = [(number, getattr(one, column)) for number, one in enumerate(some)]
            alarms += [f"- {who}{_title(name)}, run {k}: {alarm}" for k, alarm in found if alarm]
    return rates_table(runs) + "\n".join(["", *alarms, ""] if alarms else [])


def rates_table(runs: Sequence[Run]) -> str:
    """Return in how many runs each regression was found, and how many had false alarms."""
    lines = []
    for name, some in _by_name(runs).items():
        counts: list[int | str] = [
            sum(bool(getattr(one, column)) for one in some)
            for column in ("found_in", "false_alarms", "asv_found_in", "asv_false_alarms")
        ]
        if name == EQUAL:
            counts[0] = counts[2] = "–"
        lines.append((_title(name), len(some), *counts))
    header = ("found", "with false alarms", "found by asv", "with false alarms of asv")
    return table(("injected", "runs", *header), lines)


def _title(name: str) -> str:
    return "nothing (A/A test)" if name == EQUAL else name.replace("_", " ")


def _by_name(runs: Sequence[Run]) -> dict[str, list[Run]]:
    return {name: [r for r in runs if r.injected == name] for name in (r.injected for r in runs)}


def write_runs(path: Path, commit: str, runs: Iterable[Run]) -> None:
    """Write a row for each run."""
    write_rows(path, [{"commit": commit, **asdict(one)} for one in runs])


def read_runs(path: Path) -> list[Run]:
    """Return the runs that `write_runs` wrote."""
    rows = [{k: v for k, v in row.items() if k != "commit"} for row in read_rows(path)]
    return [Run(**{**row, "tested_count": int(row["tested_count"])}) for row in rows]


def _committed(name: str) -> str:
    return rates_table(read_runs(measured("detection", f"{name}.csv")))


TABLES = {
    "detection exact": lambda: _committed("exact"),
    "detection times": lambda: _committed("times"),
    "detection times while choosing": lambda: _committed("times_while_choosing"),
}
