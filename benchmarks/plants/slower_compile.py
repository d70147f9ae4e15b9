"""Code that computes next to nothing and takes the compiler long."""

import jax
import jax.numpy as jnp

LOOPS = 8


def plant(vcjax):
    """Add zero, by way of loops with a sort each: a program of its own for the compiler."""
    good = vcjax.external_field

    def external_field(casing, B, **options):
        little = B.ravel()[:16]
        for k in range(LOOPS):
            little = jax.lax.fori_loop(
                0, 2, lambda i, x, k=k: jnp.sort(jnp.sin(x + k) + jnp.cumsum(x)) + i, little
            )
        return good(casing, B, **options) + 0.0 * jnp.tanh(little).sum()

    vcjax.external_field = external_field
