"""``python -m benchmarks.measuring.pair BASE HEAD``: measure two commits interleaved, for a review.

asv measures one commit after the other, and a machine's speed drifts within minutes. In each round
of this command, a fresh process of BASE and a fresh process of HEAD run one after the other, so
most drift cancels in the ratio of the two times. The order alternates from round to round. Both
processes use the interpreter of this command, the same JAX, and the checkout's benchmarks and
jaxmeter. Only the package ``vcjax`` comes from the commit. ``<out>/base`` and ``<out>/head`` are
stores with the records of the two commits. ``python -m reports review --pair <out>`` compares the
records.

An interrupted command resumes when it is run again. It keeps all rounds in which BASE and every
HEAD succeeded. Exit codes: 0 if both commits are measured, 2 if they cannot be measured, 130 if
interrupted.

For studies, ``--inject`` adds a regression to HEAD. A regression is a Python file, given by its
path or by its name in studies/detection/injected. On import, HEAD's package passes itself to the
function ``inject`` of the file. Several names or paths make several HEADs, each with one
regression. The name ``none`` makes a HEAD without a regression. All HEADs are compared with the
same processes of BASE. If there are several HEADs, each HEAD has a folder ``<out>/<name>`` with
stores ``base`` and ``head``.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import jaxmeter
from benchmarks.measuring.changed import TimedSide, affordable_sides, take_rounds, timed_sides
from benchmarks.measuring.checkout import (
    ROOT,
    CheckoutError,
    commit_named,
    exit_code,
    has_changes,
    run_lock,
    unpacked_package,
)
from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.program_diff import FOLDER, write_diffs
from benchmarks.measuring.rounds import (
    MeasuredSide,
    measure_first_round,
    measure_interleaved,
    seconds_to_test,
)
from benchmarks.measuring.run import planned_cases
from benchmarks.measuring.runner import RunCase, Workers
from benchmarks.measuring.store import RecordStore, environment_name
from benchmarks.operations.edited import edited_lines
from benchmarks.operations.measure import measure_operations, write_differences
from benchmarks.operations.table import SUITE

INJECTED = ROOT / "studies" / "detection" / "injected"

# By default, these small cases are timed in many rounds, and exact metrics are measured for all
# operations. With --cases, the user selects the cases and operations instead.
TIMED = (
    "casing_variants/w7x-argument-d3",
    "memory_sweep/field-cauto-tauto",
    "casing_variants/w7x-argument-d6",
)
MOST_ROUNDS = 12
# Each process times many calls, so that noise of a few milliseconds does not affect the median. In
# the first `builds` rounds, a process compiles several times, because the time of a single compile
# varies by a tenth. In the other rounds, the program comes from the compilation cache, which takes
# less time.
TIMED_EFFORT = {"repeat": 30, "max_seconds": 1.0, "compiles": 3, "builds": 4}
OPERATIONS = f"{SUITE}/"
KEPT = ROOT / "results" / "operations"
"""Folder with exact metrics of operations, kept for later reviews of the same code."""
NOT_INJECTED = "none"
BUDGET_SECONDS = 290.0
MAX_LOAD = 2.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    options = parse(argv)
    return exit_code("benchmarks.measuring.pair", lambda: measure_pair(options))


def measure_pair(options: argparse.Namespace) -> None:
    """Measure both commits as the options say, and print the folder of the records."""
    commits = [commit_named(name) for name in (options.base, options.head)]
    if has_changes("vcjax"):
        print("uncommitted changes of vcjax are not measured", file=sys.stderr)
    pair = "..".join(commit[:10] for commit in commits)
    pair += "".join(f"+{Path(name).stem}" for name in options.inject or ())
    out = options.out or ROOT / "results" / "pairs" / pair
    regressions = options.inject or [NOT_INJECTED]
    cases = chosen_cases(options.cases, options.rounds)
    with run_lock(), sides(commits, out, regressions=regressions) as measured:
        started = time.monotonic()
        changed = measure_exact(measured, chosen_operations(options.cases))
        measure_times(
            cases,
            measured,
            changed,
            rounds=options.rounds,
            seconds=options.budget - (time.monotonic() - started),
            max_load=options.max_load * (os.cpu_count() or 1),
        )
        if not options.no_programs:
            for head in measured[1:]:
                write_diffs(cases, (measured[0], head), head.pair)
    print(out)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Return the command-line options."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.measuring.pair", description=__doc__
    )
    add = parser.add_argument
    add("base", help="a commit, by any name that git accepts")
    add("head", help="the commit to compare with base")
    add("--out", type=Path, help="folder for the records; default results/pairs/BASE..HEAD")
    add("--cases", nargs="+", help="patterns of cases and operations to measure")
    add("--rounds", type=int, default=MOST_ROUNDS, help="limit for the rounds; default %(default)s")
    about = "seconds to measure exact metrics and times together; default %(default)g"
    add("--budget", type=float, default=BUDGET_SECONDS, help=about)
    about = "largest load per CPU at which times are judged; default %(default)g"
    add("--max-load", type=float, default=MAX_LOAD, help=about)
    add("--inject", nargs="+", metavar="NAME_OR_PATH", help="regressions to add to HEAD")
    add("--no-programs", action="store_true", help="do not write how cases' programs differ")
    options = parser.parse_args(argv)
    if options.rounds < 1:
        parser.error(f"got --rounds {options.rounds}; give 1 or more")
    if not options.budget > 0:
        parser.error(f"got --budget {options.budget:g}; give a number of seconds above 0")
    given = options.inject or []
    if len({Path(name).stem for name in given}) < len(given):
        parser.error(
            f"got --inject {' '.join(given)}; give each regression once, and give files with "
            "different names"
        )
    return options


def chosen_cases(patterns: Sequence[str] | None, rounds: int) -> list[PlannedCase]:
    """Return the cases of the quick grid that match the patterns, each with `rounds` rounds.

    If `patterns` is None, the cases are `TIMED`. A pattern that matches no case is an error, unless
    the pattern begins with `OPERATIONS`.
    """
    quick = planned_cases("quick")
    wanted: list[str] = []
    for pattern in TIMED if patterns is None else patterns:
        found = fnmatch.filter(quick, pattern)
        if not found and not pattern.startswith(OPERATIONS):
            raise CheckoutError(
                f"got --cases {pattern}, which matches no case of the quick grid; "
                f"give e.g. {TIMED[0]}"
            )
        wanted += found
    effort = TIMED_EFFORT if rounds > 1 else {}
    return [
        replace(quick[name], rounds=rounds, profile_compile=True, **effort)
        for name in dict.fromkeys(wanted)
    ]


def chosen_operations(patterns: Sequence[str] | None) -> list[str]:
    """Return the patterns that begin with `OPERATIONS`, without this prefix.

    If `patterns` is None, return a pattern that matches all operations.
    """
    if patterns is None:
        return ["*"]
    return [p.removeprefix(OPERATIONS) for p in patterns if p.startswith(OPERATIONS)]


def measure_exact(measured: Sequence[MeasuredSide], operations: Sequence[str]) -> list[list[str]]:
    """Measure the exact metrics of operations on all sides, and write how the operations differ.

    Return, for each HEAD, the operations with a different compiled program than at BASE, or with
    different numbers of traces or compiles.
    """
    base, *heads = measured
    if not operations:
        return [[] for _ in heads]
    for side in measured:
        measure_operations(side, operations, kept=KEPT)
    for pattern in operations:
        files = f"{OPERATIONS}{pattern}/0.json"
        if not any(any(side.store.root.glob(files)) for side in measured):
            raise CheckoutError(
                f"got --cases {OPERATIONS}{pattern}, which matches no operation of these commits; "
                f"give e.g. {OPERATIONS}external_field"
            )
    return [
        write_differences(
            (base, head), head.pair / FOLDER, edited_lines(base.package, head.package)
        )
        for head in heads
    ]


def measure_times(
    cases: Sequence[PlannedCase],
    measured: Sequence[MeasuredSide],
    changed: Sequence[Sequence[str]],
    *,
    rounds: int,
    seconds: float,
    max_load: float,
    clock: Callable[[], float] = time.monotonic,
    load: Callable[[], float | None] = jaxmeter.load_1min,
) -> None:
    """Measure the times of the cases, and of the operations that differ from BASE.

    `changed` has the names of these operations for each HEAD. First, one round of each case shows
    how long the rounds take. Then the operations are measured; this step is skipped if the load is
    above `max_load`, or if `rounds` is 1. The operations get at least half of the remaining
    seconds. They get more than half if the cases need less than half for a significance test. The
    other rounds of the cases follow. If any time remains, the operations get their missing rounds.
    """
    until = clock() + seconds
    operations: Sequence[TimedSide] = ()
    costs, cost = measure_first_round(cases, measured), 0.0
    if any(changed) and rounds > 1 and (load() or 0.0) <= max_load:
        left = until - clock()
        needed = sum(seconds_to_test(case, costs, measured) for case in cases)
        share = max(left / 2 if cases else left, left - needed)
        operations = affordable_sides(timed_sides(measured, changed), share)
        cost = take_rounds(operations, rounds=rounds, seconds=share, clock=clock)
    measure_interleaved(
        cases,
        measured,
        costs,
        budget_seconds=until - clock(),
        max_load=max_load,
        clock=clock,
        load=load,
    )
    if operations:
        left = until - clock()
        take_rounds(operations, rounds=rounds, seconds=left, expected_seconds=cost, clock=clock)


@contextmanager
def sides(
    commits: Sequence[str],
    out: Path,
    *,
    regressions: Sequence[str] = (NOT_INJECTED,),
    run_case: RunCase = jaxmeter.run_case,
    change: Callable[[str, Path], None] | None = None,
) -> Iterator[list[MeasuredSide]]:
    """Unpack BASE's package once, and HEAD's package once for each regression; yield all sides.

    ``change(regression, package)`` adds a regression to an unpacked package; the default function
    is `inject`. If `change` is given, or there are several regressions, each HEAD has its own
    folder in `out`.
    """
    with jaxmeter.temporary_folder("vcjax-pair-") as folder:

        def side(name: str, pair: Path, commit: str, regression: str) -> MeasuredSide:
            label = Path(regression).stem
            place = folder / name / label
            package = unpacked_package(commit, place / "source")
            if regression != NOT_INJECTED:
                (change or inject)(regression, package)
                commit = f"{commit}+{label}"
            if others := [one.name for one in (pair / name).glob("*/") if one.name != commit]:
                raise CheckoutError(
                    f"the folder {pair} has records of {', '.join(others)[:60]}, but a review "
                    "compares one commit on each side; give another folder as --out"
                )
            store = RecordStore(pair / name / commit / environment_name())
            workers = Workers(store, place, run_case, package=package)
            return MeasuredSide(name, pair, store, workers)

        measured = [side("base", out, commits[0], NOT_INJECTED)]
        for regression in regressions:
            is_alone = len(regressions) == 1 and change is None
            pair = out if is_alone else out / Path(regression).stem
            if pair != out and not (pair / "base").is_symlink():
                pair.mkdir(parents=True, exist_ok=True)
                (pair / "base").symlink_to(Path("..", "base"), target_is_directory=True)
            measured.append(side("head", pair, commits[1], regression))
        yield measured


def inject(regression: str, package: Path) -> None:
    """Add a regression to a package; `regression` is a Python file, or a name in `INJECTED`."""
    source = Path(regression) if regression.endswith(".py") else INJECTED / f"{regression}.py"
    if not source.is_file() or source.stem == "__init__":
        known = ", ".join(sorted(path.stem for path in INJECTED.glob("[a-z]*.py")))
        raise CheckoutError(
            f"got --inject {regression}, which is neither an existing Python file nor the name of "
            f"a regression; give the path of a Python file, or one of {known}"
        )
    shutil.copy(source, package / "_injected.py")
    with open(package / "__init__.py", "a", encoding="utf-8") as stream:
        stream.write(
            "\nimport sys as _sys\n\nfrom vcjax import _injected\n\n"
            "_injected.inject(_sys.modules[__name__])\n"
        )


if __name__ == "__main__":
    sys.exit(main())
