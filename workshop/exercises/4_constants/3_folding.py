"""Move work out of the program.

`rank` counts the numbers of a table below each x. It sorts the captured table: the compiler does
that, slowly. `prepare(table)` should do what depends on the table alone, and `rank(prepared, x)`
the rest.

See what the compile costs, with the path of this file as FILE:

    .venv/bin/jaxmeter audit FILE:rank --arg f32[3]
"""

import jax.numpy as jnp

TABLE = jnp.sin(jnp.arange(4096.0) ** 2)


def prepare(table):
    return table


def rank(x):
    return jnp.searchsorted(jnp.sort(TABLE), x)
