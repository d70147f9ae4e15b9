"""How much of a time grows with the length of a loop or program, measured without jaxmeter."""

from __future__ import annotations

import functools
import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax

from studies.trust.kinds import FORMS, KINDS

Shares = Mapping[str, Mapping[str, float]]
TURNS = {"loop": 20, "unrolled": 12}


def growing_shares() -> dict[str, dict[str, float]]:
    """Return the share of each loop's time, and of each program's compile time, that grows with its
    length: measured at twice the length."""
    once = dict.fromkeys(KINDS, 1.0)
    return {
        form: {kind: round(ratio - 1, 3) for kind, ratio in ratios(form, once).items()}
        for form in TIMERS
    }


def injected_effects(shares: Shares) -> dict[str, dict[str, float]]:
    """Return the measured ratio of each injected effect."""
    injected = [("loop", 0.10), ("loop", -0.10), ("unrolled", 0.20), ("unrolled", 0.50)]
    return {
        f"{form} {effect:+g}": ratios(form, {k: effect / s for k, s in shares[form].items()})
        for form, effect in injected
        if form in shares
    }


def ratios(form: str, more: Mapping[str, float]) -> dict[str, float]:
    """Return how much longer each kind takes when its length grows by a share."""
    found = {}
    for kind, share in more.items():
        timers = [TIMERS[form](FORMS[form](kind, 0, longer)) for longer in (0.0, share)]
        pairs = [[timer() for timer in timers] for _ in range(TURNS[form] + 1)][
            1:
        ]  # the first is cold
        found[kind] = round(statistics.median(longer / once for once, longer in pairs), 4)
        print(f"{form}, {kind}: {share:.3f} longer takes {found[kind]} times as long", flush=True)
    return found


def steady_timer(case: Any, seconds: float = 0.05) -> Callable[[], float]:
    """Return a timer of calls, in blocks so long that caches filled by others do not matter."""
    call = functools.partial(jax.jit(case.fn), *case.args)

    def median_seconds() -> float:
        taken: list[float] = []
        while sum(taken) < seconds or len(taken) < 10:
            start = time.perf_counter()
            jax.block_until_ready(call())
            taken.append(time.perf_counter() - start)
        return statistics.median(taken[3:])

    return median_seconds


def compile_timer(case: Any) -> Callable[[], float]:
    """Return a timer of compilations."""

    def compile_seconds() -> float:
        jax.clear_caches()
        gc.collect()
        lowered = jax.jit(case.fn).trace(*case.args).lower()
        start = time.perf_counter()
        lowered.compile()
        return time.perf_counter() - start

    return compile_seconds


TIMERS: dict[str, Callable[[Any], Callable[[], float]]] = {
    "loop": steady_timer,
    "unrolled": compile_timer,
}
