"""Off the surface: known answers at any distance, and NaN where the data determine no field."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import determined, small_torus, surface, symmetry, unit_normals
from vcjax import problems
from vcjax._kernels.off_surface import Nodes, known_change, known_field
from vcjax._off_surface_result import _steepness

DIGITS = 6
DISTANCES = (5e-2, 2e-2, 5e-3, 1e-3, 1e-4, 1e-6, 0.0)
# Indices (phi, theta) of points on another grid of the surface.
SHAPE, PLACES = (30, 36), [(2, 0), (11, 9), (17, 18), (29, 5)]
# On the z axis, far away, and deep inside.
FAR = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 5.0], [-40.0, 3.0, 1.0], [0.69, 0.02, 0.01]])


def points_near(problem, shape, places, distances):
    """Return points (distance, side, place, 3); side 0 is inside, side 1 outside."""
    nphi, ntheta = shape
    normal = unit_normals(problem.X, **symmetry(problem), nphi=nphi, ntheta=ntheta)
    at = tuple(zip(*places, strict=True))
    step = np.array(distances)[:, None, None, None] * np.array([-1.0, 1.0])[:, None, None]
    return surface(problem, nphi, ntheta)[at] + step * normal[at]


def errors(problem, points, found, known=problems.magnetic_field):
    """Return the errors of both parts at points (..., 3), divided by the largest |component| of B.

    The shape is (part, ...). An error is NaN where the data do not determine the part.
    """
    parts = (found.external, problem.outside), (found.internal, problem.inside)
    shape = points.shape[:-1]
    differences = (
        np.reshape(part, (*shape, -1)) - np.reshape(known(sources, points), (*shape, -1))
        for part, sources in parts
    )
    return np.stack([np.abs(d).max(axis=-1) for d in differences]) / np.abs(problem.B).max()


def on_grid(found, points):
    """Return the first results, with the leading axes of `points`."""
    shape = points.shape[:-1]
    return jax.tree.map(
        lambda v: np.asarray(v)[: np.prod(shape)].reshape(*shape, *v.shape[1:]), found
    )


def separated(problem, points, digits, *, gradient=False):
    """Return the results at points (..., 3) off the surface, and their `errors`."""
    call = vcjax.off_surface_gradient if gradient else vcjax.off_surface_field
    known = problems.magnetic_field_gradient if gradient else problems.magnetic_field
    found = call(problem.X, problem.B, points.reshape(-1, 3), digits, **symmetry(problem))
    found = on_grid(found, points)
    return found, errors(problem, points, found, known)


@pytest.fixture(scope="module")
def problem():
    return problems.rotating_ellipse(DIGITS + 2)


@pytest.fixture(scope="module")
def points(problem):
    return points_near(problem, SHAPE, PLACES, DISTANCES)


@pytest.fixture(scope="module")
def found(problem, points):
    """Return the results at all points, from one call."""
    everywhere = np.concatenate([points.reshape(-1, 3), FAR])
    return vcjax.off_surface_field(problem.X, problem.B, everywhere, DIGITS, **symmetry(problem))


@pytest.fixture(scope="module")
def result(found, points):
    """Return the results near the surface, with the axes (distance, side, place) of the points."""
    return on_grid(found, points)


def test_fields_have_the_digits_asked_for_and_at_most_twice_the_estimated_error(
    result, problem, points
):
    missed = np.nanmax(errors(problem, points, result), axis=0)
    for distance, some in zip(DISTANCES, missed, strict=True):
        assert some.max() < 10.0**-DIGITS, distance
    assert (missed < 2 * result.error).all()
    assert result.error.max() < 10.0 ** (1 - DIGITS)


def test_the_mask_and_the_distance_are_right(result):
    assert result.inside[:-1, 0].all() and not result.inside[:-1, 1].any()
    expected = np.broadcast_to(np.array(DISTANCES)[:-1, None, None], result.distance[:-1].shape)
    # The interpolated surface has the accuracy of the rule.
    np.testing.assert_allclose(result.distance[:-1], expected, atol=1e-8)


def test_fields_are_nan_where_the_data_do_not_determine_them(result):
    assert np.isnan(result.external[:-1, 1]).all() and np.isnan(result.internal[:-1, 0]).all()
    assert np.isfinite(result.external[:-1, 0]).all() and np.isfinite(result.internal[:-1, 1]).all()
    assert np.isfinite(result.external[-1]).all() and np.isfinite(result.internal[-1]).all()
    assert not result.inside[-1].any() and (result.distance[-1] == 0).all()
    assert np.isfinite(result.error).all()


def test_points_far_away_on_the_axis_and_deep_inside_have_the_digits_asked_for(found, problem):
    far = jax.tree.map(lambda values: values[-4:], found)
    np.testing.assert_array_equal(far.inside, [False, False, False, True])
    assert np.nanmax(errors(problem, FAR, far), axis=0).max() < 10.0**-DIGITS


def test_errors_of_nine_digits_on_w7x_are_below_1e_8_near_the_surface_and_far_from_it():
    problem = problems.w7x(9)
    distances = (3e-1, 3e-2, 1e-3, 1e-4)
    points = points_near(problem, (20, 40), [(0, 0), (6, 13), (13, 29), (19, 31)], distances)
    _, missed = separated(problem, points, 9)
    assert np.nanmax(missed, axis=0).max() < 1e-8


def test_points_between_two_sheets_of_a_thin_section_have_the_digits_asked_for():
    """The section rotates five times around the torus, and patches are close to both sheets."""
    thin = problems.rotating_ellipse_surface(10, semi_axes=(0.0212, 0.1697), major_radius=1.0)
    grid: dict[str, Any] = dict(nfp=10, half_period=True)
    X = thin.points(8, 8, half_period=True)
    sources = (problems.CentralConductor(0.5),)
    B = problems.magnetic_field(sources, vcjax.surface_points(X, **grid, nphi=8, ntheta=16))
    targets: dict[str, Any] = grid | dict(nphi=4, ntheta=24)
    points = vcjax.surface_points(X, **targets) - 0.006 * unit_normals(X, **targets)
    points = points.reshape(-1, 3)
    found = vcjax.off_surface_field(X, B, points, 3, **grid)
    truth = problems.magnetic_field(sources, points)
    error = np.linalg.norm(np.asarray(found.external) - truth, axis=1)
    assert error.max() <= 1e-3 * np.linalg.norm(truth, axis=1).max()


def vacuum_errors(X, distances, digits, gradient, **grid):
    """Return the largest error at each distance and its estimate, relative to the largest value.

    The field is from a current on the z axis. The points are inside if the distances are negative.
    """
    targets: dict[str, Any] = grid | dict(nphi=2, ntheta=6)
    at, normal = vcjax.surface_points(X, **targets), unit_normals(X, **targets)
    points = (at + np.reshape(distances, (-1, 1, 1, 1)) * normal).reshape(-1, 3)
    sources = (problems.CentralConductor(1.0),)
    B = problems.magnetic_field(sources, vcjax.surface_points(X, **grid, nphi=22, ntheta=46))
    rule = vcjax.choose_off_surface(X, B, digits, **grid, gradient=gradient)
    evaluate = jax.jit(vcjax.gradient_at if gradient else vcjax.field_at)
    found = evaluate(vcjax.prepare_off_surface(rule, X), B, points)
    known = problems.magnetic_field_gradient if gradient else problems.magnetic_field
    truth = known(sources, points)
    missed = truth - found.external if max(distances) < 0 else found.internal
    by_distance = np.abs([missed, truth]).reshape(2, len(distances), -1).max(axis=2)
    estimates = np.reshape(found.error, (len(distances), -1)).max(axis=1)
    estimates *= np.linalg.norm(B, axis=-1).max()
    return by_distance[0] / by_distance[1], estimates / by_distance[1]


def test_next_to_a_coil_the_error_and_its_estimate_are_largest():
    """Next to coils, B has its highest modes, and interpolation on patches is least accurate."""
    phi, digits, grid = 1.3, 4, dict[str, Any](nfp=1, half_period=False)
    ring = problems.rotating_ellipse_surface(1, semi_axes=(0.1, 0.1), major_radius=1.0)
    X = ring.points(8, 8, half_period=False)
    coil = problems.PoloidalCoil(0.02, phi=phi, centre=(1.0, 0.0), radius=0.2)
    sources = problems.CentralConductor(1.0), coil
    B = problems.magnetic_field(sources, vcjax.surface_points(X, **grid, nphi=300, ntheta=16))
    angles = phi + np.array([[-0.01], [0.0], [0.01], [3.0], [3.01], [3.02]])
    theta = np.arange(5.0)
    r, z = 1 + 0.101 * np.cos(theta), 0.101 * np.sin(theta)
    points = np.stack(np.broadcast_arrays(r * np.cos(angles), r * np.sin(angles), z), axis=-1)
    found = vcjax.off_surface_field(X, B, points.reshape(-1, 3), digits, **grid)
    largest = np.linalg.norm(B, axis=-1).max()
    error = (np.linalg.norm(found.internal, axis=1) / largest).reshape(6, 5)
    estimate = found.error.reshape(6, 5)
    beside, opposite = slice(0, 3), slice(3, 6)
    assert error.max() < 10.0**-digits
    for rows in (beside, opposite):
        assert 0.5 < estimate[rows].max() / error[rows].max() < 20
    assert estimate[opposite].max() < 0.3 * estimate[beside].max()
    assert error[opposite].max() < error[beside].max()


def test_small_changes_of_the_test_field_have_small_relative_errors():
    rng = np.random.default_rng(0)
    sources = jnp.asarray(rng.uniform(1.0, 2.0, size=(3, 4, 5)))
    points, offsets = sources[:, 0], jnp.asarray(rng.uniform(0.1, 1.0, size=(3, 5)))
    field = partial(known_field, sources)
    expected = field(points + offsets) - field(points)
    np.testing.assert_allclose(known_change(sources, points, offsets), expected, atol=1e-14)
    _, slope = jax.jvp(field, (points,), (offsets,))
    found = known_change(sources, points, 1e-12 * offsets)
    np.testing.assert_allclose(1e12 * found, slope, rtol=1e-10, atol=1e-11)


def test_gradients_lose_no_digits_next_to_the_surface():
    """The near part of a constant field is known exactly.

    With a computed near part, rounding errors grew like 1/distance, to 9e-10 and 1.6e-7.
    """
    thin = problems.rotating_ellipse_surface(1, semi_axes=(0.02, 0.02), major_radius=1.0)
    X = thin.points(8, 16, half_period=False)
    distances = -2e-7, -2e-9
    errors, estimates = vacuum_errors(X, distances, 10, gradient=True, nfp=1, half_period=False)
    assert (errors <= 1e-10).all()
    assert (errors / 2 <= estimates).all() and (estimates <= 20 * errors).all()


def test_gradients_lose_no_digits_next_to_a_thin_section():
    """If the far sum contained the nodes next to the point, the error would be 4e-11."""
    thin = problems.rotating_ellipse_surface(10, semi_axes=(0.0212, 0.1697), major_radius=1.0)
    X = thin.points(8, 8, half_period=True)
    errors, _ = vacuum_errors(X, [-6e-9], 11, gradient=True, nfp=10, half_period=True)
    assert errors[0] < 1e-11


@pytest.mark.parametrize("gradient", [False, True])
def test_points_outside_a_section_of_few_nodes_have_at_most_a_tenth_of_the_allowed_error(gradient):
    """Seen from outside, the nodes of the section look farther apart than they are."""
    ring = problems.rotating_ellipse_surface(1, semi_axes=(0.1, 0.1), major_radius=1.0)
    X = ring.points(4, 8, half_period=True)
    errors, _ = vacuum_errors(X, [0.03], 8, gradient, nfp=1, half_period=True)
    assert errors[0] < 1e-9


@pytest.mark.filterwarnings("ignore::vcjax.VcjaxWarning")
def test_estimates_of_gradients_hold_where_the_grid_of_B_is_coarse_along_phi():
    problem = problems.axisymmetric(2, minor_radius=0.3)
    points = points_near(problem, (5, 31), [(1, k) for k in range(0, 31, 3)], (3e-3, 3e-5))
    found, missed = separated(problem, points, 2, gradient=True)
    assert (np.nanmax(missed, axis=0) < 2 * found.error).all()


@pytest.mark.filterwarnings("ignore::vcjax.UnresolvedWarning")
@pytest.mark.parametrize("digits", [1, 2])
def test_gradients_of_few_digits_have_their_digits_at_tiny_distances(digits):
    problem = problems.rotating_ellipse(digits)
    points = points_near(problem, (8, 12), [(1, 2), (3, 7), (5, 5)], (1e-7, 1e-9, 1e-10))
    _, missed = separated(problem, points, digits, gradient=True)
    largest = np.abs(problem.grad_B_ext + problem.grad_B_int).max() / np.abs(problem.B).max()
    assert np.nanmax(missed, axis=0).max() < 10.0**-digits * largest


def test_the_steepness_of_a_linear_field_follows_from_its_slope():
    points = np.random.default_rng(7).normal(size=(3, 9, 11))
    slope, constant = 40.0, np.full((3, 1, 1), 1e3)
    field = slope * points + constant
    no_tables: Any = None
    continued = jnp.asarray(np.concatenate([points, points, field]))
    nodes = Nodes(continued, continued[:3], jnp.zeros(2), no_tables)
    largest = [np.linalg.norm(v, axis=0).max() for v in (points, field)]
    assert _steepness(nodes) == pytest.approx(slope * largest[0] / largest[1], rel=1e-9)


GRADIENT_DIGITS, GRADIENT_DISTANCES = 4, (5e-2, 5e-3, 1e-6, 0.0)


@pytest.fixture(scope="module")
def gradient_points(problem):
    return points_near(problem, SHAPE, PLACES[:2], GRADIENT_DISTANCES)


@pytest.fixture(scope="module")
def gradients(problem, gradient_points):
    """Return the gradients at all points, and their errors."""
    return separated(problem, gradient_points, GRADIENT_DIGITS, gradient=True)


def test_gradients_have_the_digits_asked_for_and_at_most_twice_the_estimated_error(
    gradients, problem
):
    found, missed = gradients
    missed = np.nanmax(missed[:, :-1], axis=0)
    largest = np.abs(problem.grad_B_ext + problem.grad_B_int).max() / np.abs(problem.B).max()
    assert missed.max() < 10.0**-GRADIENT_DIGITS * largest
    assert (missed < 2 * found.error[:-1]).all()


def test_gradients_are_nan_on_the_surface_and_where_they_are_not_determined(gradients):
    found, _ = gradients
    assert np.isnan(found.external[:, 1]).all() and np.isnan(found.internal[:, 0]).all()
    # On the surface, the derivative of the quadrature is not the gradient.
    assert np.isnan(found.external[-1]).all() and np.isnan(found.internal[-1]).all()


def test_the_estimated_error_of_a_zero_gradient_is_small(problem, gradient_points):
    digits, grid = GRADIENT_DIGITS, symmetry(problem)
    rule = vcjax.choose_off_surface(problem.X, problem.B, digits, **grid, gradient=True)
    casing = vcjax.prepare_off_surface(rule, problem.X)
    found = vcjax.gradient_at(casing, 0 * problem.B, gradient_points[:-1].reshape(-1, 3))
    assert not np.nan_to_num(found.external).any()
    assert (found.error < 10.0 ** (1 - digits)).all()


@pytest.fixture(scope="module")
def slopes():
    """Return a function of surface, field and points, and its arguments.

    The points are on both sides. The function returns a sum of fields and distances, the distances,
    and the derivatives of the sum.
    """
    problem = small_torus()
    rule = vcjax.choose_off_surface(problem.X, problem.B, 3, nfp=1)
    constants = vcjax.off_surface_tables(rule)
    places = np.array([[2.3, 0.1, 0.0], [2.49, 0.1, 0.1], [2.6, 0.1, 0.1], [0.5, 0.3, 0.1]])
    weight = np.random.default_rng(2).normal(size=places.shape)

    @jax.jit
    def both(arguments, weight, constants):
        def total(X, B, places):
            casing = vcjax.prepare_off_surface(rule, X, constants=constants)
            found = vcjax.field_at(casing, B, places)
            return (weight * determined(found)).sum() + found.distance.sum(), found.distance

        return jax.value_and_grad(total, argnums=(0, 1, 2), has_aux=True)(*arguments)

    return lambda *arguments: both(arguments, weight, constants), (problem.X, problem.B, places)


def test_the_derivative_in_B_times_B_is_the_sum_of_the_fields(slopes):
    evaluate, (X, B, places) = slopes
    (value, distances), (_, of_B, _) = evaluate(X, B, places)
    np.testing.assert_allclose((of_B * B).sum(), value - distances.sum(), rtol=1e-10)


def test_slopes_in_points_and_surface_agree_with_finite_differences(slopes):
    evaluate, (X, B, places) = slopes
    (value, _), (of_X, _, of_places) = evaluate(X, B, places)
    stretch = X * np.array([0.0, 0.0, 0.4])
    step, move = 1e-4, np.random.default_rng(3).normal(size=places.shape)
    after, before = (evaluate(X, B, places + s * move)[0][0] for s in (step, -step))
    np.testing.assert_allclose((of_places * move).sum(), (after - before) / (2 * step), rtol=1e-3)
    after, before = (evaluate(X + s * stretch, B, places)[0][0] for s in (step, -step))
    # The tolerance is large, because the quadrature error also changes with the surface.
    difference = (after - before) / (2 * step)
    assert abs((of_X * stretch).sum() - difference) < 1e-2 * abs(value)


def test_on_the_surface_only_the_derivative_in_the_field_is_finite(slopes):
    evaluate, (X, B, places) = slopes
    on = np.concatenate([places[:-1], X[:1, 0]])
    (value, distances), (of_X, of_B, of_places) = evaluate(X, B, on)
    assert distances[-1] == 0 and np.isfinite(value)
    assert np.isnan(of_places[-1]).all() and np.isfinite(of_places[:-1]).all()
    assert np.isnan(of_X).all() and np.isfinite(of_B).all()
