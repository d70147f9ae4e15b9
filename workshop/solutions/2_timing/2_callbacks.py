import jax
import jax.numpy as jnp


def run(x):
    def step(x, _):
        x = 0.5 * x
        return x, jnp.linalg.norm(x)

    return jax.lax.scan(step, x, length=8)
