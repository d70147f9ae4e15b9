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
