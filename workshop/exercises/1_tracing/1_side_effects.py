"""Count the calls of a jitted function.

`run` should return x after a number of steps, and how many times this call of `run` called `step`.
At present `run` returns the number of traces of `step` instead. Keep `step` jitted.
"""

import jax

count = 0


@jax.jit
def step(x):
    global count
    count += 1
    return 0.5 * x


def run(x, times):
    for _ in range(times):
        x = step(x)
    return x, count
