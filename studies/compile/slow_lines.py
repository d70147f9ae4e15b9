"""Define functions that have one slow line each; a compile profile must rank this line first.

The slow line takes long to compile and has the comment ``# slow line``. The other lines are usual
operations.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_DRAWN = np.random.default_rng(0).normal(size=(48, 48)).astype("float32")


def unrolled_loop(x: jax.Array) -> jax.Array:
    scale = jnp.abs(x).max()
    for step in range(30):
        x = jnp.sin(x) + jnp.roll(x, step) * (step + 1.0)  # slow line
    return x / scale


def sort_of_a_captured_array(x: jax.Array) -> jax.Array:
    weights = jnp.tanh(x)
    order = jnp.sort(_DRAWN, axis=0)  # slow line
    return weights @ order


def cumulative_sum_of_a_captured_array(x: jax.Array) -> jax.Array:
    weights = jnp.tanh(x)
    total = jnp.cumsum(jnp.cumsum(jnp.repeat(_DRAWN, 8, 0), 0), 1)  # slow line
    return (total @ weights.T).sum()


def stacked_components(x: jax.Array) -> jax.Array:
    scale = jnp.abs(x).max()
    parts = jnp.stack([jnp.cos(n * x) for n in range(40)], axis=-1)  # slow line
    return (parts / scale).sum(axis=-1)


def nested_gathers(table: jax.Array, index: jax.Array) -> jax.Array:
    scale = table.sum()

    def products(i: jax.Array, j: jax.Array) -> jax.Array:
        terms = (table[i, j - n] * table[j, i - n] for n in range(9))  # slow line
        return functools.reduce(jnp.add, terms)

    row = jax.vmap(products, (None, 0))
    return jax.vmap(row, (0, None))(index, index) / scale


def big_switch(n: jax.Array, x: jax.Array) -> jax.Array:
    scale = jnp.abs(x).max()
    branches = [lambda y, k=k: jnp.tanh(k * y) + jnp.exp(y - k) for k in range(30)]  # slow line
    return jax.lax.switch(n, branches, x) / scale


def erfc_in_float64(x: jax.Array) -> jax.Array:
    damped = jnp.exp(-x)
    tails = [jax.scipy.special.erfc(x[n:].astype("float64"))[0] for n in range(9)]  # slow line
    return damped + jnp.asarray(tails, x.dtype).sum()


def incomplete_gamma(x: jax.Array) -> jax.Array:
    damped = jnp.exp(-x)
    return damped * jax.scipy.special.gammainc(2.5, x)  # slow line


def powers_in_a_comprehension(x: jax.Array) -> jax.Array:
    scale = jnp.abs(x).max()
    terms = sum(jnp.cumsum(x**n)[::-1] for n in range(2, 22))  # slow line
    return terms / scale


def repeated_sorts(x: jax.Array) -> jax.Array:
    scale = jnp.abs(x).max()
    ranks = [jnp.sort(x[n:] * (n + 1))[0] for n in range(12)]  # slow line
    return jnp.asarray(ranks) / scale


def functions() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    """Return the functions by name, each with its arguments."""
    x = jnp.linspace(0.5, 1.5, 200, dtype="float32")
    rows = jnp.ones((3, 48), "float32")
    index = jnp.arange(1, 6)
    return {
        "unrolled loop": (unrolled_loop, (x,)),
        "sort of a captured array": (sort_of_a_captured_array, (rows,)),
        "cumsum of a captured array": (cumulative_sum_of_a_captured_array, (rows,)),
        "stack of 40 components": (stacked_components, (x,)),
        "nest of mapped gathers": (nested_gathers, (jnp.ones((20, 20), "float32"), index)),
        "switch of 30 branches": (big_switch, (jnp.asarray(3), x)),
        "erfc in float64": (erfc_in_float64, (x,)),
        "incomplete gamma function": (incomplete_gamma, (x,)),
        "powers in a comprehension": (powers_in_a_comprehension, (x,)),
        "repeated sorts": (repeated_sorts, (x,)),
    }


def slow_line(fn: Callable[..., Any]) -> str:
    """Return file and line number of a function's slow line, such as ``/path/slow_lines.py:12``."""
    lines, first = inspect.getsourcelines(fn)
    (at,) = (number for number, text in enumerate(lines) if "# slow line" in text)
    return f"{inspect.getsourcefile(fn)}:{first + at}"
