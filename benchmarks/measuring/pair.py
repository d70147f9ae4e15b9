"""``python -m benchmarks.measuring.pair BASE HEAD``: measure two commits interleaved, for a review.

asv measures one commit after the other, and a machine's speed drifts within minutes. Here a round
of BASE and one of HEAD follow each other within seconds, each in a fresh process, and alternate in
which comes first; so drift cancels in each round's ratio. Both run in the interpreter that runs
this command: the same JAX, the checkout's benchmarks and jaxmeter, and only the package ``vcjax``
of each commit. The records lie in ``<out>/base`` and ``<out>/head``, laid out like every store;
``python -m reports review --pair <out>`` compares them.

Interrupted and run again, it resumes: rounds that both sides have are kept.

For studies ``--inject`` adds a regression to HEAD: a Python file, given by its path or by its name
in studies/detection/injected, whose function ``inject`` is called with HEAD's package when that is
imported. Each file makes a HEAD, and ``none`` makes one without a regression; they share BASE's
processes, and ``<out>/<name>`` is laid out like a pair.
"""

from __future__ import annotations

import argparse
import fnmatch
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import jaxmeter
from benchmarks.measuring.checkout import (
    ROOT,
    CheckoutError,
    commit_named,
    has_changes,
    run_lock,
    unpacked_package,
)
from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.program_diff import write_diffs
from benchmarks.measuring.run import SUITES
from benchmarks.measuring.runner import RunCase, Workers
from benchmarks.measuring.store import RecordStore, environment_name

SIDES = ("base", "head")
INJECTED = ROOT / "studies" / "detection" / "injected"

# Small cases, so that a pair takes five minutes: these in many rounds for their times, the others
# once for exact metrics. --cases PATTERN selects any other cases of the quick grid.
TIMED = (
    "casing_variants/w7x-argument-d3",
    "memory_sweep/field-cauto-tauto",
    "casing_variants/w7x-argument-d6",
)
ONCE = (
    "casing_variants/w7x-closure-d3",
    "casing_variants/w7x-argument-d9",  # a slip into single precision is lost in fewer digits
    "memory_sweep/gradient-cauto-tauto",
)
MOST_ROUNDS = 8
# Timed cases: many calls, because calls of a few milliseconds see only one level of machine noise,
# and several compiles, because a single compile in a process varies by a tenth.
TIMED_EFFORT = {"repeat": 30, "max_seconds": 1.0, "builds": 3}
NOT_INJECTED = "none"
BUDGET_SECONDS = 270.0


class PairFailed(Exception):
    """The options do not describe a pair to measure; the message says why."""


@dataclass(frozen=True)
class MeasuredSide:
    """One commit of a pair: its store, and the workers that import its package.

    `pair` is the folder that a review reads.
    """

    name: str
    pair: Path
    store: RecordStore
    workers: Workers


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, measure both commits, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.measuring.pair", description=__doc__
    )
    parser.add_argument("base", help="a commit, by any name that git accepts")
    parser.add_argument("head", help="the other commit")
    parser.add_argument("--out", type=Path, help="default results/pairs/BASE..HEAD")
    parser.add_argument("--cases", nargs="+", help="patterns of the quick grid's cases, all timed")
    parser.add_argument("--rounds", type=int, default=MOST_ROUNDS, help="maximum; default 8")
    parser.add_argument(
        "--budget", type=float, default=BUDGET_SECONDS, help="seconds; no round begins after them"
    )
    parser.add_argument("--inject", nargs="+", metavar="NAME_OR_PATH", help="regressions for HEAD")
    parser.add_argument(
        "--no-programs", action="store_true", help="do not write how programs differ"
    )
    options = parser.parse_args(argv)
    try:
        check(options)
        commits = [commit_named(name) for name in (options.base, options.head)]
        names = "..".join(commit[:10] for commit in commits)
        names += "".join(f"+{Path(name).stem}" for name in options.inject or ())
        if has_changes("vcjax"):
            print("changes of vcjax that are not committed are not measured", file=sys.stderr)
        out = options.out or ROOT / "results" / "pairs" / names
        with (
            run_lock(),
            sides(commits, out, injected=options.inject or [NOT_INJECTED]) as (base, *heads),
        ):
            cases = chosen_cases(options.cases, options.rounds)
            measure_interleaved(cases, [base, *heads], budget_seconds=options.budget)
            if not options.no_programs:
                for head in heads:
                    write_diffs(cases, (base, head), head.pair)
    except (PairFailed, CheckoutError) as error:
        print(f"benchmarks.measuring.pair: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbenchmarks.measuring.pair: interrupted; rerun to resume", file=sys.stderr)
        return 130
    print(out)
    return 0


