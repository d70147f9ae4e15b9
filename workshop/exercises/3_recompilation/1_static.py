"""One program for every number of rounds.

`damped` multiplies x by 0.9 in each round. Each number of rounds is compiled again. Make one
program serve all.
"""

import functools

import jax


@functools.partial(jax.jit, static_argnames="rounds")
def damped(x, rounds):
    for _ in range(rounds):
        x = 0.9 * x
    return x
