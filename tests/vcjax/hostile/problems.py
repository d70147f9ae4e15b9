"""Helpers of the tests of hostile input: settings of hypothesis, a torus with a known field."""

from typing import Any

import hypothesis
import numpy as np

import vcjax
from vcjax import problems
from vcjax.problems import CentralConductor, ToroidalLoop

hostile = hypothesis.settings(derandomize=True, deadline=None, max_examples=8, database=None)
many = hypothesis.settings(hostile, max_examples=40)
few = hypothesis.settings(hostile, max_examples=3)


def torus_problem(surface, *, nfp=1, half=False, src=(4, 24), trg=(2, 8), shape=(4, 16), loop=2.0):
    """Return the problem of a loop inside, and of a central conductor and a larger loop outside.

    The field has every symmetry that a surface grid may have.
    """
    return problems.known_problem(
        "torus",
        surface.points(*shape, half_period=half),
        nfp=nfp,
        half_period=half,
        digits=3,
        outside=(CentralConductor(1.0), ToroidalLoop(1.0, r=(4.0 * loop,))),
        inside=(ToroidalLoop(0.2, r=(loop,)),),
        src_shape=src,
        trg_shape=trg,
    )


def chosen(X, B, digits=3, **options) -> vcjax.Rule:
    usual: dict[str, Any] = dict(nfp=1, trg_nphi=2, trg_ntheta=8)
    return vcjax.choose(X, B, digits, **(usual | options))


def separated(X, B, **options) -> np.ndarray:
    casing = vcjax.prepare(chosen(X, B, **options), X)
    return np.asarray(vcjax.external_field(casing, B))
