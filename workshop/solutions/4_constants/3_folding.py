"""Move work out of the program.

For each x, `rank` counts the numbers of a table that are below x. It sorts the captured table. In
jit, the compiler evaluates this sort at compile time, slowly. `prepare(table)` should do the work
that depends on the table alone, and `rank(prepared, x)` should do the rest.

To see an estimate of how long the compiler sorts, run this command before you change the file. FILE
is its path:

    .venv/bin/jaxmeter audit FILE:rank --arg 'f32[3]'
"""

import jax.numpy as jnp


def prepare(table):
    return jnp.sort(table)


def rank(prepared, x):
    return jnp.searchsorted(prepared, x)
