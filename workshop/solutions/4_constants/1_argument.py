import jax
import jax.numpy as jnp


def cosine_matrix(size):
    k = jnp.arange(size)
    return jnp.cos(jnp.pi / size * jnp.outer(k, k + 0.5))


@jax.jit
def transform(matrix, x):
    return matrix @ x
