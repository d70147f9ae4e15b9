"""Patches resolve the highest modes of a field as well as the kernel."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from tests.vcjax.common import rule_of
from vcjax import problems
from vcjax._quadrature.polar import gauss_legendre
from vcjax._quadrature.waves import (
    _missed_on_rays,
    _missed_waves,
    with_enough_points,
    with_enough_polar_nodes,
)


@pytest.fixture(scope="module")
def rule():
    return rule_of(problems.w7x(3), 3)


@pytest.mark.parametrize("angles", [36, 92])
@pytest.mark.parametrize("cutoff", [2.5, 5.0])
def test_missed_waves_bound_the_error_of_the_trapezoidal_rule_along_ellipses(angles, cutoff):
    phases = angles * np.array([0.3, 0.6, 1.0, 1.5, 3.0])
    radius = np.linspace(0.0, 1.0, 2000)
    angle = 2 * np.pi * np.arange(angles) / angles
    finer = 2 * np.pi * np.arange(8 * angles) / (8 * angles)

    def mean(phase, angle):
        return np.exp(1j * phase * radius[:, None] * np.cos(angle)).mean(axis=1)

    kernel = np.exp(-((cutoff * radius) ** 2))
    errors = [(kernel * abs(mean(z, angle) - mean(z, finer))).max() for z in phases]
    estimates = _missed_waves(phases, angles, cutoff)
    seen = estimates > 1e-12
    assert seen.sum() >= 3
    assert (np.array(errors)[seen] <= estimates[seen]).all()
    assert (np.array(errors)[seen] >= 0.03 * estimates[seen]).all()


@pytest.mark.parametrize("radii, tolerance", [(False, 1e-3), (True, 1e-6)])
def test_nodes_are_added_until_the_waves_of_a_field_are_resolved(rule, radii, tolerance):
    def is_larger(limit, axis, factors):
        return axis == 2 and factors[-1] > limit

    given: Any = dict(grid=(10, 2 * rule.quad_ntheta), tolerance=tolerance, radii=radii)
    finer = with_enough_polar_nodes(rule, is_larger, **given)
    assert finer.angular_count > rule.angular_count
    assert (finer.radial_count > rule.radial_count) == radii
    counts = dict(angular_count=rule.angular_count, radial_count=rule.radial_count)
    assert dataclasses.replace(finer, **counts) == rule
    assert with_enough_polar_nodes(finer, is_larger, **given) == finer
    assert with_enough_polar_nodes(rule, lambda *_: False, **given) == rule


def test_missed_on_rays_is_the_error_of_the_radial_rule():
    rho, weights = gauss_legendre(12)
    cutoff, phase = 3.0, 40.0
    wave = np.exp(1j * phase * rho - (cutoff * rho) ** 2)
    fine = np.linspace(0.0, 1.0, 20001)
    exact = np.trapezoid(np.exp(1j * phase * fine - (cutoff * fine) ** 2), fine)
    error = abs(weights @ wave - exact)
    assert error > 1e-3
    assert _missed_on_rays(np.array([0.0, phase]), 12, cutoff)[1] == pytest.approx(error, rel=1e-3)


def test_the_margin_of_narrow_patches_grows_until_the_interpolation_is_accurate(rule):
    assert rule.stencil_counts[0] < rule.lagrange_count  # patches are narrow along phi
    enough = rule.stencil_counts[0] + 2

    def misses(axis, turns, count):
        assert turns == (1 / rule.period_rows if axis == 1 else 1 / rule.quad_ntheta)
        return axis == 1 and count < enough

    wider = with_enough_points(rule, misses)
    assert wider == dataclasses.replace(rule, margin=rule.margin + 1)
    assert with_enough_points(wider, misses) == wider
    full = with_enough_points(rule, lambda *_: True)
    assert full.stencil_counts[0] == rule.lagrange_count
