import jax
import jax.numpy as jnp


@jax.jit
def solve(x):
    y = jnp.sin(x) * x
    return y, y.max()


def report(x):
    return solve(x)
