"""Distances between sheets of a surface, against balls that touch the surface in 3D."""

import numpy as np
import pytest

from vcjax import problems
from vcjax._geometry import resample, symmetry
from vcjax._quadrature.rims import Rims
from vcjax._quadrature.sheets import Sheets, sheets_of

_APART = 1.0


def _period(surface):
    points = np.moveaxis(surface.points(8, 8, half_period=False), -1, 0)
    return symmetry.surface_period(points, surface.nfp, False)


def _at(samples, nfp, phi, theta):
    """Return points and tangents in laboratory components, shape (3, 3, phi, theta)."""
    (along_phi, phi_slope), (along_theta, theta_slope) = (
        resample.interpolation_matrices(count, 0.0, period, at)
        for count, period, at in zip(
            samples.shape[1:], (2 * np.pi / nfp, 2 * np.pi), (phi, theta), strict=True
        )
    )
    w = along_phi @ samples @ along_theta.T
    w_phi, w_theta = phi_slope @ samples @ along_theta.T, along_phi @ samples @ theta_slope.T
    # The frame rotates: see `resample.tangents_at`.
    w_phi += np.stack([-w[1], w[0], np.zeros_like(w[2])])
    return np.array([symmetry.rotate(v, phi) for v in (w, w_phi, w_theta)])


def _closest_ball(samples, nfp, phi, theta):
    """Return the radius of the smallest ball that touches the surface at a point p and elsewhere.

    Also return the distance in theta between both points, and two quantities at p: the widths of a
    cell of the grid per radian, and the length of dX/dphi. The ball that touches at p and passes
    through q has the radius |q - p|^2 / (2 |(q - p) . n|). The ball with the least radius, over
    points q of all cross-sections, touches at q too.
    """
    p, a, b = _at(samples, nfp, np.array([phi]), np.array([theta]))[:, :, 0, 0]
    normal = np.cross(a, b)
    area = np.linalg.norm(normal)
    middle, width = np.array([phi, theta + np.pi]), np.array([0.2 * np.pi / nfp, np.pi])
    least = np.inf
    for _ in range(5):
        offsets = [at + w * np.linspace(-1, 1, 81) for at, w in zip(middle, width, strict=True)]
        to = _at(samples, nfp, *offsets)[0] - p[:, None, None]
        square = (to**2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            radius = square / (2 * np.abs(np.tensordot(normal, to, 1)) / area)
        radius[square < 1e-8] = np.inf
        i, j = np.unravel_index(radius.argmin(), radius.shape)
        middle, width = np.array([offsets[0][i], offsets[1][j]]), width / 10
        least = radius[i, j]
    apart = np.abs((middle[1] - theta + np.pi) % (2 * np.pi) - np.pi)
    return least, apart, area / np.linalg.norm([b, a], axis=1), np.linalg.norm(a)


@pytest.mark.parametrize("nfp", [1, 5])
def test_distances_between_sheets_of_a_rotating_ellipse_agree_with_touching_balls(nfp):
    """With nfp=5 the nearest point of the other side lies on another cross-section."""
    samples = _period(
        problems.rotating_ellipse_surface(nfp, major_radius=1.0, semi_axes=(0.05, 0.4))
    )
    sheets = sheets_of(samples, nfp, both_sides=True, symmetric=False)
    found = *sheets.nodes_beyond(_APART), sheets.widest_within(_APART)
    nodes, widest = np.zeros(2), 0.0
    for phi in (0.0, 0.5 * np.pi / nfp):
        for theta in 2 * np.pi * np.arange(72) / 72:
            radius, apart, widths, length = _closest_ball(samples, nfp, phi, theta)
            if apart > _APART:
                nodes = np.maximum(nodes, widths / radius)
            else:
                widest = max(widest, apart * length / radius)
    # `sheets_of` compares the separation in a point's own cross-section with the limit.
    assert (found > 0.97 * np.append(nodes, widest)).all()
    assert (found < 1.25 * np.append(nodes, widest)).all()


@pytest.mark.parametrize("both_sides", [False, True])
def test_half_a_period_of_a_symmetric_surface_gives_the_sheets_and_rims_of_the_period(both_sides):
    problem = problems.w7x(3)
    points = np.moveaxis(np.asarray(problem.X), -1, 0)
    samples = symmetry.surface_period(points, problem.nfp, True)
    half, whole = (
        sheets_of(samples, problem.nfp, both_sides=both_sides, symmetric=symmetric)
        for symmetric in (True, False)
    )
    assert half.separation.size < 0.6 * whole.separation.size
    for angle in (0.1, 0.5, 1.0, 3.0):
        for of in (Sheets.nodes_beyond, Sheets.steepest_within, Sheets.widest_within):
            np.testing.assert_allclose(of(half, angle), of(whole, angle), rtol=1e-9)
    rims = [
        Rims(samples, problem.nfp, np.ones((3, 1)), both_sides=both_sides, symmetric=symmetric)
        for symmetric in (True, False)
    ]
    quad, semi_axes = np.array([[2000], [200]]), np.array([[0.03], [0.3]])
    radii = np.linspace(1.0, 9.0, 30)
    by_half, by_whole = (
        [each.first_clear(quad, semi_axes, radius) for radius in radii] for each in rims
    )
    assert by_half == by_whole
    assert by_half[0] == 0 and by_half[-1] is None


def test_rounding_does_not_decide_between_edges_at_the_same_distance():
    """An ellipse is symmetric, so pairs of its edges touch balls of the same radius."""
    X = problems.rotating_ellipse_surface(3, major_radius=6.0, semi_axes=(1.8, 0.2)).points(
        5, 24, half_period=True
    )
    period = symmetry.surface_period(np.moveaxis(X, -1, 0), 3, True)
    half, small, whole = (
        sheets_of(factor * period, 3, both_sides=False, symmetric=symmetric)
        for factor, symmetric in ((1.0, True), (0.3, True), (1.0, False))
    )
    for angle in (0.1, 0.5, 1.0):
        for of in (Sheets.nodes_beyond, Sheets.steepest_beyond):
            np.testing.assert_allclose(of(small, angle), of(half, angle), rtol=1e-9)
            np.testing.assert_allclose(of(whole, angle), of(half, angle), rtol=1e-9)
