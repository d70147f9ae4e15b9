"""What the tests of the array interfaces share: one problem, asked in the words of each package."""

from typing import Any

import numpy as np

from vcjax import surface_points

DIGITS = 3


def flat(values):
    return np.moveaxis(values, -1, 0).ravel()


def surface(problem, nphi, ntheta):
    kind: dict[str, Any] = dict(nfp=problem.nfp, half_period=problem.half_period)
    return surface_points(problem.X, **kind, nphi=nphi, ntheta=ntheta)


def set_up(casing, problem, *targets, digits=DIGITS):
    casing.setup(
        *(digits, problem.nfp, problem.half_period),
        *(*problem.X.shape[:2], flat(problem.X), *problem.B.shape[:2], *targets),
    )
    return casing
