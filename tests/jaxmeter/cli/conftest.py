"""Fixtures that write a module of functions and run commands on it."""

import pytest

from jaxmeter.__main__ import main

MODULE = """
import jax
import jax.numpy as jnp
import numpy as np
from jaxmeter import Case

weights = jnp.asarray(np.random.default_rng(0).normal(size=(20, 10)))
calls = []


def step(x, *, scale=1.0):
    return scale * jnp.tanh(weights @ x)


def case(size=10, factor=2.0):
    return Case(lambda x: factor * step(x), (jnp.ones(size),))


def power(x, n=2):
    return jnp.sort(x**n)


def same_power(x, n=2):
    return jnp.sort(x**n)


def other(x):
    return jnp.sort(x) + jnp.cos(x)


def other_case(size=10):
    return Case(other, (jnp.ones(size),))


def repeated(x, n=2):
    return jnp.ones(n) * x


jitted = jax.jit(repeated, static_argnames="n")


def shaped(mode, shape):
    return jnp.ones(shape[0]) if mode == "fast" else mode


def prints(x):
    print("hello")
    return 2.0 * x


def alone():
    calls.append(1)
    return weights.sum()


def fails(x):
    raise ValueError("of this shape\\nnothing comes")


class Model:
    def apply(self, x):
        return weights @ x


model = Model()
"""


@pytest.fixture
def module(write_module):
    """Return a function that writes the module, followed by more code, and returns its name."""
    return lambda *extra: write_module(MODULE, *extra)


@pytest.fixture
def printed_by(capsys):
    """Return a function that runs a command, checks the exit code and returns the printed text."""

    def run(*arguments, code=0):
        assert main([*arguments]) == code
        return capsys.readouterr()

    return run
