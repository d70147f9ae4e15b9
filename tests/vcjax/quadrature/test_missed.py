"""The estimated errors of interpolation at each place of the surface."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from vcjax import problems
from vcjax._data_checks.spectrum import Spectrum
from vcjax._geometry import symmetry
from vcjax._geometry.foot import Periods, lagrange_weights, nearest
from vcjax._quadrature.missed import _largest_around, unresolved_at
from vcjax._quadrature.spectrum import Values, missed_values, signal


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_the_largest_value_around_each_value_is_taken_from_both_sides(count):
    values = np.random.default_rng(0).normal(size=(count, 6))
    for reach in (0, 1, 2, 3, 9):
        shifts = range(-reach, reach + 1)
        for axis in (0, 1):
            expected = np.max([np.roll(values, k, axis) for k in shifts], axis=0)
            np.testing.assert_array_equal(_largest_around(values, axis, reach, np), expected)


@pytest.mark.parametrize(
    "nfp, half_period, shape",
    [(3, True, (6, 14)), (3, False, (11, 15)), (4, True, (1, 8)), (1, False, (9, 8))],
)
@pytest.mark.filterwarnings("ignore::vcjax.VcjaxWarning")
def test_the_error_at_a_point_is_the_error_at_the_sample_nearest_to_its_foot(
    nfp, half_period, shape
):
    grid: dict[str, Any] = dict(nfp=nfp, half_period=half_period)
    ellipse = problems.rotating_ellipse_surface(nfp, semi_axes=(0.2, 0.3), major_radius=1.0)
    X = ellipse.points(8, 12, half_period=half_period)
    samples = np.asarray(vcjax.surface_points(X, **grid, nphi=shape[0], ntheta=shape[1]))
    B = problems.magnetic_field((problems.CentralConductor(1.0),), samples)
    rule = vcjax.choose_off_surface(X, B, 2, **grid)
    casing = vcjax.prepare_off_surface(rule, X)
    period = np.moveaxis(samples, -1, 0)
    if half_period:
        image = symmetry.mirror(period, symmetry.POSITION_PARITY)
        period = np.concatenate([image, period], axis=1)
    rows, columns = period.shape[1:]
    points = np.concatenate(
        [symmetry.rotate(period, np.full(rows, 2 * np.pi * k / nfp)) for k in range(nfp)], axis=1
    )
    points = np.moveaxis(points, 0, -1).reshape(-1, 3)
    some = np.random.default_rng(1).integers(len(points), size=64)
    periods = Periods(casing.nodes[:3], casing.constants.field.turns)
    missed = np.arange(1.0, rows * columns + 1).reshape(rows, columns)

    @jax.jit
    def at_feet(points, periods, missed):
        return unresolved_at(nearest(points, periods, rule), (jnp.zeros(2), missed), 1.0, rule)

    _, found = at_feet(points[some], periods, missed)
    # The points lie on the surface; the search for their feet has small errors.
    np.testing.assert_allclose(found, missed.ravel()[some % (rows * columns)], rtol=1e-6)


@pytest.mark.parametrize("digits, count", [(2, 8), (4, 12), (8, 20)])
@pytest.mark.parametrize("off_surface, limits", [(True, (0.3, 1.0)), (False, (1.0, 5.0))])
def test_between_nodes_the_interpolation_error_of_a_wave_is_about_the_allowed_error(
    digits, count, off_surface, limits
):
    """Targets on the surface are nodes, so a rule for these targets may have a larger error."""
    mode, values = 20, np.zeros((3, 64, 4))
    values[2] = np.cos(mode * 2 * np.pi * np.arange(64) / 64)[:, None]
    least = np.full(2, 24.0)
    nodes = Values(Spectrum(values), 1, off_surface).nodes(least, digits, count)[0]
    offsets = np.arange(1 - count // 2, count // 2 + 1) - 0.5
    phase = np.linspace(0, 2 * np.pi, 50)
    wave = np.cos(2 * np.pi * mode / nodes * offsets + phase[:, None])
    weights = np.asarray(jax.jit(lagrange_weights, static_argnums=1)(np.array([0.5]), count))[0]
    error = abs(wave @ weights - np.cos(phase)).max() * 10.0**digits
    assert limits[0] < error < limits[1]


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("shape", [(8, 12), (9, 7)])
def test_a_limit_is_exceeded_exactly_if_the_largest_value_on_the_grid_is_above_it(axis, shape):
    random = np.random.default_rng(0)
    noise = random.normal(size=(3, *shape))
    wave = np.cos(2 * np.pi * np.arange(shape[axis - 1]) / shape[axis - 1])
    along = wave[:, None] if axis == 1 else wave
    factors = random.normal(size=shape[axis - 1] // 2 + 1) ** 2
    for values in (noise, 0 * noise + along):
        field = Values(Spectrum(values), 1, False)
        missed = missed_values(values, axis, 0.1, 4).max()
        size = signal(values, axis, factors).max()
        for limit, above in ((1 - 1e-9, True), (1 + 1e-9, False), (100.0, False)):
            assert field.misses(limit * missed, axis, 0.1, 4) == above
            assert field.is_larger(limit * size, axis, factors) == above
