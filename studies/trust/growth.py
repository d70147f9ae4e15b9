"""Measure without jaxmeter which share of a time grows with the length of a loop or program.

The time is the steady-state time of a loop, or the compile time of a program that repeats a loop
body. The rest of the time does not depend on the length.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Mapping

import jax

from jaxmeter import Case
from studies.trust.kinds import FORMS, KINDS

Shares = Mapping[str, Mapping[str, float]]
TURNS = {"loop": 20, "unrolled": 12}
EFFECTS = (("loop", 0.10), ("loop", -0.10), ("unrolled", 0.20), ("unrolled", 0.50))


def growing_shares() -> dict[str, dict[str, float]]:
    """Return the share of each time that grows with the length, measured by doubling the length.

    The times are the steady-state time of each loop and the compile time of each unrolled program.
    """
    once = dict.fromkeys(KINDS, 1.0)
    return {
        form: {kind: round(ratio - 1, 3) for kind, ratio in ratios(form, once).items()}
        for form in TURNS
    }


def injected_effects(shares: Shares) -> dict[str, dict[str, float]]:
    """Return the measured ratio of times for each injected effect, by effect and kind of function.

    `shares` is the result of `growing_shares`, or a part of it.
    """
    return {
        f"{form} {effect:+g}": ratios(form, {k: effect / s for k, s in shares[form].items()})
        for form, effect in EFFECTS
        if form in shares
    }


def ratios(form: str, more: Mapping[str, float]) -> dict[str, float]:
    """Return the ratio of times, changed over original length, for each kind of function.

    `more` gives, for each kind, the added length of the loop or program as a share of its length. A
    negative share makes the loop or program shorter.
    """
    seconds = steady_seconds if form == "loop" else compile_seconds
    found = {}
    for kind, share in more.items():
        once, longer = (FORMS[form](kind, 0, extra) for extra in (0.0, share))
        turns = [seconds(longer) / seconds(once) for _ in range(TURNS[form] + 1)]
        found[kind] = round(statistics.median(turns[1:]), 4)  # the first turn is cold
        print(
            f"{form}, {kind}: with the length changed by {share:+.1%}, the time is {found[kind]} "
            "times the original",
            flush=True,
        )
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


def compile_seconds(case: Case) -> float:
    """Return the seconds of one compilation, without tracing and lowering; clear caches first."""
    jax.clear_caches()
    gc.collect()
    lowered = jax.jit(case.fn).trace(*case.args).lower()
    start = time.perf_counter()
    lowered.compile()
    return time.perf_counter() - start
