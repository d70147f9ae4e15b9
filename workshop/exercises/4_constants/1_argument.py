"""Pass the captured array as an argument.

`transform` multiplies x by the matrix of the cosine transform. The matrix is captured. Make it the
first argument.

To see the captured matrix, run this command before you change the file, with the path of this file
as FILE:

    .venv/bin/jaxmeter audit FILE:transform --arg 'f32[600]'
"""

import jax
import jax.numpy as jnp


def cosine_matrix(size):
    k = jnp.arange(size)
    return jnp.cos(jnp.pi / size * jnp.outer(k, k + 0.5))


MATRIX = cosine_matrix(600)


@jax.jit
def transform(x):
    return MATRIX @ x
