"""Tables that depend on a Rule alone: interpolation matrices and the polar nodes of a patch."""

from dataclasses import dataclass, field
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vcjax._errors import VcjaxError
from vcjax._geometry import resample
from vcjax._pytree import pytree
from vcjax._quadrature.rule import Rule

CORE = 0.15
"""Radius of the core of a patch, where points beside the surface find the kernel nearly singular"""


@pytree
@dataclass(frozen=True, eq=False)
class Tables:
    """Constants of a Rule, as arrays that a program takes as an argument.

    The patch interpolation is a product of one matrix for phi and one for theta. A polar grid
    whose angles come in fours is symmetric under both reflections, so each matrix is split into
    its even and odd parts on the first quadrant: four products of a sixteenth of the work instead
    of one.

    Attributes
    ----------
    rule : static; what they belong to.
    """

    rule: Rule = field(metadata={"static": True})
    surface_phi: tuple[Float[Array, "row k"], Float[Array, "row k"]]
    surface_theta: tuple[Float[Array, "column l"], Float[Array, "column l"]]
    field_phi: Float[Array, "row i"]
    field_theta: Float[Array, "column j"]
    patch_phi: Float[Array, "2 node up_phi"]
    patch_theta: Float[Array, "2 node up_theta"]
    polar_weights: Float[Array, " node"]


def tables(rule: Rule) -> Tables:
    """The constants of a rule; built once, then kept for the rules used last."""
    if not isinstance(rule, Rule):
        raise VcjaxError(
            f"tables got a rule of type {type(rule).__name__}; make one with vcjax.choose."
        )
    return Tables(rule=rule, **jax.tree.map(jnp.asarray, _host_tables(rule)))


@lru_cache(maxsize=8)
def _host_tables(rule: Rule) -> dict:
    period = 2 * np.pi / rule.nfp
    theta = np.arange(rule.quad_ntheta) * rule.spacing[1]
    surface_rows = (rule.surface_shape[0] + 1) * (2 if rule.half_period else 1)
    field_rows = rule.src_shape[0] * (2 if rule.half_period else 1)
    field_start, _ = resample.field_angles(field_rows, rule.nfp, rule.half_period)
    angles = resample.equispaced(rule.first_angle, rule.spacing[0], rule.period_rows)
    interpolation = resample.interpolation_matrices
    u, v, weights = polar_quadrant(rule)
    return dict(
        surface_phi=interpolation(surface_rows, 0.0, period, angles),
        surface_theta=interpolation(rule.surface_shape[1], 0.0, 2 * np.pi, theta),
        field_phi=interpolation(field_rows, field_start, period, angles)[0],
        field_theta=interpolation(rule.src_shape[1], 0.0, 2 * np.pi, theta)[0],
        patch_phi=_fold(lagrange_rows(u, rule.reach_phi, rule.lagrange_count)),
        patch_theta=_fold(lagrange_rows(v, rule.reach_theta, rule.lagrange_count)),
        polar_weights=weights,
    )


def radii(rule: Rule) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre on [0, 1]: one-sided, because the near kernel has a |rho|^3 term.

    If the core is counted apart, on [0, CORE] and on [CORE, 1].
    """
    if not rule.core_count:
        return gauss_legendre(rule.radial_count)
    core, outer = (
        gauss_legendre(rule.core_count, 0.0, CORE),
        gauss_legendre(rule.radial_count, CORE),
    )
    return np.concatenate([core[0], outer[0]]), np.concatenate([core[1], outer[1]])


def gauss_legendre(count: int, first: float = 0.0, last: float = 1.0):
    """Nodes and weights on an interval."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    half = 0.5 * (last - first)
    return first + half * (1 + nodes), half * weights


def polar_quadrant(rule: Rule) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Polar nodes of the first quadrant: offsets (u, v) in quadrature nodes, and weights.

    They are sorted by v, so that consecutive nodes take their values from few columns of the
    patch; where the core is counted apart by radius, which does nearly as well, and by angle.
    """
    rho, rho_weights = radii(rule)
    angle = 2 * np.pi * (np.arange(rule.angular_count // 4) + 0.5) / rule.angular_count
    u = np.outer(rho, np.cos(angle)).ravel() * rule.patch_phi
    v = np.outer(rho, np.sin(angle)).ravel() * rule.patch_theta
    jacobian = (
        rho * rho_weights * (2 * np.pi / rule.angular_count) * rule.patch_phi * rule.patch_theta
    )
    order = np.arange(v.size) if rule.core_count else np.argsort(v, kind="stable")
    return u[order], v[order], np.repeat(jacobian, angle.size)[order]


def rim_nodes(rule: Rule) -> np.ndarray:
    """Indices into `polar_quadrant` of the nodes of the largest radius."""
    u, v, _ = polar_quadrant(rule)
    radius = np.hypot(u / rule.patch_phi, v / rule.patch_theta)
    return np.sort(np.argsort(radius)[-(rule.angular_count // 4) :])


def lagrange_rows(points: np.ndarray, reach: int, count: int) -> np.ndarray:
    """Local Lagrange interpolation on the integers -reach..reach.

    Parameters
    ----------
    points : (n,) positions within the grid.
    count : number of points of each local stencil (even); at most 2 reach are used.

    Returns
    -------
    (n, 2 reach + 1), rows that turn grid values into values at the points.
    """
    count = min(count, 2 * reach)
    first = np.clip(np.floor(points).astype(int) - count // 2 + 1, -reach, reach + 1 - count)
    offset = points - first
    basis = np.ones((points.size, count))
    for k in range(count):
        for j in range(count):
            if j != k:
                basis[:, j] *= (offset - k) / (j - k)
    rows = np.zeros((points.size, 2 * reach + 1))
    columns = first[:, None] + reach + np.arange(count)
    np.put_along_axis(rows, columns, basis, axis=1)
    return rows


def _fold(rows: np.ndarray) -> np.ndarray:
    """Rows on -E..E as rows for v(k) + v(-k) and for v(k) - v(-k), k = 0..E; at 0 for v(0)."""
    reach = rows.shape[1] // 2
    right, left = rows[:, reach:], rows[:, reach::-1]
    return 0.5 * np.stack([right + left, right - left])


@lru_cache(maxsize=8)
def theta_stencils(rule: Rule) -> np.ndarray:
    """Columns [first, last + 1) that each polar node reads of the theta matrices, (node, 2)."""
    read = (_host_tables(rule)["patch_theta"] != 0).any(axis=0)
    return np.stack([read.argmax(axis=1), read.shape[1] - read[:, ::-1].argmax(axis=1)], axis=1)
