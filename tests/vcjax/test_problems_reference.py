"""Our problems against those of the C++ package: the same shapes, as hard, and it solves ours."""

import numpy as np
import pytest

import vcjax
from vcjax import problems
from vcjax._geometry import resample


@pytest.fixture
def reference():
    return pytest.importorskip("virtual_casing", reason="the C++ package is optional")


def to_flat(values):
    """(nphi, ntheta, 3) to the package's order: component, phi, theta."""
    return np.moveaxis(values, -1, 0).ravel()


def from_flat(values, nphi, ntheta):
    return np.moveaxis(np.reshape(values, (3, nphi, ntheta)), 0, -1)


def reference_surface(reference, name, nfp, half_period, nphi, ntheta):
    kind = getattr(reference.SurfType, name)
    points = reference.VirtualCasingTestData.surface_coordinates(
        nfp, half_period, nphi, ntheta, kind
    )
    return from_flat(points, nphi, ntheta)


def reference_field(reference, X, nphi, ntheta):
    """Total test field of the package on a half period of W7-X."""
    parts = reference.VirtualCasingTestData.magnetic_field_data(
        5, True, X.shape[0], X.shape[1], to_flat(X), nphi, ntheta
    )
    return sum(from_flat(part, nphi, ntheta) for part in parts)


def modes_needed(B, nfp, digits):
    """First modes (n, m) from which on a half-period field has less than 10^-digits of max |B|."""
    samples = resample.field_period(np.moveaxis(B, -1, 0), nfp, True)
    spectrum = np.abs(np.fft.fft2(samples, axes=(1, 2), norm="forward")).sum(axis=0)
    limit = 10.0**-digits * np.linalg.norm(B, axis=2).max()
    needed = []
    for weights in (spectrum.sum(axis=1), spectrum.sum(axis=0)):
        modes = np.abs(np.fft.fftfreq(weights.size, 1 / weights.size)).astype(int)
        tail = np.cumsum(np.bincount(modes, weights)[::-1])[::-1]
        needed.append(int(np.argmax(tail < limit)))
    return np.array(needed)


def total_field(problem, nphi, ntheta):
    points = vcjax.surface_points(
        problem.X, nfp=problem.nfp, half_period=True, nphi=nphi, ntheta=ntheta
    )
    return problems.magnetic_field((*problem.outside, *problem.inside), points)


@pytest.mark.parametrize(
    "name, surface",
    [
        ("W7X_", problems.w7x_boundary()),
        ("AxisymNarrow", problems.shaped_torus()),
        ("AxisymWide", problems.shaped_torus(minor_radius=1.0)),
        ("AxisymCircleWide", problems.circular_torus()),
        ("AxisymCircleNarrow", problems.circular_torus(minor_radius=0.5)),
        (
            "RotatingEllipseWide",
            problems.rotating_ellipse_surface(3, major_radius=2.0, semi_axes=(0.7, 1.0)),
        ),
    ],
)
def test_surfaces_agree_with_the_package(reference, name, surface):
    """Full period: to rounding. Half period: the package shifts a full grid, exact if resolved."""
    for half_period in (False, True):
        known = reference_surface(reference, name, surface.nfp, half_period, 24, 36)
        ours = surface.points(24, 36, half_period=half_period)
        np.testing.assert_allclose(ours, known, rtol=0, atol=2e-13)


def test_the_w7x_field_is_as_hard_to_resolve_as_that_of_the_package(reference):
    X = reference_surface(reference, "W7X_", 5, True, 10, 20)
    known = reference_field(reference, X, 62, 204)
    ours = total_field(problems.w7x(3), 62, 204)
    for digits in (3, 6, 9):
        n_known, m_known = modes_needed(known, 5, digits)
        n, m = modes_needed(ours, 5, digits)
        assert 0 <= n - n_known <= 2
        assert 0 <= m - m_known <= 5


def test_the_ellipse_field_is_as_hard_to_resolve_as_that_of_the_package():
    """Its test has a current on the axis, B = 1 / R, and a loop of radius 0.72 of strength 1/4."""
    problem = problems.rotating_ellipse(3)
    sources = [problems.CentralConductor(0.5), problems.ToroidalLoop(0.25, r=(0.72,))]
    points = vcjax.surface_points(problem.X, nfp=4, half_period=True, nphi=60, ntheta=200)
    known = problems.magnetic_field(sources, points)
    ours = total_field(problem, 60, 200)
    for digits in (3, 6, 9, 12):
        difference = modes_needed(ours, 4, digits) - modes_needed(known, 4, digits)
        assert (0 <= difference).all() and (difference <= 1).all()


@pytest.mark.parametrize(
    "make, digits, half_period, limit",
    [
        (problems.w7x, 3, True, 3e-4),
        (problems.w7x, 3, False, 3e-4),
        (problems.w7x, 6, True, 3e-7),
        (problems.rotating_ellipse, 3, True, 2e-4),
        (problems.rotating_ellipse, 3, False, 2e-4),
        (problems.rotating_ellipse, 6, True, 2e-8),
    ],
)
def test_the_package_finds_the_known_answer(reference, make, digits, half_period, limit):
    problem = make(digits, half_period=half_period)
    solver = reference.VirtualCasing()
    solver.setup(
        digits,
        problem.nfp,
        half_period,
        *problem.X.shape[:2],
        to_flat(problem.X),
        *problem.B.shape[:2],
        problem.trg_nphi,
        problem.trg_ntheta,
    )
    found = solver.compute_external_B(to_flat(problem.B))
    found = from_flat(found, problem.trg_nphi, problem.trg_ntheta)
    assert problem.external_error(found) < limit
