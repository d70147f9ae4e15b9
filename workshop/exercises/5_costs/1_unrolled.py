"""Compute the same answer with fewer equations.

`smoothed` smooths u on a grid, in a number of rounds. The program contains the operations of every
round. It should contain only one round, for any number of rounds.

To see the cost of the compile, run this command, with the path of this file as FILE:

    .venv/bin/jaxmeter compile FILE:smoothed --arg 'f32[64,64]' --arg rounds=10
"""

import functools

import jax
import jax.numpy as jnp


def laplacian(u):
    return sum(jnp.roll(u, shift, axis) - u for shift in (1, -1) for axis in (0, 1))


@functools.partial(jax.jit, static_argnames="rounds")
def smoothed(u, rounds):
    for _ in range(rounds):
        u = u + 0.1 * laplacian(u)
    return u
