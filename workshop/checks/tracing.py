"""Checks for the exercises of lesson 1: what jit traces."""

from __future__ import annotations

from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np

import jaxmeter
from workshop.checks.counting import expect_close, expect_pair, own_counts
from workshop.course import exercise, expect


@exercise(
    "1_tracing/1_side_effects",
    "Python code in `step` runs only while `step` is traced. Which code runs in each call?",
    "Count in `run`, or let `step` take the count and return it, increased by one.",
    "JAX traces again for each value of a static count. It also traces again if the count "
    "is a Python number in one call and an array with an explicit dtype in the next.",
)
def side_effects(module: ModuleType) -> None:
    """Check that `run` counts the calls, and that `step` is still jitted and traced once."""
    expect(isinstance(module.step, jax.stages.Wrapped), "`step` should stay jitted")
    answers = []
    traces, *_ = own_counts(lambda: answers.extend([module.run(8.0, 3), module.run(8.0, 5)]))
    for times, answer in zip((3, 5), answers, strict=True):
        x, count = expect_pair(answer, "`run` should return the pair (x, count)", hint=1)
        expect_close(x, 8.0 / 2**times, f"run(8.0, {times}) should give x = {8.0 / 2**times}")
        expect(int(count) == times, f"run(8.0, {times}) counts {int(count)}, not {times} calls")
    expect(traces <= 1, f"`step` was traced {traces} times; once is enough", hint=2)


@exercise(
    "1_tracing/2_branches",
    "A traced value has no truth value. `jnp.where` selects without a branch.",
    "The derivative of `where` computes both sides, and the root of -1 is NaN. "
    "Before you take the root, replace x by 1 where x is not positive.",
)
def branches(module: ModuleType) -> None:
    """Check that `root` is traced once for both signs, and has the right values and derivative."""
    found = jaxmeter.retraces(module.root, [(4.0,), (-1.0,), (9.0,)])
    expect(found.traces_count == 1, f"three calls made {found.traces_count} traces, not 1")
    x = jnp.array([4.0, -1.0, 0.25])
    answer = jax.jit(module.root)(x)
    expect_close(answer, np.array([2.0, 0.0, 0.5]), f"root({x}) is {answer}, not [2, 0, 0.5]")
    for x, wanted in ((-1.0, 0.0), (4.0, 0.25)):
        slope = jax.grad(module.root)(x)
        expect_close(slope, wanted, f"the derivative at {x:g} is {slope}, not {wanted:g}", hint=1)


@exercise(
    "1_tracing/3_leak",
    "After the trace, `monitor.largest` is a tracer.",
    "Return the pair (y, largest) from `solve`, and let `report` return it.",
)
def leak(module: ModuleType) -> None:
    """Check that `report` returns the largest value of its own call, and that nothing leaks."""
    for size in (4, 6):
        x = jnp.arange(float(size))
        message = "`report` should return the pair (y, largest)"
        y, largest = expect_pair(module.report(x), message, hint=1)
        wanted = np.sin(np.arange(size)) * np.arange(size)
        expect_close(y, wanted, "`report` should return y first, then the largest value", hint=1)
        expect_close(
            float(largest),
            wanted.max(),
            f"`report` returned {largest} as the largest y, not {wanted.max()}",
        )
    try:
        with jax.checking_leaks():
            module.report(jnp.arange(8.0))
    except Exception as error:
        expect("Leaked" not in str(error), "a tracer leaks out of `solve`")
        raise
