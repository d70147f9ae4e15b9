"""Helpers of the tests of hostile input: a torus with a known field, and rules for it."""

from typing import Any

import vcjax
from vcjax import problems
from vcjax.problems import CentralConductor, ToroidalLoop


def torus_problem(surface, *, nfp=1, half=False, src=(4, 24), trg=(2, 8), shape=(4, 16)):
    """Return a problem with a loop inside, and with a central conductor and a larger loop outside.

    The field has every symmetry that a surface grid may have.
    """
    return problems.known_problem(
        "torus",
        surface.points(*shape, half_period=half),
        nfp=nfp,
        half_period=half,
        digits=3,
        outside=(CentralConductor(1.0), ToroidalLoop(1.0, r=(8.0,))),
        inside=(ToroidalLoop(0.2, r=(2.0,)),),
        src_shape=src,
        trg_shape=trg,
    )


def chosen(X, B, digits=3, **options) -> vcjax.Rule:
    """Call `vcjax.choose` with the symmetry and the targets of the torus, or with other options."""
    usual: dict[str, Any] = dict(nfp=1, trg_nphi=2, trg_ntheta=8)
    return vcjax.choose(X, B, digits, **(usual | options))
