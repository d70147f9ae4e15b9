"""Resampling: exact for band-limited data, symmetric, the same on the host and under a trace."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from vcjax import problems, surface_points, surface_tangents
from vcjax._geometry import resample


def _torus(phi, theta, nfp):
    """A smooth non-axisymmetric surface, stellarator-symmetric, of few modes."""
    r = 3 + np.cos(theta) + 0.2 * np.cos(theta - nfp * phi)
    z = np.sin(theta) - 0.2 * np.sin(theta - nfp * phi)
    return np.stack([r * np.cos(phi), r * np.sin(phi), z], axis=-1)


def _grid(shape, nfp, half_period):
    nphi, ntheta = shape
    phi = resample.grid_angles(nphi, nfp, half_period)[:, None]
    return phi, 2 * np.pi * np.arange(ntheta)[None] / ntheta


@pytest.mark.parametrize("half_period", [False, True])
@pytest.mark.parametrize("nfp", [1, 2, 5])
@pytest.mark.parametrize("shape", [(7, 9), (8, 10)])
def test_surface_of_few_modes_is_reproduced_on_any_grid(nfp, half_period, shape):
    X = _torus(*_grid(shape, nfp, half_period), nfp)
    kind: dict[str, Any] = dict(nfp=nfp, half_period=half_period, nphi=13, ntheta=17)
    expected = _torus(*_grid((13, 17), nfp, half_period), nfp)
    np.testing.assert_allclose(surface_points(X, **kind), expected, atol=1e-13)


@pytest.mark.parametrize("half_period", [False, True])
def test_tangents_agree_with_finite_differences(half_period):
    nfp, step = 3, 1e-6
    X = _torus(*_grid((8, 10), nfp, half_period), nfp)
    phi, theta = _grid((5, 7), nfp, half_period)
    x_phi, x_theta = surface_tangents(X, nfp=nfp, half_period=half_period, nphi=5, ntheta=7)

    def difference(dphi, dtheta):
        after = _torus(phi + dphi, theta + dtheta, nfp)
        before = _torus(phi - dphi, theta - dtheta, nfp)
        return (after - before) / (2 * step)

    np.testing.assert_allclose(x_phi, difference(step, 0), atol=1e-8)
    np.testing.assert_allclose(x_theta, difference(0, step), atol=1e-8)


def test_period_data_are_the_same_on_the_host_and_under_a_trace():
    problem = problems.w7x(3)
    points, field = (np.moveaxis(v, -1, 0) for v in (problem.X, problem.B))
    for function, values in (
        (resample.surface_period, points),
        (resample.field_period, field),
    ):
        traced = jax.jit(lambda v, function=function: function(v, 5, True, jnp))(values)
        np.testing.assert_allclose(traced, function(values, 5, True), atol=1e-13)


def test_mirroring_twice_changes_nothing():
    values = np.random.default_rng(0).normal(size=(3, 4, 5))
    twice = resample.mirror(resample.mirror(values, resample.FIELD_PARITY), resample.FIELD_PARITY)
    np.testing.assert_array_equal(twice, values)


@pytest.mark.parametrize("count", [6, 7])
def test_interpolation_matrices_are_exact_for_modes_below_nyquist(count):
    start, period = 0.3, 2.1
    nodes = start + period * np.arange(count) / count
    points = np.linspace(-1, 4, 23)
    value, derivative = resample.interpolation_matrices(count, start, period, points)
    for mode in range((count - 1) // 2 + 1):
        wave = 2 * np.pi * mode / period
        np.testing.assert_allclose(value @ np.cos(wave * nodes), np.cos(wave * points), atol=1e-13)
        np.testing.assert_allclose(
            derivative @ np.sin(wave * nodes), wave * np.cos(wave * points), atol=1e-12
        )
