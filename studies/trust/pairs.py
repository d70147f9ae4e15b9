"""The pairs of functions that `trust.py` measures, in two plans.

Those of ``aa`` are equal functions. Those of ``planted`` are loops of which the second takes longer
by a known share of its time, or shorter. Those of ``compile`` are programs of which the second has
more of the same operations, so that it takes longer to compile by a known share, and to trace and
lower as well.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

KINDS = ("tiny", "elementwise", "matmul", "scan", "fft", "gather", "long")
SECOND_SEED = 100
"""Where the seeds of the second plan begin, so that no pair is measured twice."""


@dataclass(frozen=True)
class Pair:
    """What is compared."""

    study: str
    kind: str
    form: str
    effect: float
    """By how much of its time the second takes longer."""
    seed: int
    compiles: int = 0
    """How often each is compiled again, to compare that too."""

    @property
    def key(self) -> str:
        return f"{self.study}-{self.form}-{self.kind}-{self.effect:g}-{self.seed}"


def first() -> list[Pair]:
    """The most important first, and each kind and study spread over the chunks."""
    equal = [Pair("aa", k, "plain", 0.0, n, compiles=2) for n in range(20) for k in KINDS]
    equal += [Pair("aa", k, "loop", 0.0, n) for n in range(10) for k in KINDS]
    tenth = [Pair("planted", k, "loop", 0.10, n) for n in range(15) for k in KINDS]
    others = [
        Pair("planted", k, "loop", effect, n)
        for n in range(5)
        for effect in (0.03, 0.05, 0.20)
        for k in KINDS
    ]
    random.Random(1).shuffle(both := equal + tenth)
    random.Random(2).shuffle(others)
    return both + others


def second() -> list[Pair]:
    """What the first left out: as many compiles as `jaxmeter.compare` makes, in loops too, what
    takes shorter, and what takes longer to compile."""
    seeds = range(SECOND_SEED, SECOND_SEED + 6)
    equal = [Pair("aa", k, form, 0.0, n, 3) for n in seeds for form in FORMS for k in KINDS]
    faster = [Pair("planted", k, "loop", -0.10, n) for n in seeds[:5] for k in KINDS]
    heavier = [
        Pair("compile", k, "unrolled", effect, n, 3)
        for n in seeds[:5]
        for effect in (0.20, 0.50)
        for k in KINDS
    ]
    random.Random(3).shuffle(equal)
    random.Random(4).shuffle(planted := faster + heavier)
    return equal + planted


FORMS = ("plain", "loop")
PLANS = {"first": first, "second": second}
