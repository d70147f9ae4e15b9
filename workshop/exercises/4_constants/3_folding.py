"""Move work out of the program.

For each x, `rank` counts the numbers of a table that are below x. `rank` sorts the captured table.
In jit, the compiler evaluates this sort at compile time, slowly. `prepare(table)` should do the
work that depends on the table alone, and `rank(prepared, x)` should do the rest.

To see about how long this sort takes at compile time, run this command before you change the file,
with the path of this file as FILE:

    .venv/bin/jaxmeter audit FILE:rank --arg 'f32[3]'
"""

import jax.numpy as jnp

TABLE = jnp.sin(jnp.arange(4096.0) ** 2)


def prepare(table):
    return table


def rank(x):
    return jnp.searchsorted(jnp.sort(TABLE), x)
