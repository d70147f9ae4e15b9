"""A helper that the tests of the array interfaces share."""

from tests.vcjax.common import flat

DIGITS = 3


def set_up(casing, problem, *targets, digits=DIGITS):
    """Call `setup` of a casing with a problem and a target shape, and return the casing."""
    X, B = problem.X, problem.B
    symmetry = problem.nfp, problem.half_period
    casing.setup(digits, *symmetry, *X.shape[:2], flat(X), *B.shape[:2], *targets)
    return casing
