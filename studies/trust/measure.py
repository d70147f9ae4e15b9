"""How far can the comparison be trusted: false alarms, and the effects that it finds.

``python trust.py shares --out shares.json``, then ``python trust.py measure --plan second --shares
shares.json --out rows.jsonl --until 2026-01-31T18:55`` measures pairs of functions with the very
code of `jaxmeter.compare`: one pair after the other in each process, each pair with functions,
programs and arrays of its own, in up to eight processes. It goes on where it ended, and ends by
itself. `trust_pairs.py` tells the pairs, `trust_rounds.py` keeps of the rows what
`trust_tables.py` judges.

Not all of a loop's time grows with its length, for a call costs something too, nor all of a
program's time of compiling with its operations: how much does is what ``shares`` finds, and
``check`` measures what was planted, in a process of its own and without the meter.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import gc
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jaxmeter import load_1min
from studies.trust.pairs import KINDS, PLANS, Pair

PROCESSES = 8
CHUNK = 30
"""Pairs for each process."""
Shares = dict[str, dict[str, float]]


def measure(
    every: list[Pair], out: Path, shares: Shares, until: datetime.datetime, processes: int
) -> None:
    """Measure what is not measured yet, chunk by chunk, round by round."""
    chunks = [every[start : start + CHUNK] for start in range(0, len(every), CHUNK)]
    # Six processes of all first: that is what the defaults need.
    for rounds in (range(6), range(6, processes)):
        for chunk, number in itertools.product(chunks, rounds):
            missing = [pair for pair in chunk if (pair.key, number) not in _measured(out)]
            left = (until - datetime.datetime.now(datetime.UTC)).total_seconds()
            if left < 10:
                return
            if missing:
                _measure_in_process(missing, number, shares, out, left)


def _measured(out: Path) -> set[tuple[str, int]]:
    if not out.exists():
        return set()
    return {(row["key"], row["process"]) for row in map(json.loads, out.open())}


def _measure_in_process(
    chunk: list[Pair], number: int, shares: Shares, out: Path, left: float
) -> None:
    every = [asdict(pair) for pair in chunk]
    task = json.dumps({"pairs": every, "process": number, "shares": shares})
    command = [sys.executable, "-m", "studies.trust.measure", "process", "--out", str(out)]
    env = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "false"}
    try:
        done = subprocess.run(command, input=task, text=True, env=env, timeout=left)
    except subprocess.TimeoutExpired:
        return
    if done.returncode:
        raise SystemExit(f"trust.py: process {number} ended with {done.returncode}")


def process(out: Path) -> None:
    """Measure the pairs of one process; what it runs is told by its standard input."""
    task = json.load(sys.stdin)
    number = task["process"]
    chunk = [Pair(**fields) for fields in task["pairs"]]
    random.Random(number).shuffle(chunk)  # no pair always meets what another leaves behind
    with out.open("a") as rows:
        for pair in chunk:
            print(json.dumps(_row(pair, number, task["shares"])), file=rows, flush=True)


def _row(pair: Pair, number: int, shares: Shares) -> dict[str, Any]:
    import jax

    from jaxmeter import Effort, compare_processes, measure_pair
    from studies.trust import kinds

    start = time.perf_counter()
    make = getattr(kinds, pair.form)
    cases = [make(pair.kind, pair.seed)]
    more = (pair.effect / shares[pair.form][pair.kind],) if pair.effect else ()
    cases.append(make(pair.kind, pair.seed, *more))
    effort = Effort(steady_seconds=0.25, compiles=pair.compiles)
    measured = measure_pair(cases[0], cases[1], effort, swapped=number % 2 == 1)
    compared = compare_processes([measured]).exact
    exact = [one.quantity for one in compared if one.verdict != "same"]
    jax.clear_caches()
    return {
        "key": pair.key,
        "process": number,
        **asdict(pair),
        "a": [float(f"{s:.4g}") for s in measured.a.samples_seconds],
        "b": [float(f"{s:.4g}") for s in measured.b.samples_seconds],
        "compiles": [
            [
                [phases.trace_seconds, phases.lower_seconds, phases.compile_seconds]
                for phases in side
            ]
            for side in (measured.a_compiles, measured.b_compiles)
        ],
        "exact": exact,
        "load_1min": load_1min(),
        "utc": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "wall_seconds": round(time.perf_counter() - start, 3),
    }


def steady_ratios(more: dict[str, float], turns: int = 20) -> dict[str, float]:
    """How much longer each loop takes that is longer by a share of its length.

    It is found without the meter, in blocks of calls so long that what the other loop left in the
    caches does not matter.
    """
    import jax

    from studies.trust import kinds

    def median_seconds(call: Callable[[], Any], seconds: float = 0.05) -> float:
        taken: list[float] = []
        while sum(taken) < seconds or len(taken) < 10:
            start = time.perf_counter()
            jax.block_until_ready(call())
            taken.append(time.perf_counter() - start)
        return statistics.median(taken[3:])

    found = {}
    for name, by in more.items():
        cases = [kinds.loop(name, 0, longer) for longer in (0.0, by)]
        calls = [functools.partial(jax.jit(case.fn), *case.args) for case in cases]
        for call in calls:
            median_seconds(call)
        ratios = []
        for _ in range(turns):
            once, longer = map(median_seconds, calls)
            ratios.append(longer / once)
        found[name] = round(statistics.median(ratios), 4)
        print(f"{name}: {1e6 * once:.0f} us, by {by:.3f} longer: {found[name]}", flush=True)
    return found


def compile_ratios(more: dict[str, float], turns: int = 12) -> dict[str, float]:
    """How much longer each unrolled program takes to compile that is longer by a share."""
    import jax

    from studies.trust import kinds

    def seconds(case: Any) -> float:
        jax.clear_caches()
        gc.collect()
        lowered = jax.jit(case.fn).trace(*case.args).lower()
        start = time.perf_counter()
        lowered.compile()
        return time.perf_counter() - start

    found = {}
    for name, by in more.items():
        cases = [kinds.unrolled(name, 0, longer) for longer in (0.0, by)]
        taken = [list(map(seconds, cases)) for _ in range(turns + 1)][1:]  # the first is cold
        found[name] = round(statistics.median(longer / once for once, longer in taken), 4)
        print(f"{name}: {1e3 * taken[-1][0]:.0f} ms, by {by:.3f} longer: {found[name]}", flush=True)
    return found


FORMS: dict[str, Callable[[dict[str, float]], dict[str, float]]] = {
    "loop": steady_ratios,
    "unrolled": compile_ratios,
}


def find_shares() -> Shares:
    """The share of each loop's time, and of each program's time of compiling, that grows with its
    length: from one of twice the length."""
    return {
        form: {name: round(ratio - 1, 3) for name, ratio in ratios(dict.fromkeys(KINDS, 1)).items()}
        for form, ratios in FORMS.items()
    }


def check(shares: Shares) -> dict[str, dict[str, float]]:
    """By how much what is planted takes longer indeed."""
    planted = [("loop", 0.10), ("loop", -0.10), ("unrolled", 0.20), ("unrolled", 0.50)]
    return {
        f"{form} {effect:+g}": FORMS[form](
            {name: effect / share for name, share in shares[form].items()}
        )
        for form, effect in planted
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("shares", "measure", "process", "check"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shares", type=Path, help="what shares wrote")
    parser.add_argument("--until", type=datetime.datetime.fromisoformat, help="UTC")
    parser.add_argument("--plan", choices=PLANS, default="first", help="which pairs")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    options = parser.parse_args()
    if options.what == "shares":
        options.out.write_text(json.dumps(find_shares(), indent=2) + "\n")
    elif options.what == "check":
        truth = check(json.loads(options.shares.read_text()))
        with options.out.open("a") as lines:
            print(json.dumps(truth), file=lines)
    elif options.what == "process":
        process(options.out)
    else:
        until = options.until.replace(tzinfo=datetime.UTC)
        shares = json.loads(options.shares.read_text())
        measure(PLANS[options.plan](), options.out, shares, until, options.processes)


if __name__ == "__main__":
    main()
