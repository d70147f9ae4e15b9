"""Estimates bound the errors."""

import numpy as np
import pytest

import vcjax
from vcjax import problems


@pytest.fixture(scope="module")
def problem():
    return problems.axisymmetric(
        7, cross_section="circular", shape=(4, 12), src_shape=(4, 48), trg_shape=(2, 6)
    )


@pytest.fixture(scope="module", params=[2, 5])
def gradients(request, problem):
    rule = vcjax.choose(
        problem.X, problem.B, request.param, nfp=1, trg_nphi=2, trg_ntheta=6, gradient=True
    )
    return vcjax.prepare_gradient(rule, problem.X)


def test_the_estimate_for_a_gradient_bounds_its_error(gradients, problem):
    estimate = vcjax.error_estimate(gradients, problem.B)
    external = vcjax.external_gradient(gradients, problem.B)
    internal = vcjax.internal_gradient(gradients, problem.B)
    error = max(
        problem.external_gradient_error(external), problem.internal_gradient_error(internal)
    )
    assert error <= estimate <= 100 * error


def test_the_self_test_of_gradients_is_the_error_for_fields_that_are_smooth(gradients, problem):
    violation = np.asarray(vcjax.self_test(gradients))
    assert violation.shape == (2, 6)
    smooth = problems.known_problem(
        "smooth",
        problem.X,
        nfp=1,
        half_period=False,
        digits=7,
        outside=(problems.CentralConductor(1.0), problems.ToroidalLoop(1.0, r=(6.0,))),
        inside=(),
        src_shape=(4, 48),
        trg_shape=(2, 6),
    )
    error = np.asarray(vcjax.external_gradient(gradients, smooth.B)) - smooth.grad_B_ext
    largest = np.linalg.norm(smooth.B, axis=2).max()
    assert np.abs(error).max() <= 2 * violation.max() * largest


def test_a_gradient_s_estimate_grows_with_what_the_grid_of_the_field_leaves_out(gradients):
    coarse = problems.axisymmetric(
        7, cross_section="circular", shape=(4, 12), src_shape=(4, 12), trg_shape=(2, 6)
    )
    rule = vcjax.choose(coarse.X, coarse.B, 2, nfp=1, trg_nphi=2, trg_ntheta=6, gradient=True)
    casing = vcjax.prepare_gradient(rule, coarse.X)
    error = coarse.external_gradient_error(vcjax.external_gradient(casing, coarse.B))
    assert 0.001 < error <= vcjax.error_estimate(casing, coarse.B)


def test_a_uniform_field_has_no_gradient_to_compare_an_error_with(gradients, problem):
    uniform = np.zeros_like(problem.B) + np.array([0.0, 0.0, 1.0])
    with pytest.raises(vcjax.VcjaxError, match="error_estimate got a uniform B"):
        vcjax.error_estimate(gradients, uniform)
