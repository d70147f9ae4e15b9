"""``python -m benchmarks.measuring.bisect METRIC CASE BASE HEAD``: find where a metric changed.

The command measures an exact metric of one case, such as ``temp_bytes`` of
``operations/external_field``. It measures BASE and HEAD first. Then it repeatedly measures the
commit in the middle of the remaining range. For n commits it needs about log2(n) measurements. An
exact metric needs only one measurement of each commit, even on a busy machine. Measurements are
kept in ``results/bisect``, so an interrupted command resumes when it is run again. A measurement
is reused only for the same code of vcjax, the benchmarks and jaxmeter, in the same environment. A
wrong answer or a retrace is kept as a result. After any other failure, a rerun measures the commit
again.

Exit codes: 0 if the commit is found, 2 if it cannot be found, 130 if the command is interrupted.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial

import jaxmeter
from benchmarks.measuring.checkout import (
    ROOT,
    CheckoutError,
    commit_named,
    exit_code,
    git,
    run_lock,
    unpacked_package,
)
from benchmarks.measuring.rounds import MeasuredSide
from benchmarks.measuring.run import planned_cases
from benchmarks.measuring.runner import Workers
from benchmarks.measuring.store import RecordStore
from benchmarks.operations.kept import code_digest
from benchmarks.operations.measure import measure_operations
from benchmarks.operations.table import SUITE

STORE = ROOT / "results" / "bisect"
ERROR_FACTOR = 1.25  # errors that differ by at most this factor count as equal
ROUNDING = 1e-13  # as in reviews, smaller errors count as this error

Value = float | str | None
"""A number, the fingerprint of a program, the kind of a failure, or None if there is no value."""
FAILURES = ("WrongAnswer", "RetraceError")
"""Kinds of failures that count as a value of the metric."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.measuring.bisect", description=__doc__
    )
    add = parser.add_argument
    add("metric", help="the metric, such as temp_bytes, traces_count or error_relative")
    add("case", help="the case, such as operations/external_field")
    add("base", help="a commit with the old value")
    add("head", nargs="?", default="HEAD", help="a commit with the new value; default HEAD")
    options = parser.parse_args(argv)
    work = partial(search, options.metric, options.case, options.base, options.head)
    return exit_code("benchmarks.measuring.bisect", work)


def search(metric: str, case: str, base: str, head: str) -> None:
    """Measure commits between `base` and `head`, and print the commit that changed the metric."""
    if not metric or not case:
        raise CheckoutError(
            f"got the metric {metric!r} and the case {case!r}; give both, such as "
            "METRIC=temp_bytes CASE=operations/external_field"
        )
    check_exact(metric)
    commits = commits_between(base, head)
    with run_lock():
        found = first_change(commits, lambda commit: shown_value(commit, case, metric))
    before, after = (commits[place] for place in found)
    print(f"{metric} of {case} changed at {_subject(after)}")
    if between := found[1] - found[0] - 1:
        print(f"or at one of the {between} commits just before, which cannot be measured")
    print(f"to compare the two commits: make review BASE={before[:10]} HEAD={after[:10]}")


def commits_between(base: str, head: str) -> list[str]:
    """Return BASE and the commits after it up to HEAD, the oldest first.

    Only the first parent of a merge commit is followed. If BASE is not on this line of commits,
    a `CheckoutError` is raised, because BASE's own changes would be attributed to the first commit
    after it.
    """
    names = commit_named(base), commit_named(head)
    span = f"{names[0]}..{names[1]}"
    later = git("rev-list", "--first-parent", "--reverse", span).decode().split()
    if not later:
        raise CheckoutError(
            f"BASE ({base}) contains all commits of HEAD ({head}); give an older commit as BASE"
        )
    parent = commit_named(f"{later[0]}^")
    if parent != names[0]:
        raise CheckoutError(
            f"BASE ({base}) is on another branch than HEAD ({head}); give BASE={parent[:10]}, or "
            "an earlier commit of HEAD's branch"
        )
    return [names[0], *later]


