"""Make the polar rule of patches fine enough for the highest modes of a field.

The search for a grid (`vcjax._quadrature.grid`) gives a polar rule that resolves the kernel. If B
has strong high modes, as next to coils, the polar rule must resolve these modes, too.

- On narrow patches, B is interpolated from fewer points than `Rule.lagrange_count`. If more points
  are needed, the margin of the patches is made wider.
- Along an ellipse of the polar rule, a wave of B is a sum of angular modes. Let w be the number of
  turns by which the wave advances from node to node, P the semi-axis of the patch in nodes, and rho
  the radius, from 0 at the centre of the patch to 1 at the rim. In a wave with amplitude 1, the
  angular mode k has the amplitude J_k(2 pi w P rho), with Bessel's function J_k. A rule with N
  angles misses the modes from N on. The near kernel is about exp(-(T rho)^2), where T is the
  cut-off. The error due to a wave is therefore the amplitude of the wave times the largest value of
  J_N(2 pi w P rho) exp(-(T rho)^2) over all radii. The number of angles is increased until the sum
  of these errors over all waves is small.
- Along a ray, a wave with amplitude 1 is exp(2 pi i w P rho). The radial rule integrates
  exp(2 pi i w P rho - (T rho)^2) from 0 to 1. The error due to a wave is the amplitude of the wave
  times the error of this integral. If targets are on the surface, the number of radii is increased
  until the sum of these errors over all waves is small.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from vcjax._quadrature.polar import gauss_legendre
from vcjax._quadrature.rule import Rule

_ALLOWED_ANGLES = 0.005
"""Largest allowed estimate of the error due to the number of angles, relative to the requested
error. This limit is small because `OffSurface.error` and `error_estimate` do not estimate the error
from the number of angles. On W7-X with the field of coils, errors were 0.2 to 0.6 times the
estimate."""
_ALLOWED_RADII = 2.0
"""Largest allowed estimate of the error due to the number of radii, relative to the requested
error. On W7-X, QA and QH with the fields of coils, errors were at most 0.005 times the estimate for
fields, and 0.03 times for gradients. The estimate is so large because it does not average over all
rays."""


def with_enough_points(rule: Rule, misses: Callable[[int, float, int], bool]) -> Rule:
    """Return the rule with patches that have a wide enough margin to interpolate B.

    `misses` is the method `Values.misses` for B, or `Slopes.misses` for its derivatives, with the
    largest allowed error as its first argument. If the grid does not have room for this margin, the
    margin is as wide as the grid allows.
    """
    turns = 1 / rule.period_rows, 1 / rule.quad_ntheta

    def lacks_points(rule: Rule) -> bool:
        axes = zip((1, 2), turns, rule.stencil_counts, strict=True)
        return any(n < rule.lagrange_count and misses(axis, w, n) for axis, w, n in axes)

    while lacks_points(rule):
        reach = rule.reach_phi + 1, rule.reach_theta + 1
        if 2 * reach[0] >= rule.quad_nphi or 2 * reach[1] >= rule.quad_ntheta:
            break
        rule = replace(rule, margin=rule.margin + 1)
    return rule


def with_enough_polar_nodes(
    rule: Rule,
    is_larger: Callable[[float, int, np.ndarray], bool],
    grid: tuple[int, int],
    tolerance: float,
    *,
    radii: bool,
) -> Rule:
    """Return the rule with enough angles for the waves of B on patches, and with enough radii.

    The number of radii is changed only if `radii` is True, for targets on the surface. `is_larger`
    is the method `Values.is_larger` for B, or `Slopes.is_larger` for its derivatives. `tolerance`
    is the requested error, in the unit of B or of its derivatives. `grid` contains two numbers of
    samples of B in a field period: along phi and along theta.
    """
    cutoff = rule.cutoff
    by_angles, by_radii = _ALLOWED_ANGLES * tolerance, _ALLOWED_RADII * tolerance
    patches = (rule.patch_phi, rule.period_rows), (rule.patch_theta, rule.quad_ntheta)
    for axis, samples, (semi_axis, nodes) in zip((1, 2), grid, patches, strict=True):
        turns = np.minimum(np.arange(samples // 2 + 1) / nodes, 0.5)
        phases = 2 * np.pi * semi_axis * turns
        while is_larger(by_angles, axis, _missed_waves(phases, rule.angular_count, cutoff)):
            rule = replace(rule, angular_count=4 * int(np.ceil(1.1 * rule.angular_count / 4)))
        missed_on_rays = partial(_missed_on_rays, phases, cutoff=cutoff)
        while radii and is_larger(by_radii, axis, missed_on_rays(rule.radial_count)):
            rule = replace(rule, radial_count=rule.radial_count + 1)
    return rule


def _missed_on_rays(z: np.ndarray, radii: int, cutoff: float) -> np.ndarray:
    """Return the errors of k waves due to the number of radii, relative to their amplitudes.

    `z` (k,) contains the phases by which the waves advance from the centre of the patch to its rim,
    in radians. The error is measured against a rule with three times as many radii.
    """

    def integral(count: int) -> np.ndarray:
        rho, weights = gauss_legendre(count)
        near = weights * np.exp(-((cutoff * rho) ** 2))
        # A matrix product would start threads of OpenBLAS; see `resample.product`.
        return (np.exp(1j * np.outer(z, rho)) * near).sum(axis=1)

    return np.abs(integral(radii) - integral(3 * radii))


def _missed_waves(z: np.ndarray, angles: int, cutoff: float) -> np.ndarray:
    """Return the errors of k waves due to the number of angles, relative to their amplitudes.

    The error is the largest value of J_N(z rho) exp(-(T rho)^2) over the radii rho from 0 to 1.
    Here N is `angles`, T is `cutoff`, and `z` (k,) are the phases as in `_missed_on_rays`. Let
    s = z rho / N. If s < 1, Bessel's function J_N(N s) is about
    exp(N (sqrt(1 - s^2) - arccosh(1/s))), to leading order and without the prefactor (Debye; NIST
    Digital Library of Mathematical Functions, 10.19.3). With q = 2 T^2 N / z^2, the product of J_N
    and exp(-(T rho)^2) is largest where sqrt(1 - s^2) = q s^2. If rho is above 1 there, the product
    is largest at the rim, where s = z / N.
    """
    z = np.maximum(z, 1e-3)
    q = 2 * cutoff**2 * angles / z**2
    s = np.minimum(np.sqrt(2 / (1 + np.sqrt(1 + 4 * q * q))), z / angles)
    wave = angles * (np.sqrt(1 - s * s) - np.arccosh(1 / s))
    return np.exp(wave - (cutoff * angles * s / z) ** 2)
