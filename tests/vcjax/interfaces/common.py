"""Set-ups that the tests of the array interfaces share."""

from tests.vcjax.common import flat
from vcjax import surface_points

DIGITS = 3


def surface(problem, nphi, ntheta):
    symmetry = dict(nfp=problem.nfp, half_period=problem.half_period)
    return surface_points(problem.X, **symmetry, nphi=nphi, ntheta=ntheta)


def set_up(casing, problem, *targets, digits=DIGITS):
    X, B = problem.X, problem.B
    symmetry = problem.nfp, problem.half_period
    casing.setup(digits, *symmetry, *X.shape[:2], flat(X), *B.shape[:2], *targets)
    return casing