def first_change(commits: Sequence[str], value_of: Callable[[str], Value]) -> tuple[int, int]:
    """Return the indices of the two commits between which the value changes.

    The first of the two commits has BASE's value, and the second has another value. The commits
    between the two have no value. If the value changes several times, the two commits enclose one
    of the changes.
    """
    first, last = value_of(commits[0]), value_of(commits[-1])
    if first is None or last is None:
        raise CheckoutError(
            f"the metric has no value at {'BASE' if first is None else 'HEAD'}: the case failed "
            "there, or the record does not have this metric; give a metric and a case that can be "
            "measured at both commits"
        )
    if is_same(first, last):
        raise CheckoutError(
            f"the metric has the same value, {first}, at BASE and at HEAD; give two commits with "
            "different values"
        )
    old, new = 0, len(commits) - 1
    unknown: set[int] = set()
    while between := [i for i in range(old + 1, new) if i not in unknown]:
        middle = min(between, key=lambda i: abs(2 * i - old - new))
        found = value_of(commits[middle])
        if found is None:
            unknown.add(middle)
        elif is_same(first, found):
            old = middle
        else:
            new = middle
    return old, new


def is_same(one: Value, other: Value) -> bool:
    """Return whether two values count as equal.

    Two numbers are assumed to be errors of answers if the smaller number is less than 1. Errors
    count as equal if they differ by at most the factor `ERROR_FACTOR`. Errors below `ROUNDING`
    count as `ROUNDING`. NaN is equal to NaN only.
    """
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        small, large = sorted((abs(one), abs(other)))
        return one == other or (small < 1 and large <= ERROR_FACTOR * max(small, ROUNDING))
    return one == other


def check_exact(metric: str) -> None:
    """Raise `CheckoutError` if a metric varies between runs, as times and measured memory do."""
    if re.search(r"(_seconds|_rss_bytes|_peak_bytes|cpu_per_wall|folding_alarms_count)$", metric):
        raise CheckoutError(
            f"got the metric {metric}, which varies between runs of the same commit; give an exact "
            "metric or an error, such as temp_bytes, traces_count or error_relative"
        )


def shown_value(commit: str, case: str, metric: str) -> Value:
    """Return the value of a metric at a commit, and print this value."""
    found = value_in(measured(commit, case), metric)
    print(f"{_subject(commit)}: {'cannot be measured' if found is None else found}", flush=True)
    return found


def measured(commit: str, case: str) -> jaxmeter.Record:
    """Return the record of a case at a commit; measure the case if the store has no result.

    Commits with equal packages ``vcjax`` share a record. A case that does not exist raises a
    `CheckoutError`.
    """
    with jaxmeter.temporary_folder("vcjax-bisect-") as folder:
        package = unpacked_package(commit, folder / "source")
        store = RecordStore(STORE / code_digest(package, ROOT / "benchmarks"))
        record = store.find(case, 0)
        if record is None or not has_result(record):
            workers = Workers(store, folder, jaxmeter.run_case, package=package)
            if case.startswith(f"{SUITE}/"):
                side = MeasuredSide("base", folder, store, workers)
                measure_operations(side, [case.removeprefix(f"{SUITE}/")])
            elif chosen := planned_cases("quick").get(case):
                store.write(chosen, 0, workers.measure(chosen, 0))
            record = store.find(case, 0)
    if record is None:
        raise CheckoutError(
            f"got the case {case}, which does not exist; give a case of the quick grid, such as "
            "memory_sweep/field-cauto-tauto, or an operation, such as operations/external_field"
        )
    return record


def has_result(record: jaxmeter.Record) -> bool:
    """Return whether a record has the status "ok", or a failure of a kind in `FAILURES`."""
    kind = record.failure.kind if record.failure else None
    return record.status == "ok" or kind in FAILURES


def value_in(record: jaxmeter.Record, metric: str) -> Value:
    """Return the value of a metric in a record.

    If the answer was wrong or the function was retraced, the result is the kind of the failure.
    After any other failure, or if the record does not have the metric, the result is None.
    """
    if not has_result(record):
        return None
    if record.failure:
        return record.failure.kind
    sections = (record.constants, record.counts, record.program, record.memory)
    known = {k: v for part in sections for k, v in dataclasses.asdict(part).items()}
    value = {**known, **record.checks, **record.extras}.get(metric)
    return float(value) if isinstance(value, (int, float)) else value


def _subject(commit: str) -> str:
    return git("log", "-1", "--format=%h %s", commit).decode(errors="replace").strip()


if __name__ == "__main__":
    sys.exit(main())
