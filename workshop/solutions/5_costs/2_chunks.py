import jax
import jax.numpy as jnp


@jax.jit
def spacing(points, sources):
    def at(point):
        squared = jnp.sum((point - sources) ** 2, axis=-1)
        return jnp.mean(jnp.sqrt(-jax.lax.top_k(-squared, 8)[0]))

    return jax.lax.map(at, points, batch_size=32)
