"""Pass what is captured.

`transform` multiplies x by the matrix of the cosine transform. The matrix is captured. Make it the
first argument.

To see the difference, run this command, with the path of this file as FILE:

    .venv/bin/jaxmeter audit FILE:transform --arg f32[600]
"""

import jax
import jax.numpy as jnp


def cosine_matrix(size):
    k = jnp.arange(size)
    return jnp.cos(jnp.pi / size * jnp.outer(k, k + 0.5))


@jax.jit
def transform(matrix, x):
    return matrix @ x
