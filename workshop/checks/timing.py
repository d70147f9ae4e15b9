"""Checks for the exercises of lesson 2: honest timing."""

from __future__ import annotations

import json
import statistics
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import jaxmeter
from workshop.checks.counting import expect_close, expect_pair
from workshop.course import FOLDER, exercise, expect

ENOUGH = 6
"""Smallest number of processes on each side with which p can be below 0.005; see lesson 2."""
STARTS, WORKS, COMPILES = 1.0, 7.0, 100.0
"""Seconds on the made-up clock to start a call, to compute, and to compile in the first call."""


class _Machine:
    """A made-up clock, and a function with calls that take time on this clock."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, 0

    def clock(self) -> float:
        return self.now

    def function(self, x: float) -> _Answer:
        self.now += STARTS + (0.0 if self.calls else COMPILES)
        self.calls += 1
        return _Answer(self, self.now + WORKS)


class _Answer:
    """An answer that is ready at a set time; waiting for the answer advances the clock."""

    def __init__(self, machine: _Machine, ready_at: float) -> None:
        self.machine, self.ready_at = machine, ready_at

    def block_until_ready(self) -> _Answer:
        self.machine.now = max(self.machine.now, self.ready_at)
        return self

    def __float__(self) -> float:
        self.block_until_ready()
        return 1.0

    item = tolist = __float__

    def __int__(self) -> int:
        return int(float(self))

    def __bool__(self) -> bool:
        return bool(float(self))

    def __repr__(self) -> str:
        return repr(float(self))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(float(self), dtype)


@exercise(
    "2_timing/1_clock",
    "The first call compiles. Make this call before you start to measure.",
    "`answer.block_until_ready()` waits for the answer. Stop the clock after this call.",
)
def clock(module: ModuleType) -> None:
    """Check that `call_seconds` measures five complete steady-state calls, without the compile."""
    machine = _Machine()
    seconds = module.call_seconds(machine.function, 1.0, machine.clock)
    expect(len(seconds) == 5, f"`call_seconds` should return 5 numbers, not {len(seconds)}")
    expect(max(seconds) < COMPILES, f"a time includes the compile: {seconds}")
    wanted = STARTS + WORKS
    expect(
        all(s == wanted for s in seconds),
        f"`call_seconds` returned {seconds}; a complete call takes {wanted} seconds",
        hint=1,
    )


@exercise(
    "2_timing/2_callbacks",
    "`jax.debug.print` calls Python in each step. Return the numbers instead.",
    "`jax.lax.scan` collects a value of each step: its body returns (x, norm).",
)
def callbacks(module: ModuleType) -> None:
    """Check that the program calls no Python, and that `run` returns the norms of all steps."""
    x = jnp.array([3.0, 4.0])
    found = jaxmeter.inventory(module.run, x).primitives or {}
    called = [name for name in found if "callback" in name or "debug" in name]
    expect(not called, f"the program calls Python: {', '.join(called)}")
    message = "`run` should return the pair (last x, all norms)"
    last, norms = expect_pair(jax.jit(module.run)(x), message, hint=1)
    norms = np.asarray(norms)
    halves = [5.0 / 2**k for k in range(1, 9)]
    expect_close(last, x / 2**8, f"the last x is {last}, not x / 256", hint=1)
    expect_close(norms, np.array(halves), f"the norms are {norms}, not {halves}", hint=1)


@exercise(
    "2_timing/3_processes",
    "Calls within a process are not independent. What is one sample?",
    "Take `statistics.median` of each process, and compare these numbers.",
    "Lesson 2 prints the smallest possible p for n processes on each side. What is the first "
    "n with p < 0.005?",
)
def processes(module: ModuleType) -> None:
    """Check that `p_value` compares medians of processes, and that ENOUGH is correct."""
    recorded = json.loads((FOLDER / "recorded" / "identical.json").read_text())["seconds"]
    left, right = recorded[0::2], recorded[1::2]
    a, b = ([statistics.median(samples) for samples in side] for side in (left, right))
    wanted = float(stats.mannwhitneyu(a, b).pvalue)
    found = float(module.p_value(left, right))
    expect(
        abs(found - wanted) < 1e-12,
        f"`p_value` returned {found:.3g}, but p is {wanted:.3g} for the medians of the processes",
    )
    message = f"ENOUGH is {module.ENOUGH!r}, but lesson 2 shows another number"
    expect(module.ENOUGH == ENOUGH, message, hint=2)
