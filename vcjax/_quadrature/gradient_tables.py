"""Tables that gradients need beside those of the field."""

from dataclasses import dataclass
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vcjax._geometry import resample
from vcjax._pytree import pytree
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables, tables


@pytree
@dataclass(frozen=True, eq=False)
class GradientTables:
    """Constants of a rule for `prepare_gradient`, as arrays that a program takes as an argument.

    Attributes
    ----------
    field : the constants that the field needs as well.
    field_phi_slope, field_theta_slope : derivatives of a field's interpolation, at the targets.
    centre_phi, centre_theta : derivatives of the patch interpolation at the centre, one-sided.
    """

    field: Tables
    field_phi_slope: Float[Array, "tphi i"]
    field_theta_slope: Float[Array, "ttheta j"]
    centre_phi: Float[Array, "2 p"]
    centre_theta: Float[Array, "2 q"]


def gradient_tables(rule: Rule) -> GradientTables:
    """The constants of a rule for gradients; built once, then kept for the rules used last."""
    return GradientTables(field=tables(rule), **jax.tree.map(jnp.asarray, _host_tables(rule)))


@lru_cache(maxsize=8)
def _host_tables(rule: Rule) -> dict:
    field_rows = rule.src_shape[0] * (2 if rule.half_period else 1)
    field_start, _ = resample.field_angles(field_rows, rule.nfp, rule.half_period)
    step_phi, step_theta = (
        rule.spacing[0] * rule.stride_phi,
        rule.spacing[1] * rule.stride_theta,
    )
    angles = resample.equispaced(rule.first_angle, step_phi, rule.trg_shape[0])
    theta = resample.equispaced(0.0, step_theta, rule.trg_shape[1])
    slopes = (
        resample.interpolation_matrices(count, start, period, points)[1]
        for count, start, period, points in (
            (field_rows, field_start, 2 * np.pi / rule.nfp, angles),
            (rule.src_shape[1], 0.0, 2 * np.pi, theta),
        )
    )
    field_phi_slope, field_theta_slope = slopes
    return dict(
        field_phi_slope=field_phi_slope,
        field_theta_slope=field_theta_slope,
        centre_phi=centre_slopes(rule.reach_phi, rule.lagrange_count),
        centre_theta=centre_slopes(rule.reach_theta, rule.lagrange_count),
    )


def centre_slopes(reach: int, count: int) -> np.ndarray:
    """Derivatives at 0 of the local Lagrange interpolation on -reach..reach.

    They are derivatives of the very interpolant of `lagrange_rows`, whose stencil changes at 0;
    the finite part cancels the singular part of its integrals to rounding only so.

    Returns
    -------
    (2, 2 reach + 1), of the stencils right and left of 0.
    """
    count = min(count, 2 * reach)
    stencil = np.arange(count) - count // 2 + 1
    others = stencil[stencil != 0].astype(float)
    slopes = np.zeros(2 * reach + 1)
    for a in others:
        rest = others[others != a]
        slopes[reach + int(a)] = np.prod(-rest / (a - rest)) / a
    slopes[reach] = -slopes.sum()
    return np.stack([slopes, -slopes[::-1]])
