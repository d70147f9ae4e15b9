import jax
import jax.numpy as jnp
import numpy as np

LIMIT = 16


@jax.jit
def variance(padded, count):
    counts = jnp.arange(LIMIT) < count
    mean = jnp.sum(jnp.where(counts, padded, 0.0)) / count
    return jnp.sum(jnp.where(counts, (padded - mean) ** 2, 0.0)) / count


def spread(series):
    padded = np.zeros(LIMIT, np.float32)
    padded[: len(series)] = series
    return variance(padded, len(series))
