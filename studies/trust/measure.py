"""Measure how often `jaxmeter compare` is wrong, and how small an effect it finds: docs/trust.md.

    python -m studies trust shares                   # measure shares of times (see below)
    python -m studies trust measure --minutes 60     # measure pairs of functions; rerun to resume
    python -m studies trust check                    # time the injected effects without jaxmeter
    python -m studies verdicts quiet=results/trust/pairs.jsonl     # judge the measured pairs

Each process measures thirty pairs with the code of `jaxmeter.compare`. Each pair has its own
functions, programs and arrays.

An effect is injected by changing the length of a loop or a program. Not all of the time grows with
the length, because each call and each compile has a fixed cost. ``shares`` measures the share of
the time that grows.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import math
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax

from jaxmeter import (
    Case,
    ComparedProcess,
    Effort,
    Exact,
    compare_processes,
    load_1min,
    measure_pair,
)
from studies.harness import RESULTS, Row, append_row, in_worker, measured, read_rows, replace_file
from studies.trust.growth import Shares, growing_shares, injected_effects
from studies.trust.kinds import FORMS, KINDS

EQUAL = "A/A"
SECOND_SEED = 100
"""The first seed of the second plan, so that no pair is measured twice."""
CHUNK = 30
"""Number of pairs that a process measures."""
FILES = {"shares": "shares.json", "measure": "pairs.jsonl", "check": "check.jsonl"}


@dataclass(frozen=True)
class Pair:
    """Two functions to compare.

    In ``A/A`` pairs both functions are equal. In ``injected`` pairs the second loop takes longer,
    or shorter, by a known share of the first loop's time. In ``compile`` pairs the second program
    has more of the same operations, so it takes longer to trace, lower and compile.
    """

    study: str
    kind: str
    form: str
    effect: float
    """How much longer the second function takes, as a share of the first function's time.

    In ``compile`` pairs, the time is the compile time.
    """
    seed: int
    compiles: int = 0
    """Number of timed recompilations of each function."""

    @property
    def key(self) -> str:
        """The name of the pair in rows; no two pairs of the plans have the same name."""
        return f"{self.study}-{self.form}-{self.kind}-{self.effect:g}-{self.seed}"


def first_plan() -> list[Pair]:
    """Return the pairs of the first plan: the most important pairs, shuffled, then the others."""
    both = _pairs(EQUAL, ["plain"], range(20), compiles=2) + _pairs(EQUAL, ["loop"], range(10))
    both += _pairs("injected", ["loop"], range(15), [0.10])
    others = _pairs("injected", ["loop"], range(5), [0.03, 0.05, 0.20])
    random.Random(1).shuffle(both)
    random.Random(2).shuffle(others)
    return both + others


def second_plan() -> list[Pair]:
    """Return the pairs of the second plan, none of which is in the first plan.

    The plan has three groups: A/A pairs of plain functions and of loops, with as many compiles as
    `jaxmeter.compare` makes; pairs with a shorter steady-state time; and pairs with a longer
    compile time.
    """
    seeds = range(SECOND_SEED, SECOND_SEED + 6)
    equal = _pairs(EQUAL, ["plain", "loop"], seeds, compiles=3)
    injected = _pairs("injected", ["loop"], seeds[:5], [-0.10])
    injected += _pairs("compile", ["unrolled"], seeds[:5], [0.20, 0.50], compiles=3)
    random.Random(3).shuffle(equal)
    random.Random(4).shuffle(injected)
    return equal + injected


def _pairs(
    study: str,
    forms: Iterable[str],
    seeds: Iterable[int],
    effects: Iterable[float] = (0.0,),
    compiles: int = 0,
) -> list[Pair]:
    return [
        Pair(study, kind, form, effect, seed, compiles)
        for seed, form, effect, kind in itertools.product(seeds, forms, effects, KINDS)
    ]


PLANS = {"first": first_plan, "second": second_plan}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    add = parser.add_argument
    add("step", choices=FILES, help="step of the study, as described above")
    add("--out", type=Path, help="file for the results; default: a file in results/trust")
    about = "file of shares from the step 'shares'; default: the committed file"
    add("--shares", type=Path, default=measured("trust", "shares.json"), help=about)
    add("--plan", choices=PLANS, default="first", help="the pairs to measure")
    add("--pairs", type=int, help="measure only this many pairs, from the start of the plan")
    add("--processes", type=int, default=8, help="number of processes for each pair")
    about = "start no process after this many minutes"
    add("--minutes", type=float, default=math.inf, help=about)


def run(options: argparse.Namespace) -> int:
    """Run a step of the study: measure the shares, measure the pairs, or check the effects."""
    out = options.out or RESULTS / "trust" / FILES[options.step]
    if options.step == "shares":
        replace_file(out, json.dumps(growing_shares(), indent=2) + "\n")
        return 0
    shares = json.loads(options.shares.read_text())
    if options.step == "check":
        append_row(out, injected_effects(shares))
    else:
        pairs = PLANS[options.plan]()[: options.pairs]
        measure(pairs, out, shares, options.processes, options.minutes)
    return 0


def measure(pairs: list[Pair], out: Path, shares: Shares, processes: int, minutes: float) -> None:
    """Measure the rows that the file does not contain yet, with `CHUNK` pairs in each process.

    Start no process after `minutes`.
    """
    deadline = time.monotonic() + 60 * minutes
    chunks = [pairs[start : start + CHUNK] for start in range(0, len(pairs), CHUNK)]
    # First measure, for all pairs, the six processes that `jaxmeter.compare` uses.
    for numbers in (range(min(6, processes)), range(6, processes)):
        for chunk, number in itertools.product(chunks, numbers):
            done = {(row["key"], row["process"]) for row in read_rows(out)}
            missing = [asdict(pair) for pair in chunk if (pair.key, number) not in done]
            if missing and time.monotonic() < deadline:
                arguments = {"pairs": missing, "process": number, "shares": shares}
                in_worker(process_rows, out, arguments)


def process_rows(pairs: list[Row], process: int, shares: Shares) -> Iterator[Row]:
    """Measure pairs in this process and yield a row for each pair."""
    random.Random(process).shuffle(pairs)  # so that no pair always follows the same other pair
    for fields in pairs:
        yield pair_row(Pair(**fields), process, shares)


def pair_row(pair: Pair, process: int, shares: Shares) -> Row:
    """Measure a pair in this process and return its row."""
    start = time.perf_counter()
    make = FORMS[pair.form]
    more = (pair.effect / shares[pair.form][pair.kind],) if pair.effect else ()
    cases = make(pair.kind, pair.seed), make(pair.kind, pair.seed, *more)
    effort = Effort(steady_seconds=0.25, compiles=pair.compiles)
    taken, exact = compared(cases, effort, swapped=process % 2 == 1)
    return {
        "key": pair.key,
        "process": process,
        **asdict(pair),
        "a": [float(f"{seconds:.4g}") for seconds in taken.a.samples_seconds],
        "b": [float(f"{seconds:.4g}") for seconds in taken.b.samples_seconds],
        "compiles": [
            [[one.trace_seconds, one.lower_seconds, one.compile_seconds] for one in side]
            for side in (taken.a_compiles, taken.b_compiles)
        ],
        "exact": [name for name, one in exact.items() if one.verdict != "same"],
        "load_1min": load_1min(),
        "utc": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "wall_seconds": round(time.perf_counter() - start, 3),
    }


def compared(
    cases: Sequence[Case], effort: Effort, *, swapped: bool = False, calls: Any = ((), ())
) -> tuple[ComparedProcess, dict[str, Exact]]:
    """Measure two cases in this process; return the measurement and the exact quantities."""
    process = measure_pair(cases[0], cases[1], effort, swapped=swapped, calls=calls)
    jax.clear_caches()
    return process, {one.quantity: one for one in compare_processes([process]).exact}
