"""The pairs of functions that are compared, in two plans, and their measurement in this process.

``A/A`` pairs are equal functions. In ``injected`` pairs the second loop takes longer, or shorter,
by a known share of its time. In ``compile`` pairs the second program has more of the same
operations, so it takes longer to trace, lower and compile.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jaxmeter import Case, ComparedProcess, Effort, Exact, compare_processes, measure_pair
from studies.trust.kinds import KINDS

EQUAL = "A/A"
SECOND_SEED = 100
"""The first seed of the second plan, so that no pair is measured twice."""


@dataclass(frozen=True)
class Pair:
    """Two functions to compare."""

    study: str
    kind: str
    form: str
    effect: float
    """The share of its time by which the second takes longer."""
    seed: int
    compiles: int = 0
    """Timed recompilations of each function."""

    @property
    def key(self) -> str:
        return f"{self.study}-{self.form}-{self.kind}-{self.effect:g}-{self.seed}"


def first() -> list[Pair]:
    """Return the first plan: the most important pairs first, kinds spread over the chunks."""
    both = [Pair(EQUAL, k, "plain", 0.0, n, compiles=2) for n in range(20) for k in KINDS]
    both += [Pair(EQUAL, k, "loop", 0.0, n) for n in range(10) for k in KINDS]
    both += [Pair("injected", k, "loop", 0.10, n) for n in range(15) for k in KINDS]
    others = [
        Pair("injected", k, "loop", effect, n)
        for n in range(5)
        for effect in (0.03, 0.05, 0.20)
        for k in KINDS
    ]
    random.Random(1).shuffle(both)
    random.Random(2).shuffle(others)
    return both + others


def second() -> list[Pair]:
    """Return the pairs that the first plan lacks: as many compiles as `jaxmeter.compare` makes, in
    loops too, shorter steady-state times, and longer compile times."""
    seeds = range(SECOND_SEED, SECOND_SEED + 6)
    equal = [Pair(EQUAL, k, f, 0.0, n, 3) for n in seeds for f in ("plain", "loop") for k in KINDS]
    injected = [Pair("injected", k, "loop", -0.10, n) for n in seeds[:5] for k in KINDS]
    injected += [
        Pair("compile", k, "unrolled", effect, n, 3)
        for n in seeds[:5]
        for effect in (0.20, 0.50)
        for k in KINDS
    ]
    random.Random(3).shuffle(equal)
    random.Random(4).shuffle(injected)
    return equal + injected


PLANS = {"first": first, "second": second}


def compared(
    cases: Sequence[Case], effort: Effort, *, swapped: bool = False, calls: Any = ((), ())
) -> tuple[ComparedProcess, dict[str, Exact]]:
    """Measure two cases in this process; return the measurement and the exact quantities."""
    process = measure_pair(cases[0], cases[1], effort, swapped=swapped, calls=calls)
    jax.clear_caches()
    return process, {one.quantity: one for one in compare_processes([process]).exact}
