"""Gradients: known answers are gradients, and separated gradients have the digits asked for."""

from functools import partial

import jax
import numpy as np
import pytest

import vcjax
from tests.vcjax import common
from tests.vcjax.common import small_torus
from vcjax import problems


@pytest.mark.parametrize("make", [problems.w7x, problems.rotating_ellipse, problems.axisymmetric])
def test_known_gradients_are_differences_of_the_known_fields(make):
    problem = make(3)
    points = 1.02 * problem.X[::3, ::3]
    step = 1e-3
    for sources in (problem.outside, problem.inside):
        gradient = problems.magnetic_field_gradient(sources, points)
        for i in range(3):
            move = step * np.eye(3)[i]
            near, far = (
                problems.magnetic_field(sources, points + n * move)
                - problems.magnetic_field(sources, points - n * move)
                for n in (1, 2)
            )
            difference = (8 * near - far) / (12 * step)
            assert np.abs(gradient[..., i, :] - difference).max() < 1e-7 * np.abs(gradient).max()


def test_known_gradients_are_symmetric_and_free_of_divergence():
    problem = problems.w7x(3)
    for gradient in (problem.grad_B_ext, problem.grad_B_int):
        assert gradient.shape == (20, 40, 3, 3)
        scale = 1e-14 * np.abs(gradient).max()
        assert np.abs(np.trace(gradient, axis1=2, axis2=3)).max() < scale
        assert np.abs(gradient - gradient.swapaxes(2, 3)).max() < scale


casing_of = partial(common.casing_of, prepare=vcjax.prepare_gradient)


@pytest.fixture(scope="module")
def w7x():
    """The gradients of a source grid that holds B to three digits."""
    problem = problems.w7x(3)
    return problem, casing_of(problem, 3)


def test_w7x_gradients_of_a_three_digit_field_are_as_accurate_as_the_reference_s(w7x):
    problem, casing = w7x
    assert problem.external_gradient_error(vcjax.external_gradient(casing, problem.B)) < 5e-3
    assert problem.internal_gradient_error(vcjax.internal_gradient(casing, problem.B)) < 1.2e-2


def test_w7x_gradients_of_a_six_digit_field_are_as_accurate_as_the_reference_s():
    problem = problems.w7x(6)
    casing = casing_of(problem, 6)
    assert problem.external_gradient_error(vcjax.external_gradient(casing, problem.B)) < 5e-6
    assert problem.internal_gradient_error(vcjax.internal_gradient(casing, problem.B)) < 3e-5


def test_the_internal_gradient_of_w7x_reaches_nine_digits():
    problem = problems.w7x(12)
    gradient = vcjax.internal_gradient(casing_of(problem, 12), problem.B)
    assert problem.internal_gradient_error(gradient) < 1e-9


def test_gradients_of_a_resolved_field_have_the_digits_asked_for():
    digits = 5
    problem = problems.rotating_ellipse(8, half_period=False)
    casing = casing_of(problem, digits)
    external = vcjax.external_gradient(casing, problem.B)
    limit = 10.0**-digits
    assert problem.external_gradient_error(external) < limit
    # A vacuum field.
    gradient = np.asarray(external)
    scale = limit * np.abs(problem.grad_B_ext + problem.grad_B_int).max()
    assert np.abs(np.trace(gradient, axis1=2, axis2=3)).max() < 3 * scale
    assert np.abs(gradient - gradient.swapaxes(2, 3)).max() < 2 * scale


def test_the_derivative_of_a_gradient_in_surface_and_field_agrees_with_finite_differences():
    problem = small_torus()
    rule = vcjax.choose(problem.X, problem.B, 2, nfp=1, trg_nphi=2, trg_ntheta=6, gradient=True)
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
    # The quadrature error itself changes with the surface.
    assert abs(difference - slope) < 1e-2 * value
