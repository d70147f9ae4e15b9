"""Targets that workers measure: some succeed, and the others fail in different ways.

Targets that do not need JAX do not import it, so their tests are fast.
"""

import functools
import os
import sys
import time

from jaxmeter import Case


def _arrays(size):
    import jax
    import jax.numpy as jnp
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    return jax, jnp, np.random.default_rng(0).normal(size=(size, size))


def matrix(size):
    _, jnp, host = _arrays(size)
    held = jnp.asarray(host)
    check = lambda answer: {"sum": answer.sum(), "not_a_number": float("nan")}  # noqa: E731
    return Case(lambda x: jnp.sin(held @ x), (jnp.ones(size),), check=check)


def talkative(environment_name):
    _, jnp, _ = _arrays(1)
    print("to standard output", flush=True)
    os.write(1, b"past Python's buffer\n")
    print("to standard error", file=sys.stderr, flush=True)
    return Case(
        lambda x: x + 1.0,
        (jnp.ones(3),),
        extras={
            "cpus_count": len(os.sched_getaffinity(0)),
            "value": float(os.environ[environment_name]),
            "current_directory_on_path": float("" in sys.path or os.getcwd() in sys.path),
        },
    )


def called_before_measured():
    jax, jnp, _ = _arrays(1)
    jitted = jax.jit(lambda x: jnp.sin(x) + 1.0)
    jitted(jnp.ones(3))
    return Case(jitted, (jnp.ones(3),))


def raises_in_the_body():
    return Case(lambda x: 1 / 0, (1.0,))


def raises_in_the_check():
    def check(answer):
        raise ArithmeticError(f"{float(answer)} is wrong")

    return Case(lambda x: x + 1.0, (1.0,), check=check)


def folds_for_minutes():
    """Return a case with a captured array that XLA sorts while compiling."""

    _, jnp, host = _arrays(1024)
    held = jnp.asarray(host, "float32")
    return Case(lambda x: jnp.sort(held, axis=0) * x, (jnp.float32(1.0),))


def slow_runs():
    import numpy as np

    jax, jnp, _ = _arrays(1)

    def host(x):
        time.sleep(0.1)
        return np.asarray(x)

    shape = jax.ShapeDtypeStruct((3,), "float64")
    return Case(lambda x: jax.pure_callback(host, shape, x), (jnp.ones(3),))


def raises():
    raise LookupError("no such workload")


def _raises_a_type_error(size):
    raise TypeError(f"{size} is not a size")


@functools.wraps(_raises_a_type_error)
def wrapped(size, scale=1.0):
    return _raises_a_type_error(size * scale)


class _Unprintable(Exception):
    def __str__(self):
        raise KeyboardInterrupt


def raises_what_cannot_be_printed():
    raise _Unprintable


def leaves_at_once():
    print("about to leave", flush=True)
    os._exit(7)


def returns_no_case():
    return 3


not_callable = 3
