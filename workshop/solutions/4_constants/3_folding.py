"""Move work out of the program.

`rank` counts the numbers of a table below each x. It sorts the captured table, and the compiler
computes this sort, slowly. `prepare(table)` should do the work that depends on the table alone, and
`rank(prepared, x)` the rest.

See what the compile costs, with the path of this file as FILE:

    .venv/bin/jaxmeter audit FILE:rank --arg f32[3]
"""

import jax.numpy as jnp


def prepare(table):
    return jnp.sort(table)


def rank(prepared, x):
    return jnp.searchsorted(prepared, x)
