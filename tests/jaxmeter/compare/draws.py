"""Random numbers of tests, the same in whatever order these run (the fixture `same_draws`)."""

import math

import numpy as np

from jaxmeter import Round

draw = np.random.default_rng(4)


def rounds(logs):
    """Rounds whose log ratios are given."""
    return [Round(math.exp(log)) for log in logs]
