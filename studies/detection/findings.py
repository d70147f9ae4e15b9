"""Sort the findings of a review and of asv into detections and false alarms, and tabulate runs.

Each injected regression has metrics of its own. A run *finds* the regression if one of these
metrics regresses in a case that the injected code affects. A *false alarm* is one of the following:

- any finding in an A/A test;

- any finding in a case that the injected code does not affect;

- if the injected code does not change the program: any finding for a metric that this code cannot
  change.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.measuring.run import SUITES
from benchmarks.summary import Summary, summarise
from jaxmeter import Record
from studies.harness import ROOT, Row, StudyError, measured, read_rows, table

EQUAL = "none"
SMALLEST = "casing_variants/w7x-argument-d3"
UNTOUCHED = ("casing_preparation/", "memory_sweep/gradient")
"""Prefixes of case names. The injected regressions do not affect cases with these prefixes."""
REGRESSION = "regression"
ALARMS = (REGRESSION, "improvement", "changed")
"""Verdicts of a review that report a change."""
ASV_FACTOR = 1.1
Finding = tuple[str, str, str]
"""The case, metric and verdict of a finding."""


@dataclass(frozen=True)
class Regression:
    """A regression of studies/detection/injected."""

    found_by: tuple[str, ...]
    """Metrics: a review finds the regression if at least one of the metrics regresses. An entry may
    also be the name of the error with which a case fails, like ``WrongAnswer``."""
    exact_case: str | None = None
    """The smallest case in which a metric other than a time shows the regression, if any."""
    explains: tuple[str, ...] | None = None
    """Metrics besides `found_by` that may regress because of the injected code. None means all
    metrics of the affected cases, because the code changes the program."""


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


def run_row(name: str, review: Mapping[str, Any], asv: Iterable[Sequence[str]]) -> Row:
    """Return the row of a run: the cases where the regression is found, and the false alarms.

    `name` is the injected regression, `review` the content of the run's review.json, and `asv` the
    (case, metric) pairs of the regressions that asv reports.
    """
    findings = reported_changes(review)
    broken = [one for one in review["not_compared"] if one["is_regression"]]
    findings += [(one["case"], one["failure_kind"], REGRESSION) for one in broken]
    of_asv = [(case, metric, REGRESSION) for case, metric in asv]
    return {
        "injected": name,
        **{key: review[key] for key in ("environment", "tested_count", "verdict")},
        "found_in": "; ".join(found_in(name, findings)),
        "false_alarms": false_alarms(name, findings),
        "asv_found_in": "; ".join(found_in(name, of_asv)),
        "asv_false_alarms": false_alarms(name, of_asv),
    }


def reported_changes(review: Mapping[str, Any]) -> list[Finding]:
    """Return the findings of a review that report a change."""
    every = [(one["case"], one["metric"], one["verdict"]) for one in review["findings"]]
    return [one for one in every if one[2] in ALARMS]


def shown(findings: Iterable[Finding]) -> str:
    """Return findings as text, each as "case metric verdict"."""
    return "; ".join(map(" ".join, findings))


def found_in(name: str, findings: Iterable[Finding]) -> list[str]:
    """Return the cases in which an injected regression is found (see `Regression.found_by`)."""
    own = INJECTED[name].found_by if name in INJECTED else ()
    found = [case for case, metric, verdict in findings if verdict == REGRESSION and metric in own]
    return list(dict.fromkeys(case for case in found if not case.startswith(UNTOUCHED)))


def false_alarms(name: str, findings: Iterable[Finding]) -> str:
    """Return the findings that an injected regression cannot cause, as text (see `shown`)."""
    return shown(one for one in findings if not _is_explained(name, *one[:2]))


def _is_explained(name: str, case: str, metric: str) -> bool:
    if name == EQUAL or case.startswith(UNTOUCHED):
        return False
    regression = INJECTED[name]
    return regression.explains is None or metric in regression.found_by + regression.explains


def asv_regressions(pair: Path) -> list[tuple[str, str]]:
    """Return (case, metric) for each regression that `asv continuous` would report.

    `pair` is a folder that `benchmarks.measuring.pair` wrote. The records of each case are
    summarised as for the asv suites in benchmarks/. Then the summaries are compared by asv's rules
    with asv's defaults: a factor of 1.1 and, for times, a Mann-Whitney test with one number for
    each process. If there are too few processes for this test, asv compares confidence intervals
    instead.
    """
    base, head = (_summaries(pair / side) for side in ("base", "head"))
    if not base or not head:
        raise StudyError(
            f"{pair} is not a measured pair: base or head has no records; measure it with "
            "`python -m benchmarks.measuring.pair`"
        )
    return asv_regressed(base, head)


def _summaries(side: Path) -> dict[str, Summary]:
    found: dict[str, list[Record]] = {}
    for path in sorted(side.glob("*/*/*/*/*.json")):
        case = "/".join(path.parts[-3:-1])
        found.setdefault(case, []).append(Record.from_json(path.read_bytes()))
    return {case: summarise(records) for case, records in found.items()}


def asv_regressed(
    base: Mapping[str, Summary], head: Mapping[str, Summary]
) -> list[tuple[str, str]]:
    """Return (case, metric) for each metric that regressed by asv's rules.

    Only metrics that the asv suites in benchmarks/ track are compared. If a case fails at `head`
    only, its pair has the name of the error instead of a metric. If an exact number differs between
    the processes of a case, the case fails, and its pair has the list of the different values
    instead.
    """
    tracked = {
        suite.suite: {n.removeprefix("track_") for n in dir(suite) if n.startswith("track_")}
        for suite in SUITES
    }
    found = []
    for case in sorted(base.keys() & head.keys()):
        before, after = base[case], head[case]
        names = sorted(tracked.get(case.split("/")[0], ()))
        if before["status"] != "ok" or not names:
            continue
        if after["status"] == "ok":
            names = [name for name in names if _asv_regressed(before, after, name)]
        else:
            names = after["message"].split(": ")[1:2] or [after["message"]]
        found += [(case, name) for name in names]
    return found


def _asv_regressed(base: Summary, head: Summary, name: str) -> bool:
    from asv._stats import is_different
    from asv_runner.statistics import compute_stats

    if name in base["times"] and name in head["times"]:
        samples = base["times"][name], head["times"][name]
        before, after = (compute_stats(one, 1)[1] for one in samples)
        # The asv suites also skip times that only one process measured.
        if min(map(len, samples)) == 1 or not is_different(*samples, before, after):
            return False
        return statistics.median(samples[0]) < statistics.median(samples[1]) / ASV_FACTOR
    if name in base["numbers"] and name in head["numbers"]:
        low, high = base["numbers"][name], head["numbers"][name]
        return low < high / ASV_FACTOR or (math.isnan(high) and not math.isnan(low))
    return False


def reviewed(pair: Path, page: Path) -> dict[str, Any]:
    """Review the measurements in `pair`, write `page`, and return the content of review.json."""
    command = [sys.executable, "-m", "reports", "review", "--pair", str(pair), "--out", str(page)]
    if subprocess.call(command, cwd=ROOT, stdout=subprocess.DEVNULL) not in (0, 1):
        raise StudyError(f"the review of {pair} failed; see the error above, or the page in {page}")
    return json.loads((page / "review.json").read_text(encoding="utf-8"))


def markdown(runs: Sequence[Row]) -> str:
    """Return the `rates_table` of all runs and a list of all false alarms, in Markdown."""
    alarms, numbers = [], Counter()
    for row in runs:
        name = row["injected"]
        for who, column in (("", "false_alarms"), ("asv, ", "asv_false_alarms")):
            if row[column]:
                alarms.append(f"- {who}{_title(name)}, run {numbers[name]}: {row[column]}\n")
        numbers[name] += 1
    return rates_table(runs) + "".join(["\n", *alarms] if alarms else [])


COUNTED = {
    "found_in": "found",
    "false_alarms": "with false alarms",
    "asv_found_in": "found by asv",
    "asv_false_alarms": "with false alarms of asv",
}
"""Columns in which `rates_table` counts the non-empty values, and the headings of the counts."""


def rates_table(runs: Sequence[Row]) -> str:
    """Return a table of how many runs found each regression and how many had false alarms."""
    lines = []
    frame = pd.DataFrame(runs, columns=["injected", *COUNTED])
    for name, some in frame.groupby("injected", sort=False):
        counts = some[list(COUNTED)].ne("").sum().astype(object)
        if name == EQUAL:
            counts[["found_in", "asv_found_in"]] = "–"
        lines.append((_title(str(name)), len(some), *counts))
    return table(("injected", "runs", *COUNTED.values()), lines)


def _title(name: str) -> str:
    return "nothing (A/A test)" if name == EQUAL else f"`{name}`"


def _committed(name: str) -> str:
    return rates_table(read_rows(measured("detection", f"{name}.csv")))


def _locked() -> str:
    titles = {name: name for name in ("jax", "injected", "functions", "checks")}
    titles |= {"differing": "checks that differ", "quantities": "regressed quantities"}
    rows = read_rows(measured("detection", "lock.csv"))
    rows = [row | {"injected": _title(row["injected"])} for row in rows]
    return table(list(titles.values()), [[row[name] for name in titles] for row in rows])


TABLES = {
    "detection lock": _locked,
    "detection exact": lambda: _committed("exact"),
    "detection times": lambda: _committed("times"),
    "detection times while choosing": lambda: _committed("times_while_choosing"),
}
