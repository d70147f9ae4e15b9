"""Our problems against those of the C++ package: the same shapes, as hard, and it solves ours."""

import numpy as np
import pytest

import vcjax
from vcjax import _resample, problems


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


def resolution_error(B, fine, nfp):
    """How far a field interpolated from a half-period grid is off on a finer one."""
    nphi, ntheta, _ = fine.shape
    samples, start = _resample.field_period(np.moveaxis(B, -1, 0), nfp, True)
    angles = _resample.grid_angles(nphi, nfp, True)
    period = 2 * np.pi / nfp
    phi = _resample.interpolation_matrices(samples.shape[1], start, period, angles)[0]
    theta = _resample.interpolation_matrices(
        samples.shape[2], 0.0, 2 * np.pi, 2 * np.pi * np.arange(ntheta) / ntheta
    )[0]
    interpolated = _resample.rotate(_resample.interpolate(phi, samples, theta), angles)
    return np.abs(np.moveaxis(interpolated, 0, -1) - fine).max() / np.abs(fine).max()


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
def test_surfaces_are_those_of_the_package(reference, name, surface):
    """Full period: to rounding. Half period: the package shifts a full grid, exact if resolved."""
    for half_period in (False, True):
        known = reference_surface(reference, name, surface.nfp, half_period, 24, 36)
        ours = surface.points(24, 36, half_period=half_period)
        np.testing.assert_allclose(ours, known, rtol=0, atol=2e-13)


@pytest.mark.parametrize("digits", [3, 6, 9])
def test_the_w7x_field_is_as_hard_to_resolve_as_the_package_s(reference, digits):
    X = reference_surface(reference, "W7X_", 5, True, 10, 20)
    known = resolution_error(
        reference_field(reference, X, 6 * digits, 32 * digits),
        reference_field(reference, X, 37, 131),
        5,
    )
    problem = problems.w7x(digits)
    ours = resolution_error(problem.B, total_field(problem, 37, 131), 5)
    assert 0.7 < ours / known < 1.4


@pytest.mark.parametrize("digits", [3, 6, 9])
def test_the_ellipse_field_is_as_hard_to_resolve_as_the_package_s(digits):
    """Its test has a current on the axis, B = 1 / R, and a loop of radius 0.72 of strength 1/4."""
    problem = problems.rotating_ellipse(digits)
    sources = [problems.CentralConductor(0.5), problems.ToroidalLoop(0.25, r=(0.72,))]

    def known_field(nphi, ntheta):
        points = vcjax.surface_points(problem.X, nfp=4, half_period=True, nphi=nphi, ntheta=ntheta)
        return problems.magnetic_field(sources, points)

    known = resolution_error(known_field(3 * digits, 15 * digits), known_field(37, 131), 4)
    ours = resolution_error(problem.B, total_field(problem, 37, 131), 4)
    assert 0.9 < ours / known < 1.4


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
