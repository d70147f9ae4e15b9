"""Random numbers for tests. With the fixture `same_draws`, the order of tests has no effect."""

import math

import numpy as np

from jaxmeter import Round

draw = np.random.default_rng(4)


def rounds(logs):
    """Return rounds with the given log ratios."""
    return [Round(math.exp(log)) for log in logs]
