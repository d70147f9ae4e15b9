import jax


@jax.jit
def transform(matrix, x):
    return matrix @ x
