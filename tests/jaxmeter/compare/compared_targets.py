"""Functions that fresh processes compare."""

import jax.numpy as jnp
import numpy as np

TABLE = np.arange(1024, dtype="float32")


def step(x):
    return jnp.sin(x)


def more(x):
    y = x
    for _ in range(3):
        y = jnp.sin(jnp.sort(y))
    return y + TABLE.sum() + jnp.asarray(TABLE)[x.size]


def jaxmeter_calls(name):
    """Return two calls for ``more`` and one call otherwise. A call of ``bare`` is not a tuple."""
    if name == "bare":
        return [jnp.ones(2, "float32")]
    return [(jnp.ones(n, "float32"),) for n in range(2, 4 if name == "more" else 3)]


def bare(x):
    return x


def broken(x):
    raise ZeroDivisionError("on purpose")
