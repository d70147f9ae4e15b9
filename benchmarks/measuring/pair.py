"""``python -m benchmarks.measuring.pair BASE HEAD``: measure two commits in turns, for a review.

asv measures one commit after the other, and a machine's speed drifts within minutes. Here a round
of BASE and one of HEAD follow each other within seconds, each in a fresh process, first one and
then the other in front; so drift cancels in each round's ratio. Both run in the interpreter that
runs this command: the same JAX, today's benchmarks and meter, and only the package ``vcjax`` of
each commit. The records lie in ``<out>/base`` and ``<out>/head``, laid out like every store;
``python -m reports review --pair <out>`` compares them.

Interrupted and repeated, it goes on: rounds that both sides have are kept.

For studies ``--inject`` adds a regression to HEAD: a Python file, given by its path or by its name
in studies/detection/injected, whose function ``inject`` is called with HEAD's package when that is
imported. Each file makes a HEAD, and ``none`` makes one without a regression; they share BASE's
processes, and ``<out>/<name>`` is laid out like a pair.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib.metadata
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import jaxmeter
from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.program_diff import write_diffs
from benchmarks.measuring.repair import AnotherRun, RunLock
from benchmarks.measuring.run import ROOT, SUITES
from benchmarks.measuring.runner import RunCase, Workers
from benchmarks.measuring.store import RecordStore

SIDES = ("base", "head")
INJECTED = Path(__file__).parents[2] / "studies" / "detection" / "injected"

# Small cases, so that two commits are through in five minutes: these in many rounds for their
# times, the others once for what is exact. Any other case of the quick grid: --cases PATTERN.
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
# Of timed cases: calls of a few milliseconds must not all fall into one mood of the machine, and
# one compile in a process scatters by a tenth.
TIMED_EFFORT = {"repeat": 30, "max_seconds": 1.0, "builds": 3}
NOT_INJECTED = "none"
BUDGET_SECONDS = 270.0


class PairFailed(Exception):
    """The two commits cannot be measured; the message says why."""


@dataclass(frozen=True)
class MeasuredSide:
    """Where one commit's records go, and the workers that import its package.

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
    parser.add_argument("base", help="a commit, as git knows it")
    parser.add_argument("head", help="the other")
    parser.add_argument("--out", type=Path, help="default results/pairs/BASE..HEAD")
    parser.add_argument("--cases", nargs="+", help="patterns of the quick grid's cases, all timed")
    parser.add_argument("--rounds", type=int, default=MOST_ROUNDS, help="the most; default 8")
    parser.add_argument(
        "--budget", type=float, default=BUDGET_SECONDS, help="seconds; no round begins after them"
    )
    parser.add_argument("--inject", nargs="+", metavar="NAME_OR_PATH", help="regressions for HEAD")
    parser.add_argument(
        "--no-programs", action="store_true", help="do not tell in what programs differ"
    )
    options = parser.parse_args(argv)
    try:
        check(options)
        commits = [commit_named(name) for name in (options.base, options.head)]
        names = "..".join(commit[:10] for commit in commits)
        names += "".join(f"+{Path(name).stem}" for name in options.inject or ())
        if _git("status", "--porcelain", "--", "vcjax"):
            print("changes of vcjax that are not committed are not measured", file=sys.stderr)
        out = options.out or ROOT / "results" / "pairs" / names
        (ROOT / "results").mkdir(exist_ok=True)
        with (
            RunLock(ROOT / "results" / "run.lock"),
            sides(commits, out, injected=options.inject or [NOT_INJECTED]) as (base, *heads),
        ):
            cases = chosen_cases(options.cases, options.rounds)
            measure_in_turns(cases, [base, *heads], budget_seconds=options.budget)
            if not options.no_programs:
                for head in heads:
                    write_diffs(cases, (base, head), head.pair)
    except (PairFailed, AnotherRun) as error:
        print(f"benchmarks.measuring.pair: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbenchmarks.pair: interrupted; repeat the command to go on", file=sys.stderr)
        return 130
    print(out)
    return 0


