"""``python -m benchmarks.measuring.bisect METRIC CASE BASE HEAD``: find the commit of a change.

An exact metric of one case, such as ``temp_bytes`` of ``operations/external_field``, is measured
at BASE and at HEAD, then at the middle of the commits between them, and so on: about log2(n)
measurements for n commits. Exact metrics need one process a commit and no quiet machine. Each
measurement is kept, in ``results/bisect``; interrupted and run again, it resumes. Exit codes: 0
found, 2 not found.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import jaxmeter
from benchmarks.measuring.checkout import (
    ROOT,
    CheckoutError,
    commit_named,
    git,
    run_lock,
    unpacked_package,
)
from benchmarks.measuring.run import SUITES
from benchmarks.measuring.runner import Workers
from benchmarks.measuring.store import RecordStore, environment_name
from benchmarks.operations.measure import SUITE, measure_operations

STORE = ROOT / "results" / "bisect"
ERROR_FACTOR = 1.25  # an error that moves by less has not changed

Value = float | str | None
"""A number, the kind of a failure, or None where a commit cannot be measured."""


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, measure, print the commit, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.measuring.bisect", description=__doc__
    )
    parser.add_argument("metric", help="such as temp_bytes, traces_count, error_relative")
    parser.add_argument("case", help="such as operations/external_field")
    parser.add_argument("base", help="a commit with the old value")
    parser.add_argument("head", nargs="?", default="HEAD", help="a commit with the new one")
    options = parser.parse_args(argv)
    try:
        commits = commits_between(options.base, options.head)
        with run_lock():
            found = first_change(
                commits, lambda commit: shown_value(commit, options.case, options.metric)
            )
    except (CheckoutError, jaxmeter.JaxmeterError) as error:
        print(f"benchmarks.measuring.bisect: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbenchmarks.measuring.bisect: interrupted; rerun to resume", file=sys.stderr)
        return 130
    before, after = (commits[place] for place in found)
    print(f"{options.metric} of {options.case} changed at {_subject(after)}")
    if found[1] - found[0] > 1:
        print(f"or at one of the {found[1] - found[0] - 1} before it that cannot be measured")
    print(f"make review BASE={before[:10]} HEAD={after[:10]}")
    return 0


def commits_between(base: str, head: str) -> list[str]:
    """Return BASE and the commits after it up to HEAD, each with its first parent before it.

    Raises
    ------
    CheckoutError
        If git has no such commits, or none lie between them.
    """
    names = commit_named(base), commit_named(head)
    listed = git("rev-list", "--first-parent", "--reverse", f"{names[0]}..{names[1]}")
    later = listed.decode().split()
    if not later:
        raise CheckoutError(f"{head} has no commit that {base} has not; give the older one first")
    return [names[0], *later]


def first_change(commits: Sequence[str], value_of: Callable[[str], Value]) -> tuple[int, int]:
    """Return the places of two commits: the last with BASE's value, the first without.

    Between them lie only commits that cannot be measured. Where a value changes several times, one
    of the changes is found.

    Raises
    ------
    CheckoutError
        If the first or last commit cannot be measured, or they have the same value.
    """
    first, last = value_of(commits[0]), value_of(commits[-1])
    if first is None or last is None:
        raise CheckoutError("BASE or HEAD has no such number; name a metric and case of both")
    if is_same(first, last):
        raise CheckoutError(f"BASE and HEAD have the same value, {first}; nothing to find")
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
    """Return whether two values are equal, or errors that differ by rounding only."""
    if isinstance(one, float) and isinstance(other, float):
        small, large = sorted((abs(one), abs(other)))
        return one == other or (0 < small < 1 and large <= ERROR_FACTOR * small)
    return one == other


def shown_value(commit: str, case: str, metric: str) -> Value:
    """Return the value of a metric at a commit, and print it."""
    found = value_in(measured(commit, case), metric)
    print(f"{_subject(commit)}: {'cannot be measured' if found is None else found}", flush=True)
    return found


def measured(commit: str, case: str) -> jaxmeter.Record:
    """Return the record of a case at a commit, from the store if it is there.

    Raises
    ------
    CheckoutError
        If there is no such case.
    """
    store = RecordStore(STORE / commit / environment_name())
    path = store.root / case / "0.json"
    if not path.exists():
        with jaxmeter.temporary_folder("vcjax-bisect-") as folder:
            package = unpacked_package(commit, Path(folder) / "source")
            (Path(folder) / "work").mkdir()
            workers = Workers(store, Path(folder) / "work", jaxmeter.run_case, package=package)
            if case.startswith(f"{SUITE}/"):
                details = Path(folder) / "details"
                measure_operations(
                    store, details, [workers.imports], [case.removeprefix(f"{SUITE}/")]
                )
            else:
                _measure_planned(case, workers, store)
    if not path.exists():
        raise CheckoutError(f"there is no case {case}; docs/history.md names the cases of a review")
    return jaxmeter.Record.from_json(jaxmeter.read_file(path))


def _measure_planned(name: str, workers: Workers, store: RecordStore) -> None:
    for suite in SUITES:
        for case in suite().plan("quick"):
            if case.name == name:
                store.write(case, 0, workers.measure(case, 0))


def value_in(record: jaxmeter.Record, metric: str) -> Value:
    """Return the value of a metric in a record; the kind of its failure where it has one."""
    if record.status != "ok":
        is_wrong = record.failure is not None and record.failure.kind in (
            "WrongAnswer",
            "RetraceError",
        )
        return record.failure.kind if record.failure and is_wrong else None
    sections = (record.constants, record.counts, record.program, record.memory)
    known = {k: v for part in sections for k, v in dataclasses.asdict(part).items()}
    value = {**known, **record.checks, **record.extras}.get(metric)
    return float(value) if isinstance(value, (int, float)) else value


def _subject(commit: str) -> str:
    text = git("log", "-1", "--format=%h %s", commit).decode(errors="replace")
    return text.strip()


if __name__ == "__main__":
    sys.exit(main())
