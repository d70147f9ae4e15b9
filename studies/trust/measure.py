"""Measure how often `jaxmeter compare` is wrong, and how small an effect it finds (docs/trust.md).

    python -m studies trust shares                   # measure shares of times (see below)
    python -m studies trust measure --minutes 60     # measure pairs of functions; rerun to resume
    python -m studies trust check                    # time the injected effects without jaxmeter
    python -m studies verdicts quiet=results/trust/pairs.jsonl     # judge the measured pairs

Each process measures thirty pairs with the code of `jaxmeter.compare`. Each pair has its own
functions, programs and arrays.

An effect is injected by making a loop longer. Not all of the time grows with the length of the
loop, because each call has a fixed cost. ``shares`` measures the share of the time that grows.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import itertools
import json
import math
import random
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from studies.harness import (
    RESULTS,
    Row,
    StudyError,
    append_row,
    in_worker,
    measured,
    read_rows,
    replace_file,
)
from studies.trust.kinds import FORMS, KINDS, loop

EQUAL = "A/A"
CHUNK = 30
"""Number of pairs that a process measures."""
PROCESSES_COUNT = 8
"""Number of processes that measure each pair."""
CHECKED_EFFECT = 0.10
TURNS = 20
"""Number of times that a longer loop and its original are measured, one after the other."""
Shares = Mapping[str, Mapping[str, float]]
"""For the form "loop" and each kind: the share of the time that grows with the loop's length."""
FILES = {"shares": "shares.json", "measure": "pairs.jsonl", "check": "check.jsonl"}


def planned_pairs() -> list[Row]:
    """Return the pairs to measure: first the most important, then the others. Shuffle both groups.

    Each pair is two functions. In ``A/A`` pairs both functions are equal. In ``injected`` pairs
    both functions are loops, and the second loop takes longer by a known share of the first loop's
    time.
    """
    first = _pairs(EQUAL, "plain", range(20), compiles=2) + _pairs(EQUAL, "loop", range(10))
    first += _pairs("injected", "loop", range(15), [0.10])
    others = _pairs("injected", "loop", range(5), [0.03, 0.05, 0.20])
    random.Random(1).shuffle(first)
    random.Random(2).shuffle(others)
    return first + others


def _pairs(
    study: str,
    form: str,
    seeds: Iterable[int],
    effects: Iterable[float] = (0.0,),
    compiles: int = 0,
) -> list[Row]:
    """Return one pair for each seed, effect and kind. Each pair has a unique key.

    `effects` are the shares by which the second function takes longer. `compiles` is the number of
    timed recompilations of each function.
    """
    fixed = {"study": study, "form": form, "compiles": compiles}
    return [
        {
            "key": f"{study}-{form}-{kind}-{effect:g}-{seed}",
            **fixed,
            "kind": kind,
            "effect": effect,
            "seed": seed,
        }
        for seed, effect, kind in itertools.product(seeds, effects, KINDS)
    ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this study to its parser."""
    add = parser.add_argument
    add("step", choices=FILES, help="step of the study, as described above")
    add("--out", type=Path, help="file for the results; default: a file in results/trust")
    about = "file of shares from the step 'shares'; default: the committed file"
    add("--shares", type=Path, default=measured("trust", "shares.json"), help=about)
    about = "start no process after this many minutes"
    add("--minutes", type=float, default=math.inf, help=about)


def run(options: argparse.Namespace) -> int:
    """Run a step of the study: measure the shares, measure the pairs, or check the effects."""
    out = options.out or RESULTS / "trust" / FILES[options.step]
    if options.step == "shares":
        doubled = ratios(dict.fromkeys(KINDS, 1.0))  # loops of twice the length
        shares = {"loop": {kind: round(ratio - 1, 3) for kind, ratio in doubled.items()}}
        replace_file(out, json.dumps(shares, indent=2) + "\n")
        return 0
    shares = read_shares(options.shares)
    if options.step == "check":
        more = {kind: CHECKED_EFFECT / share for kind, share in shares["loop"].items()}
        append_row(out, {f"loop {CHECKED_EFFECT:+g}": ratios(more)})
    else:
        measure(planned_pairs(), out, shares, options.minutes)
    return 0


def read_shares(path: Path) -> Shares:
    """Return the shares that the step "shares" wrote to a file."""
    with contextlib.suppress(ValueError, KeyError, TypeError):
        shares = json.loads(path.read_text())
        if all(0 < shares["loop"][kind] < math.inf for kind in KINDS):
            return shares
    raise StudyError(
        f"got --shares {path}, which does not have a number above 0 for each of "
        f"{', '.join(KINDS)}; give a file that `python -m studies trust shares` wrote"
    )


def measure(pairs: list[Row], out: Path, shares: Shares, minutes: float) -> None:
    """Measure the rows that the file `out` does not contain yet, `CHUNK` pairs in each process.

    Start no process after `minutes`.
    """
    deadline = time.monotonic() + 60 * minutes
    chunks = [pairs[start : start + CHUNK] for start in range(0, len(pairs), CHUNK)]
    # First measure all pairs in six processes, the number that `jaxmeter.compare` uses.
    for numbers in (range(6), range(6, PROCESSES_COUNT)):
        for chunk, number in itertools.product(chunks, numbers):
            done = {(row["key"], row["process"]) for row in read_rows(out)}
            missing = [pair for pair in chunk if (pair["key"], number) not in done]
            if missing and time.monotonic() < deadline:
                arguments = {"pairs": missing, "process": number, "shares": shares}
                in_worker(process_rows, out, arguments)


def process_rows(pairs: list[Row], process: int, shares: Shares) -> Iterator[Row]:
    """Measure pairs in this process and yield a row for each pair."""
    random.Random(process).shuffle(pairs)  # so that no pair always follows the same other pair
    for pair in pairs:
        yield pair_row(pair, process, shares)


def pair_row(pair: Row, process: int, shares: Shares) -> Row:
    """Measure a pair in this process and return its row."""
    start = time.perf_counter()
    form, kind, seed, effect = (pair[name] for name in ("form", "kind", "seed", "effect"))
    more = (effect / shares[form][kind],) if effect else ()
    cases = FORMS[form](kind, seed), FORMS[form](kind, seed, *more)
    effort = Effort(steady_seconds=0.25, compiles=pair["compiles"])
    taken, exact = compared(cases, effort, swapped=process % 2 == 1)
    return {
        "process": process,
        **pair,
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


def ratios(more: Mapping[str, float]) -> dict[str, float]:
    """Return, for each kind, the ratio of steady-state times: longer loop to original loop.

    The times are measured without jaxmeter. `more` gives, for each kind, the added length as a
    share of the length of the original loop.
    """
    found = {}
    for kind, share in more.items():
        once, longer = loop(kind, 0), loop(kind, 0, share)
        turns = [steady_seconds(longer) / steady_seconds(once) for _ in range(TURNS + 1)]
        found[kind] = round(statistics.median(turns[1:]), 4)  # the first turn is cold
        print(f"{kind}: a loop longer by {share:.1%} takes {found[kind]} times as long", flush=True)
    return found


def steady_seconds(case: Case) -> float:
    """Return the median time of a call in a block of calls, in seconds.

    The block is long enough that the initial contents of the processor's caches do not matter.
    """
    call = jax.jit(case.fn)
    taken: list[float] = []
    while sum(taken) < 0.05 or len(taken) < 10:
        start = time.perf_counter()
        jax.block_until_ready(call(*case.args))
        taken.append(time.perf_counter() - start)
    return statistics.median(taken[3:])