def check(options: argparse.Namespace) -> None:
    """Refuse options that would measure nothing, for ever, or one thing over another.

    Raises
    ------
    PairFailed
        If they are such.
    """
    if options.rounds < 1:
        raise PairFailed(f"got --rounds {options.rounds}; give 1 or more")
    if not options.budget > 0:
        raise PairFailed(f"got --budget {options.budget:g}; give seconds above 0")
    names = [Path(name).stem for name in options.inject or ()]
    if len(set(names)) < len(names):
        raise PairFailed(f"got --inject {' '.join(names)}; give each once")


def chosen_cases(patterns: Sequence[str] | None, rounds: int) -> list[PlannedCase]:
    """The cases of a review, those of many rounds first; each with its number of rounds.

    Raises
    ------
    PairFailed
        If a name or a pattern fits no case of the quick grid.
    """
    planned = {case.name: case for suite in SUITES for case in suite().plan("quick")}
    wanted: dict[str, int] = {}
    for pattern in patterns or (*TIMED, *ONCE):
        found = fnmatch.filter(planned, pattern)
        if not found:
            raise PairFailed(f"no case of the quick grid is called {pattern!r}; e.g. {TIMED[0]}")
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
    PairFailed
        If git has no package of a commit, or there is no file with that regression.
    """
    version = ".".join(map(str, sys.version_info[:2]))
    key = f"pair-py{version}-jax{importlib.metadata.version('jax')}"
    with tempfile.TemporaryDirectory(prefix="vcjax-pair-") as folder:

        def made(name: str, pair: Path, commit: str, injected: str = NOT_INJECTED) -> MeasuredSide:
            label = Path(injected).stem
            place = Path(folder) / name / label
            package = unpacked(commit, place / "source")
            if injected != NOT_INJECTED:
                inject(injected, package)
                commit = f"{commit}+{label}"
            store = RecordStore(pair / name / commit / key)
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


def measure_in_turns(
    cases: Sequence[PlannedCase],
    measured: Sequence[MeasuredSide],
    *,
    budget_seconds: float,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Every round of every case on all sides; after the budget only rounds begun are finished.

    Every case gets its first round, for what is exact needs no second.
    """
    started = clock()
    for number in range(max((case.rounds for case in cases), default=0)):
        for case in cases:
            if number >= case.rounds:
                continue
            if number and clock() - started > budget_seconds:
                print(f"{budget_seconds:.0f} s are over: no further rounds", flush=True)
                return
            # Who goes first finds the machine as the last case left it: in turns, it is both.
            order = measured if number % 2 == 0 else measured[::-1]
            _measure_round(case, number, order)


def _measure_round(case: PlannedCase, number: int, order: Sequence[MeasuredSide]) -> None:
    kept = [side.store.read(case, number) for side in order]
    if all(record is not None and record.status == "ok" for record in kept):
        return  # one alone would be compared with what the other was at another time
    told = []
    for side in order:
        record = side.workers.measure(case)
        side.store.write(case, number, record)
        told.append(f"{side.name} {record.status}, {record.wall_seconds or 0:.1f} s")
    print(f"round {number} of {case.name}: {'; '.join(told)}", flush=True)


def commit_named(name: str) -> str:
    """The full name of a commit.

    Raises
    ------
    PairFailed
        If git knows no such commit.
    """
    found = _git("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}")
    return found.decode().strip()


def unpacked(commit: str, folder: Path) -> Path:
    """The package ``vcjax`` of a commit, unpacked below `folder`."""
    folder.mkdir(parents=True)
    archive = _git("archive", "--format=tar", commit, "--", "vcjax")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        # Python 3.11.0 to 3.11.3 have no filters yet; the archive is this repository's own.
        if hasattr(tarfile, "data_filter"):
            tar.extraction_filter = tarfile.data_filter
        tar.extractall(folder)
    return folder / "vcjax"


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


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    if done.returncode != 0:
        raise PairFailed(f"'git {' '.join(arguments)}' failed: {done.stderr.decode().strip()}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
