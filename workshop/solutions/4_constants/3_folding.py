"""Move work out of the program.

`rank` counts the numbers of a table below each x. It sorts the captured table: the compiler does
that, slowly. `prepare(table)` should do what depends on the table alone, and `rank(prepared, x)`
the rest.

See what the compile costs, with the path of this file as FILE:

    .venv/bin/jaxmeter audit FILE:rank --arg f32[3]
"""

import jax.numpy as jnp


def prepare(table):
    return jnp.sort(table)


def rank(prepared, x):
    return jnp.searchsorted(prepared, x)
