"""One function for every rate.

`descend` goes down the slope of |x|^2, with a step for each rate. It compiles in each step, and
again in the next call. It should compile only once.
"""

import jax
import jax.numpy as jnp


def height(x):
    return jnp.sum(x**2)


@jax.jit
def step(x, rate):
    return x - rate * jax.grad(height)(x)


def descend(x, rates):
    for rate in rates:
        x = step(x, rate)
    return x
