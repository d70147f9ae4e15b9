"""Checks for the exercises of lesson 3: recompilation."""

from __future__ import annotations

from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np

import jaxmeter
from workshop.checks.counting import expect_close, own_counts
from workshop.course import exercise, expect


@exercise(
    "3_recompilation/1_static",
    "JAX compiles a program for each value of a static argument. Can `rounds` be traced?",
    "`jax.lax.fori_loop(0, rounds, body, x)` takes a traced number of rounds.",
)
def static(module: ModuleType) -> None:
    """Check that `damped` is jitted, and has one program for all numbers of rounds."""
    expect(isinstance(module.damped, jax.stages.Wrapped), "`damped` should stay jitted", hint=1)
    x = jnp.array([1.0, 2.0])
    found = jaxmeter.retraces(module.damped, [(x, rounds) for rounds in range(1, 7)])
    expect(
        found.compiles_count == 1,
        f"six calls with different `rounds` took {found.compiles_count} compiles, not 1",
    )
    answer = module.damped(x, 3)
    message = f"three rounds give {answer}, not x * 0.729"
    expect_close(answer, np.array([0.729, 1.458]), message, hint=1)


@exercise(
    "3_recompilation/2_temporary",
    "How many function objects does the loop make?",
    "Define one jitted function of (x, rate) outside of `descend`, without static arguments.",
)
def temporary(module: ModuleType) -> None:
    """Check that `descend` has one program for all rates and all calls."""
    x, rates, answers = jnp.array([1.0, -2.0]), (0.1, 0.2, 0.3, 0.4), []
    _, first, _ = own_counts(lambda: answers.append(module.descend(x, rates)))
    _, again, _ = own_counts(lambda: module.descend(x, rates))
    wanted = x * (0.8 * 0.6 * 0.4 * 0.2)
    expect_close(answers[0], wanted, f"`descend` returned {answers[0]}, not {wanted}", hint=1)
    expect(first == 1, f"four rates took {first} compiles, not 1", hint=int(first == 0))
    expect(again == 0, f"the second call took {again} compiles, not 0", hint=1)


@exercise(
    "3_recompilation/3_shapes",
    "Pad each series to LIMIT numbers, and pass the length of the series too.",
    "Pad with NumPy: padding with JAX would compile a program for each length.",
    "Make the mask jnp.arange(LIMIT) < count. In the mean and in the variance, sum only "
    "where the mask is true.",
)
def shapes(module: ModuleType) -> None:
    """Check that `spread` has one program for all lengths up to the limit."""
    series = [np.arange(1.0, n + 1, dtype=np.float32) for n in (3, 7, 12, 16)]
    answers = []
    # JAX's own programs count too: padding with jax.numpy compiles a program for each length.
    *_, first = own_counts(lambda: answers.append(module.spread(series[0])))
    _, own, compiles = own_counts(lambda: answers.extend(module.spread(s) for s in series[1:]))
    wanted = [float(np.var(s)) for s in series]
    expect_close(answers, wanted, f"`spread` returned {answers}, not {wanted}", hint=2)
    expect(first > 0, "`spread` compiled no program; `variance` should stay jitted")
    expect(own == 0, f"three more lengths took {own} more compiles, not 0")
    expect(
        compiles == 0,
        f"operations outside of jit took {compiles} compiles for three more lengths, not 0",
        hint=1,
    )
