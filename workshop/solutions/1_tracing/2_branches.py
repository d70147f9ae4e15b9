import jax.numpy as jnp


def root(x):
    positive = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, jnp.sqrt(positive), 0.0)
