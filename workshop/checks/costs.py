"""Checks for the exercises of lesson 5: where compile time and run time go."""

from __future__ import annotations

from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np

import jaxmeter
from workshop.checks.counting import expect_close
from workshop.course import exercise, expect

MOST_EQUATIONS, MOST_TEMP_BYTES, MOST_TO_ROTATE = 60, 500_000, 6


def _equations(function, *args) -> int:
    """Return the number of equations in a function's jaxpr, including all inner jaxprs. A loop
    that unrolls n rounds counts n times."""
    return _count(jax.make_jaxpr(function)(*args).jaxpr)


def _count(jaxpr) -> int:
    count = len(jaxpr.eqns)
    for equation in jaxpr.eqns:
        params = jax.tree.leaves(list(equation.params.values()))
        inner = sum(_count(one) for one in params if hasattr(one, "eqns"))
        count += equation.params.get("unroll", 1) * inner
    return count


@exercise(
    "5_costs/1_unrolled",
    "The Python loop is unrolled: each round has its own equations.",
    "`jax.lax.fori_loop(0, rounds, lambda _, u: ..., u)` contains one round.",
)
def unrolled(module: ModuleType) -> None:
    """Check that the program of `smoothed` contains one round, for any number of rounds."""
    u = jnp.outer(jnp.arange(6.0), jnp.arange(5.0))
    counts = [_equations(lambda u, n=n: module.smoothed(u, n), u) for n in (4, 40)]
    expect(
        max(counts) <= MOST_EQUATIONS,
        f"the program has {counts[1]} equations for 40 rounds and {counts[0]} for 4 rounds; at "
        f"most {MOST_EQUATIONS} are allowed",
    )
    wanted = u
    for _ in range(4):
        near = sum(jnp.roll(wanted, s, axis) for s in (1, -1) for axis in (0, 1))
        wanted = wanted + 0.1 * (near - 4 * wanted)
    message = "four rounds should give the same answer as before"
    expect_close(module.smoothed(u, 4), wanted, message, hint=1)


@exercise(
    "5_costs/2_chunks",
    "`vmap` computes all points at once. `jax.lax.map` computes one point after another.",
    "`jax.lax.map(at, points, batch_size=32)` takes 32 points at a time.",
)
def chunks(module: ModuleType) -> None:
    """Check that `spacing` never has all pairs of points and sources in memory at once."""
    points = np.linspace(1.0, 2.0, 6000, dtype=np.float32).reshape(2000, 3)
    sources = np.linspace(-1.0, 0.0, 1500, dtype=np.float32).reshape(500, 3)
    found = jaxmeter.memory(module.spacing, points, sources).memory.temp_bytes or 0
    expect(
        found <= MOST_TEMP_BYTES,
        f"the program has {found:,} bytes of temporaries; at most {MOST_TEMP_BYTES:,} are allowed",
    )
    distances = np.sort(np.linalg.norm(points[:, None] - sources, axis=-1), axis=1)
    message = "`spacing` should return the same distances as before"
    expect_close(module.spacing(points, sources), distances[:, :8].mean(1), message)


@exercise(
    "5_costs/3_stacked",
    "Each stacked component is computed by its own loop.",
    "A rotation of all points is one matrix product, `points @ matrix.T`.",
)
def stacked(module: ModuleType) -> None:
    """Check that `rotated` rotates all points with at most `MOST_TO_ROTATE` equations."""
    matrix = jnp.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    points = jnp.linspace(-1.0, 1.0, 24).reshape(8, 3)
    count = _equations(module.rotated, matrix, points)
    expect(
        count <= MOST_TO_ROTATE,
        f"the program has {count} equations; at most {MOST_TO_ROTATE} are allowed",
    )
    wanted = jnp.einsum("ij,nj->ni", matrix, points)
    message = "`rotated` should return the same points as before"
    expect_close(module.rotated(matrix, points), wanted, message, hint=1)
