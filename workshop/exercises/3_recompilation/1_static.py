"""Compile one program for all numbers of rounds.

`damped` multiplies x by 0.9 in each round. JAX compiles a program for each number of rounds. One
program should be enough for all numbers. Keep `damped` jitted.
"""

import functools

import jax


@functools.partial(jax.jit, static_argnames="rounds")
def damped(x, rounds):
    for _ in range(rounds):
        x = 0.9 * x
    return x
