"""Random numbers of tests, the same in whatever order these run (the fixture `same_draws`)."""

import math

import numpy as np

from jaxmeter._compare.rounds import Round

draw = np.random.default_rng(4)


def rounds(logs):
    """Rounds of two functions, the second slower by the exponential of a number each."""
    return [Round((1.0,), (math.exp(log),)) for log in logs]
