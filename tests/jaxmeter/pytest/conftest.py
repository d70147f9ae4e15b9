"""Run tests with the plugin in an inner pytest, with functions to measure."""

import pytest

# Load the plugin by its name, because it may not be installed. Other plugins would take time.
PLUGINS = "-p no:jaxmeter -p jaxmeter.pytest_plugin -p no:hypothesispytest -p no:jaxtyping".split()
STEP = """
import itertools
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxmeter import Case

numbers = itertools.count()
weights = jnp.asarray(np.random.default_rng(0).normal(size=(8, 8)))
x = jnp.ones(8)


def step(x):
    return jnp.tanh(weights @ x)


def scale(x, factor=1.0):
    return factor * x


class Unequal:
    __hash__ = lambda self: next(numbers)
    __eq__ = lambda self, other: False

"""


@pytest.fixture
def run(pytester):
    """Return a function that runs tests with the plugin, in this process."""

    def run(tests, pyproject="", options=()):
        pytester.makepyfile(STEP + tests)
        pytester.makepyprojecttoml(pyproject + "\n[tool.pytest.ini_options]\naddopts = []\n")
        return pytester.runpytest_inprocess(*PLUGINS, *options, "-W", "error", "--strict-markers")

    return run
