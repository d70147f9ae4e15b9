"""Count the calls of a jitted function.

`run` should return x after a number of steps, and the number of calls of `step`. At present `run`
returns the number of traces of `step` instead. Keep `step` jitted.
"""

import jax


@jax.jit
def step(x, count):
    return 0.5 * x, count + 1


def run(x, times):
    count = 0
    for _ in range(times):
        x, count = step(x, count)
    return x, count
