"""Random numbers of tests, the same in any order of tests (the fixture `same_draws`)."""

import math

import numpy as np

from jaxmeter import Round

draw = np.random.default_rng(4)


def rounds(logs):
    """Return rounds with the given log ratios."""
    return [Round(math.exp(log)) for log in logs]
