"""Against the C++ reference, run here on its own test problems and on ours."""

import numpy as np
import pytest

import vcjax
from vcjax import problems

reference = pytest.importorskip("virtual_casing", reason="the C++ package has no wheel here")


def _flat(values):
    """(nphi, ntheta, 3) as the flat component-first list of the C++ package."""
    return np.ascontiguousarray(np.moveaxis(values, -1, 0)).ravel()


def _vectors(flat, nphi, ntheta):
    return np.moveaxis(np.asarray(flat).reshape(3, nphi, ntheta), 0, -1)


def _reference_external(digits, nfp, half_period, X, B, trg):
    casing = reference.VirtualCasing()
    casing.setup(digits, nfp, half_period, *X.shape[:2], _flat(X), *B.shape[:2], *trg)
    return _vectors(casing.compute_external_B(_flat(B)), *trg)


def _external(digits, nfp, half_period, X, B, trg):
    kind = dict(nfp=nfp, half_period=half_period, trg_nphi=trg[0], trg_ntheta=trg[1])
    casing = vcjax.prepare(vcjax.choose(X, B, digits, **kind), X)
    return np.asarray(vcjax.external_field(casing, B))


def _reference_w7x(digits, half_period):
    """The reference's own W7-X problem: surface, field on the sources, external field.

    The surface's Nyquist modes carry 1e-4: another convention for them would show at once.
    """
    data, factor = reference.VirtualCasingTestData, 1 if half_period else 2
    shape, trg = (10 * factor, 20), (20 * factor, 40)
    src = (6 * digits * factor, 32 * digits)
    surface = data.surface_coordinates(5, half_period, *shape, reference.SurfType.W7X_)
    known = data.magnetic_field_data(5, half_period, *shape, surface, *trg)
    total = np.sum(data.magnetic_field_data(5, half_period, *shape, surface, *src), axis=0)
    return _vectors(surface, *shape), _vectors(total, *src), _vectors(known[0], *trg)


@pytest.mark.parametrize(
    "digits, half_period", [(3, True), (6, True), (9, True), (3, False), (6, False)]
)
def test_on_the_references_own_w7x_problem_errors_are_no_larger_than_its_resolution(
    digits, half_period
):
    X, B, known = _reference_w7x(digits, half_period)
    scale = np.abs(B).max()
    ours = np.abs(_external(digits, 5, half_period, X, B, known.shape[:2]) - known).max() / scale
    theirs = _reference_external(digits, 5, half_period, X, B, known.shape[:2])
    # Both carry the same unresolved part of B; which of the two is nearer is chance.
    assert ours <= 1.15 * np.abs(theirs - known).max() / scale


def test_on_our_ellipse_both_give_the_same_field():
    digits = 6
    problem = problems.rotating_ellipse(digits)
    arguments = digits, 4, True, problem.X, problem.B, (problem.trg_nphi, problem.trg_ntheta)
    difference = np.abs(_external(*arguments) - _reference_external(*arguments)).max()
    assert difference <= 2 * 10.0**-digits * np.abs(problem.B).max()
