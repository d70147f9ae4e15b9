"""Targets for the tests of the scripts."""

import jax
import jax.numpy as jnp

from jaxmeter import Case


def scoped(*, chunk=10, size=40):
    """Return a case of sums of sorted products; a larger chunk needs a larger temporary.

    XLA does not fuse a sort, so it stores the products.
    """
    w = jnp.linspace(0.0, 1.0, size * size).reshape(size, size)

    def fn(w, x):
        with jax.named_scope("products"):
            return jax.lax.map(lambda y: jnp.sort(jnp.outer(w @ y, y)).sum(), x, batch_size=chunk)

    return Case(fn, (w, w))


def failing():
    """Return a case that cannot be traced."""
    return Case(lambda x: x.nothing, (jnp.ones(3),))