def check(options: argparse.Namespace) -> None:
    """Raise PairFailed for options that measure nothing, without end, or one file twice."""
    if options.rounds < 1:
        raise PairFailed(f"got --rounds {options.rounds}; give 1 or more")
    if not options.budget > 0:
        raise PairFailed(f"got --budget {options.budget:g}; give seconds above 0")
    names = [Path(name).stem for name in options.inject or ()]
    if len(set(names)) < len(names):
        raise PairFailed(f"got --inject {' '.join(names)}; give each once")


def chosen_cases(patterns: Sequence[str] | None, rounds: int) -> list[PlannedCase]:
    """Return the cases of a review with their numbers of rounds, the timed cases first.

    Raises
    ------
    PairFailed
        If a pattern matches no case of the quick grid.
    """
    planned = {case.name: case for suite in SUITES for case in suite().plan("quick")}
    wanted: dict[str, int] = {}
    for pattern in patterns or (*TIMED, *ONCE):
        found = fnmatch.filter(planned, pattern)
        if not found:
            raise PairFailed(
                f"got --cases {pattern}, which matches no case of the quick grid; e.g. {TIMED[0]}"
            )
        count = 1 if patterns is None and pattern in ONCE else rounds
        wanted |= dict.fromkeys(found, count)
    return [
        replace(planned[name], rounds=count, **(TIMED_EFFORT if count > 1 else {}))
        for name, count in wanted.items()
    ]


@contextmanager
def sides(
    commits: Sequence[str],
    out: Path,
    *,
    injected: Sequence[str] = (NOT_INJECTED,),
    run_case: RunCase = jaxmeter.run_case,
) -> Iterator[list[MeasuredSide]]:
    """Unpack the packages of BASE and of a HEAD for each injected regression.

    Raises
    ------
    CheckoutError
        If git has no package of a commit.
    PairFailed
        If there is no file with a regression of that name.
    """
    with tempfile.TemporaryDirectory(prefix="vcjax-pair-") as folder:

        def made(name: str, pair: Path, commit: str, injected: str = NOT_INJECTED) -> MeasuredSide:
            label = Path(injected).stem
            place = Path(folder) / name / label
            package = unpacked_package(commit, place / "source")
            if injected != NOT_INJECTED:
                inject(injected, package)
                commit = f"{commit}+{label}"
            store = RecordStore(pair / name / commit / environment_name())
            (place / "work").mkdir()
            workers = Workers(store, place / "work", run_case, package=package)
            return MeasuredSide(name, pair, store, workers)

        base = made("base", out, commits[0])
        pairs = [out / Path(name).stem if len(injected) > 1 else out for name in injected]
        for pair in pairs:
            if pair != out and not (pair / "base").is_symlink():
                pair.mkdir(parents=True, exist_ok=True)
                (pair / "base").symlink_to(Path("..", "base"), target_is_directory=True)
        heads = zip(pairs, injected, strict=True)
        yield [base, *(made("head", pair, commits[1], name) for pair, name in heads)]


def measure_interleaved(
    cases: Sequence[PlannedCase],
    measured: Sequence[MeasuredSide],
    *,
    budget_seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Measure every round of every case on all sides, until the budget is spent.

    Every case gets its first round, because exact metrics need no second.
    """
    started = clock()
    for number in range(max((case.rounds for case in cases), default=0)):
        for case in cases:
            if number >= case.rounds:
                continue
            if number and clock() - started > budget_seconds:
                print(f"the budget of {budget_seconds:.0f} s is spent", flush=True)
                return
            # The previous case affects the side that comes first: alternate.
            order = measured if number % 2 == 0 else measured[::-1]
            _measure_round(case, number, order)


def _measure_round(case: PlannedCase, number: int, order: Sequence[MeasuredSide]) -> None:
    kept = [side.store.read(case, number) for side in order]
    if all(record is not None and record.status == "ok" for record in kept):
        return  # a side measured alone would be compared with an earlier state of the machine
    results = []
    for side in order:
        record = side.workers.measure(case)
        side.store.write(case, number, record)
        results.append(f"{side.name} {record.status}, {record.wall_seconds or 0:.1f} s")
    print(f"round {number} of {case.name}: {'; '.join(results)}", flush=True)


def inject(regression: str, package: Path) -> None:
    """Add a regression to an unpacked package, by its path or by its name in `INJECTED`."""
    source = Path(regression) if regression.endswith(".py") else INJECTED / f"{regression}.py"
    if not source.is_file() or source.stem == "__init__":
        known = ", ".join(sorted(path.stem for path in INJECTED.glob("[a-z]*.py")))
        raise PairFailed(
            f"got --inject {regression}; give the path of a Python file, or one of {known}"
        )
    shutil.copy(source, package / "_injected.py")
    with open(package / "__init__.py", "a", encoding="utf-8") as stream:
        stream.write(
            "\nimport sys as _sys\n\nfrom vcjax import _injected\n\n"
            "_injected.inject(_sys.modules[__name__])\n"
        )


if __name__ == "__main__":
    sys.exit(main())
