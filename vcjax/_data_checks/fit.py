"""Check whether a rule is fine enough for a surface or field that it was not chosen for.

`samples` is one period of the surface, from `symmetry.surface_period`. `spectrum` is the spectrum
of one period of the field, in components that rotate with phi.
"""

import numpy as np

from vcjax._annotations import Float
from vcjax._data_checks.spectrum import Spectrum
from vcjax._geometry import resample, symmetry
from vcjax._quadrature.demand import RIM_KERNEL
from vcjax._quadrature.missed import unresolved
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.sheets import nodes_for_sheets, sheets_of
from vcjax._quadrature.slopes import Slopes
from vcjax._quadrature.spectrum import (
    Values,
    nodes_for_field,
    nodes_for_surface,
    quadrature_digits,
)

_ENOUGH = 1.25
"""A rule that is too coarse by at most this factor causes no warning."""
_SAMPLE = 24
"""Patches are measured at no more than this number of points along each angle."""


def lacks_for_surface(rule: Rule, samples: Float[np.ndarray, "3 a b"]) -> float:
    """Return the factor by which a rule is too coarse for a surface.

    A factor of at most `_ENOUGH` is returned as 1. The demands are about the same as in `choose`:
    the nodes must resolve the surface normals, and the gaps between sheets (parts of the surface
    that face each other). Patches must be at least as large as the range of the near kernel.
    """
    epsilon, radius = RIM_KERNEL * np.exp(-(rule.cutoff**2)), rule.cutoff**2 / np.pi
    quad = np.array([rule.quad_nphi, rule.quad_ntheta])
    off_surface = rule.core_count > 0
    sheets = sheets_of(samples, rule.nfp, both_sides=off_surface, symmetric=rule.half_period)
    nodes = np.maximum(
        nodes_for_surface(samples, rule.nfp, epsilon, rule.lagrange_count),
        nodes_for_sheets(sheets, np.log(10) * rule.digits),
    )
    lacks = max(float((nodes / quad).max()), radius / _patch_radius(rule, samples))
    return lacks if lacks > _ENOUGH else 1.0


def _patch_radius(rule: Rule, samples: np.ndarray) -> float:
    """Return the radius, in nodes, of the largest disc that fits into every patch of the surface.

    A patch is an ellipse in the angles, and approximately an ellipse on the surface. Its semi-axes
    on the surface are the singular values of [x_phi P_phi h_phi, x_theta P_theta h_theta]. Here
    x_phi and x_theta are the tangents, P the semi-axes of the patch in nodes, and h the steps of
    the angles.
    """
    angles = symmetry.grid_angles(min(2 * samples.shape[1], _SAMPLE), rule.nfp, False)
    columns = min(2 * samples.shape[2], _SAMPLE)
    _, x_phi, x_theta = resample.tangents_at(samples, rule.nfp, angles, columns)
    a, b = (v * h for v, h in zip((x_phi, x_theta), rule.spacing, strict=True))
    node = np.maximum(*(np.linalg.norm(v, axis=0) for v in (a, b)))
    a, b = a * rule.patch_phi, b * rule.patch_theta
    A, C, D = ((v * w).sum(axis=0) for v, w in ((a, a), (b, b), (a, b)))
    least = 0.5 * (A + C) - np.sqrt(0.25 * (A - C) ** 2 + D**2)
    # The caller divides by the result, so it must not be 0.
    return float((np.sqrt(np.maximum(least, 0.0)) / node).min()) + 1e-300


def is_resolved(
    rule: Rule,
    spectrum: Spectrum,
    digits: int,
    samples: Float[np.ndarray, "3 a b"] | None = None,
) -> bool:
    """Return whether a rule's grid has at least as many nodes as `choose` demands for a field.

    `digits` is the accuracy of the field, or of its gradient if `samples` is given.
    """
    nodes = np.array([rule.quad_nphi, rule.quad_ntheta], dtype=float)
    count, wanted = rule.lagrange_count, quadrature_digits(digits, samples is not None)
    need = np.maximum(nodes_for_field(spectrum, wanted, rule.nfp), nodes)
    given = spectrum, rule.nfp, rule.core_count > 0
    errors = Values(*given) if samples is None else Slopes(*given, samples, rule.half_period)
    return bool((errors.nodes(need, digits, count) <= nodes).all())


def missed_by_rule(rule: Rule, spectrum: Spectrum, samples: Float[np.ndarray, "3 a b"]) -> float:
    """Estimate the error of interpolating a field on the patches of a rule.

    The error is relative to max |B|; for a rule of gradients, to max |grad B|.
    """
    if rule.gradient:
        slopes = Slopes(spectrum, rule.nfp, rule.core_count > 0, samples, rule.half_period)
        nodes = np.array([rule.quad_nphi, rule.quad_ntheta])
        return slopes.missed(nodes, rule.stencil_counts)
    return float(unresolved(spectrum.values, rule, np)[1].max())
