"""Gradients: the known answers, and errors and estimates of the computed gradients."""

import jax
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import (
    casing_of,
    optimised,
    rule_of,
    small_torus,
    surface,
    with_targets,
)
from vcjax import problems

# The grids of the problems resolve B to their digits, and gradients to one digit fewer.
pytestmark = pytest.mark.filterwarnings("ignore::vcjax.UnresolvedWarning")


@pytest.mark.parametrize("make", [problems.w7x, problems.rotating_ellipse, problems.axisymmetric])
def test_known_gradients_are_symmetric_traceless_and_equal_to_finite_differences(make):
    problem = make(3)
    assert problem.grad_B_ext.shape == (*problem.B_ext.shape, 3)
    points, step = 1.02 * problem.X[::3, ::3], 1e-3
    for sources in (problem.outside, problem.inside):
        gradient = problems.magnetic_field_gradient(sources, points)
        scale = np.abs(gradient).max()
        assert np.abs(np.trace(gradient, axis1=2, axis2=3)).max() < 1e-14 * scale
        assert np.abs(gradient - gradient.swapaxes(2, 3)).max() < 1e-14 * scale
        for i, move in enumerate(step * np.eye(3)):
            near, far = (
                problems.magnetic_field(sources, points + n * move)
                - problems.magnetic_field(sources, points - n * move)
                for n in (1, 2)
            )
            difference = (8 * near - far) / (12 * step)
            assert np.abs(gradient[..., i, :] - difference).max() < 1e-7 * scale


@pytest.mark.parametrize(
    "digits, targets, external_limit, internal_limit",
    [(6, (20, 40), 5e-6, 3e-5), (12, (4, 10), None, 1e-9)],
)
def test_w7x_gradients_are_as_accurate_as_the_source_grid_allows(
    digits, targets, external_limit, internal_limit
):
    """The external limit is below the error of the C++ package, 5.9e-6 (docs/compare.md)."""
    problem = with_targets(problems.w7x(digits), *targets)
    casing = casing_of(problem, digits, vcjax.prepare_gradient, optimise=True)
    internal = optimised(vcjax.internal_gradient)(casing, problem.B)
    assert problem.internal_gradient_error(internal) < internal_limit
    if external_limit is not None:
        external = optimised(vcjax.external_gradient)(casing, problem.B)
        assert problem.external_gradient_error(external) < external_limit


def test_external_gradients_of_a_resolved_field_have_the_digits_asked_for():
    digits = 5
    problem = problems.rotating_ellipse(8, half_period=False)
    casing = casing_of(problem, digits, vcjax.prepare_gradient, optimise=True)
    external = optimised(vcjax.external_gradient)(casing, problem.B)
    limit = 10.0**-digits
    assert problem.external_gradient_error(external) < limit
    # Gradients of vacuum fields are symmetric and have no trace.
    gradient = np.asarray(external)
    rounding = 1e-14 * np.abs(gradient).max()
    assert np.abs(np.trace(gradient, axis1=2, axis2=3)).max() < rounding
    assert np.abs(gradient - gradient.swapaxes(2, 3)).max() < rounding


def test_the_derivative_of_a_gradient_in_surface_and_field_agrees_with_finite_differences():
    problem = small_torus()
    rule = rule_of(problem, 2, gradient=True)
    constants = vcjax.gradient_tables(rule)

    @jax.jit
    def size(step, constants):
        def along(step):
            X = problem.X * (1.0 + step * np.array([0.0, 0.0, 0.4]))
            B = problem.B + step * problem.B[:, ::-1]
            casing = vcjax.prepare_gradient(rule, X, constants=constants)
            return (vcjax.external_gradient(casing, B) ** 2).sum()

        return jax.jvp(along, (step,), (1.0,))

    value, slope = size(0.0, constants)
    difference = (size(1e-4, constants)[0] - size(-1e-4, constants)[0]) / 2e-4
    # The tolerance is large, because the quadrature error also changes with the surface.
    assert abs(difference - slope) < 1e-2 * value


@pytest.fixture(scope="module")
def circular():
    return small_torus(7, cross_section="circular", shape=(4, 12), src_shape=(4, 48))


@pytest.fixture(scope="module", params=[2, 5])
def gradients(request, circular):
    return casing_of(circular, request.param, vcjax.prepare_gradient)


def test_the_estimate_of_a_gradient_is_1_to_100_times_the_error(gradients, circular):
    estimate = vcjax.error_estimate(gradients, circular.B)
    external = vcjax.external_gradient(gradients, circular.B)
    internal = vcjax.internal_gradient(gradients, circular.B)
    error = max(
        circular.external_gradient_error(external), circular.internal_gradient_error(internal)
    )
    assert error <= estimate <= 100 * error


def test_errors_of_a_smooth_gradient_are_at_most_twice_the_self_test(gradients, circular):
    violation = np.asarray(vcjax.self_test(gradients))
    assert violation.shape == (2, 6)
    smooth = problems.CentralConductor(1.0), problems.ToroidalLoop(1.0, r=(6.0,))
    B = problems.magnetic_field(smooth, surface(circular, 4, 48))
    known = problems.magnetic_field_gradient(smooth, surface(circular, 2, 6))
    error = np.asarray(vcjax.external_gradient(gradients, B)) - known
    assert np.abs(error).max() <= 2 * violation.max() * np.linalg.norm(B, axis=2).max()


def test_the_estimate_of_a_gradient_covers_the_modes_that_the_grid_of_B_misses():
    """The estimate also works if JAX forbids implicit transfers."""
    coarse = small_torus(7, cross_section="circular", shape=(4, 12), src_shape=(4, 12))
    casing = casing_of(coarse, 2, vcjax.prepare_gradient)
    error = coarse.external_gradient_error(vcjax.external_gradient(casing, coarse.B))
    with jax.transfer_guard("disallow"):
        assert 0.001 < error <= vcjax.error_estimate(casing, coarse.B)


def test_the_estimate_of_a_gradient_refuses_a_uniform_field(gradients, circular):
    uniform = np.zeros_like(circular.B) + np.array([0.0, 0.0, 1.0])
    with pytest.raises(vcjax.VcjaxError, match="error_estimate got a uniform B"):
        vcjax.error_estimate(gradients, uniform)


def test_gradients_of_twelve_digits_are_not_limited_by_rounding():
    """The exact sum of the near weights and the punctured far sum keep rounding errors small.

    Without these two, the largest error in `self_test` was 8e-11.
    """
    problem = problems.rotating_ellipse(10, half_period=False)
    rule = rule_of(problem, 12, gradient=True, trg_nphi=2, trg_ntheta=4)
    constants = vcjax.gradient_tables(rule)
    casing = vcjax.prepare_gradient(rule, problem.X, constants=constants)
    assert vcjax.self_test(casing).max() < 1e-11
