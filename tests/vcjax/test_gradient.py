"""Gradients: known answers are gradients, and the separated ones meet them to the digits asked."""

import numpy as np
import pytest

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
