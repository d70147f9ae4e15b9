"""Use few shapes for many lengths.

`spread` returns the variance of a series of any length up to LIMIT. JAX compiles a program for each
length. One program should be enough for all lengths.
"""

import jax
import jax.numpy as jnp

LIMIT = 16


@jax.jit
def variance(series):
    return jnp.mean((series - jnp.mean(series)) ** 2)


def spread(series):
    return variance(series)
