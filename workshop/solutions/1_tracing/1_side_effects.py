import jax


@jax.jit
def step(x, count):
    return 0.5 * x, count + 1


def run(x, times):
    count = 0
    for _ in range(times):
        x, count = step(x, count)
    return x, count
