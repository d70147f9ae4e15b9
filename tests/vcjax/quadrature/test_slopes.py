"""Estimated errors of derivatives, against errors of the interpolation."""

import numpy as np
import pytest

import vcjax
from tests.vcjax.common import rippled
from vcjax import problems
from vcjax._data_checks.spectrum import field_spectrum
from vcjax._geometry import symmetry
from vcjax._quadrature.slopes import Slopes, missed_slope
from vcjax._quadrature.tables import lagrange_rows


@pytest.mark.parametrize("count, nodes", [(8, 60), (12, 60), (12, 40), (20, 30)])
@pytest.mark.parametrize("axis", [1, 2])
def test_the_missed_slope_of_a_wave_is_close_to_the_error_of_the_interpolated_slope(
    count, nodes, axis
):
    mode, reach = 7, count // 2
    wave = np.cos(mode * 2 * np.pi * np.arange(20) / 20)
    values = np.zeros((3, 20, 20))
    values[1] = wave[:, None] if axis == 1 else wave
    step = 2 * np.pi / nodes
    nodes_of_wave = np.exp(1j * mode * step * np.arange(-reach, reach + 1))
    near, far = lagrange_rows(np.array([1e-5, 2e-5]), reach, count) @ nodes_of_wave - 1.0
    error = abs((4 * near - far) / 2e-5 / step - 1j * mode)
    estimate = missed_slope(values, axis, 1 / nodes, count).max()
    assert 0.5 * error < estimate < 3 * error


def test_a_limit_is_exceeded_exactly_if_the_estimated_error_of_a_derivative_is_above_it():
    problem = problems.w7x(3)
    X, B = (np.moveaxis(v, -1, 0) for v in (problem.X, problem.B))
    period = symmetry.surface_period(X, problem.nfp, problem.half_period)
    spectrum = field_spectrum(B, problem.nfp, problem.half_period)
    slopes = Slopes(spectrum, problem.nfp, False, period, problem.half_period)
    along_theta = slopes.missed(np.array([1e9, 60.0]), (8, 10)) * slopes.scale
    along_phi = slopes.missed(np.array([40.0, 1e9]), (8, 10)) * slopes.scale
    for limit, above in ((1 - 1e-6, True), (1 + 1e-6, False), (100.0, False)):
        assert slopes.misses(limit * along_phi, 1, problem.nfp / 40, 8) == above
        assert slopes.misses(limit * along_theta, 2, 1 / 60, 10) == above


@pytest.mark.filterwarnings("ignore::vcjax.ContradictionWarning")  # currents cross the surface
def test_a_gradient_of_a_slowly_varying_field_needs_a_kernel_of_more_digits():
    """The digits of a gradient are relative to the largest value of the gradient."""
    problem = problems.axisymmetric(6)
    slow, fast = (
        vcjax.choose(
            problem.X, B, 4, nfp=1, half_period=False, trg_nphi=4, trg_ntheta=8, gradient=True
        )
        for B in (problem.B, rippled(problem.B, 8, 0.2))
    )
    assert slow.cutoff > fast.cutoff
