"""Look into a jitted function.

`report` should return y and the largest value of y. At present the largest value leaks out of the
trace.
"""

import jax
import jax.numpy as jnp


@jax.jit
def solve(x):
    y = jnp.sin(x) * x
    return y, y.max()


def report(x):
    return solve(x)
