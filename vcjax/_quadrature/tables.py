"""Compute the constants of a rule: interpolation matrices, polar weights, derivatives and rays.

Fields, gradients and points off the surface each have a set of tables. Tables are made on the host,
kept for the rules that were used last, and passed to programs as an argument.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import jax
import numpy as np

from vcjax._annotations import Array, Float
from vcjax._checks import check_rule
from vcjax._errors import VcjaxError
from vcjax._geometry import resample, symmetry
from vcjax._pytree import pytree
from vcjax._quadrature.polar import gauss_legendre, polar_quadrant, radii
from vcjax._quadrature.rule import Rule

_CORE_NODES = 12
"""Number of nodes on each ray in the core, divided by the rule's cut-off. Errors of fields were
measured 1e-9 minor radii away from a torus with an elliptical cross-section (semi-axes 0.05 and
0.4). With the value 8, errors were 1.1e-6 at 6 digits and 1.9e-9 at 12 digits. With the value 12,
they were 6e-9 and 4e-13."""


@pytree
@dataclass(frozen=True, eq=False)
class Tables:
    """The constants of a rule for `prepare`: matrices along phi and theta, and polar weights.

    The matrices of surface and field interpolate to the continued nodes: the quadrature nodes of
    one period, and the rule's overlap on every side. The results have components in the fixed
    frame, which does not rotate with phi. `resample.resampled` applies the matrices.
    `vcjax._geometry.patch` explains the interpolation to the polar nodes of a patch.

    Attributes
    ----------
    rule : the rule of these constants; a static field of the pytree.
    samples_phi, samples_theta : matrices from a surface X to the samples that
        `symmetry.surface_period` returns.
    surface_phi, surface_theta : pairs of matrices from these samples to the continued nodes: the
        interpolation and its derivative.
    field_phi, field_theta : matrices from a field to the continued nodes.
    axes : unit vectors along R and along phi at the rows of the continued nodes.
    turns : (nfp, 3, 3) rotations by 0 .. nfp - 1 periods.
    patch_phi, patch_theta : even and odd part of the interpolation to the polar nodes of the first
        quadrant of a patch.
    polar_weights : weights of the polar nodes of a quadrant.
    """

    rule: Rule = field(metadata={"static": True})
    samples_phi: Float[Array, "3 n i"]
    samples_theta: Float[Array, "image m m"]
    surface_phi: tuple[Float[Array, "3 row n3"], Float[Array, "3 row n3"]]
    surface_theta: tuple[Float[Array, "1 column m"], Float[Array, "1 column m"]]
    field_phi: Float[Array, "3 row k"]
    field_theta: Float[Array, "images column j"]
    axes: Float[Array, "2 3 row"]
    turns: Float[Array, "nfp 3 3"]
    patch_phi: Float[Array, "2 node up_phi"]
    patch_theta: Float[Array, "2 node up_theta"]
    polar_weights: Float[Array, " node"]


@pytree
@dataclass(frozen=True, eq=False)
class GradientTables:
    """The constants of a rule for `prepare_gradient`: tables of the field, and derivative matrices.

    Attributes
    ----------
    field : `Tables` of the rule.
    field_phi_slope, field_theta_slope : matrices from a field to its derivatives at the targets,
        for `resample.resampled`.
    """

    field: Tables
    field_phi_slope: Float[Array, "3 tphi k"]
    field_theta_slope: Float[Array, "images ttheta j"]


@pytree
@dataclass(frozen=True, eq=False)
class OffSurfaceTables:
    """The constants of a rule for `prepare_off_surface`: tables of the field, and nodes of rays.

    The core is the inner part of a patch, where the kernel of points near the surface is nearly
    singular. Rays start at the centre of the patch. Each point off the surface has its own nodes on
    the rays in the core. Values are interpolated to these nodes from the rings of the core.

    Attributes
    ----------
    field : `Tables` of the rule.
    rings : radii and weights of the rings of polar nodes; the radii are relative to the radius of
        the patch.
    core_modes : (core, core) matrix from values on the rings of the core to the coefficients of
        Legendre polynomials along the radius.
    core_nodes, core_weights : (node,) nodes and weights of the Gauss-Legendre rule on [0, 1]; for
        each point off the surface, they are mapped to the part of a ray in the core.
    """

    field: Tables
    rings: tuple[Float[Array, " ring"], Float[Array, " ring"]]
    core_modes: Float[Array, "degree degree"]
    core_nodes: Float[Array, " node"]
    core_weights: Float[Array, " node"]


def tables(rule: Rule) -> Tables:
    """Return the constants of a rule for `prepare`.

    `prepare` makes the tables itself unless you pass them. If you call `prepare` in a function
    under ``jit``, make the tables outside this function and pass them to the function.

    Parameters
    ----------
    rule : from `choose`.

    Raises
    ------
    VcjaxError : if `rule` is not a valid rule.
    """
    check_rule("tables", rule)
    return Tables(rule=rule, **jax.device_put(_field_tables(rule)))


def gradient_tables(rule: Rule) -> GradientTables:
    """Return the constants of a rule for `prepare_gradient`.

    Usage, parameter and errors are the same as for `tables`.
    """
    check_rule("gradient_tables", rule)
    return GradientTables(tables(rule), **jax.device_put(_gradient_tables(rule)))


def off_surface_tables(rule: Rule) -> OffSurfaceTables:
    """Return the constants of a rule for `prepare_off_surface`.

    Usage and errors are the same as for `tables`; the rule must come from `choose_off_surface`.
    """
    check_rule("off_surface_tables", rule, "vcjax.choose_off_surface")
    if not rule.core_count:
        raise VcjaxError(
            "off_surface_tables got a rule for points on the surface; choose the rule with "
            "vcjax.choose_off_surface."
        )
    return OffSurfaceTables(tables(rule), **jax.device_put(_off_surface_tables(rule)))


@lru_cache(maxsize=8)
def _field_tables(rule: Rule) -> dict:
    (rows, columns), (above, beside) = rule.continued_shape, rule.overlap
    turn = 2 * np.arccos(np.longdouble(-1))
    # The continued nodes must lie exactly on the nodes of the next period. Angles therefore have
    # extended precision where the platform has it.
    exact_angles = rule.first_angle + turn / rule.quad_nphi * (np.arange(rows) - above)
    angles = exact_angles.astype(float)
    theta = rule.spacing[1] * ((np.arange(columns) - beside) % rule.quad_ntheta)
    samples_phi, samples_theta = symmetry.surface_period_matrices(
        *rule.surface_shape, rule.nfp, rule.half_period
    )
    count, period = samples_phi.shape[1], 2 * np.pi / rule.nfp
    surface_phi = resample.interpolation_matrices(count, 0.0, period, exact_angles)
    surface_theta = resample.interpolation_matrices(rule.surface_shape[1], 0.0, 2 * np.pi, theta)
    field_phi, field_theta = _field_interpolation(rule, angles, theta)
    u, v, weights = polar_quadrant(rule)
    turns = turn / rule.nfp * np.arange(rule.nfp)
    return dict(
        samples_phi=samples_phi,
        samples_theta=samples_theta,
        # Samples are ordered (component, row), a field is ordered (row, component).
        surface_phi=tuple(
            matrix.reshape(3, angles.size, count, 3).swapaxes(2, 3).reshape(3, angles.size, -1)
            for matrix in resample.laboratory_matrices(*surface_phi, angles, np.zeros(count))
        ),
        surface_theta=tuple(matrix[None] for matrix in surface_theta),
        field_phi=field_phi[0],
        field_theta=field_theta[0],
        axes=symmetry.rotation(exact_angles).astype(float)[:, :2].swapaxes(0, 1),
        turns=symmetry.rotation(turns).astype(float).transpose(2, 0, 1),
        patch_phi=_fold(lagrange_rows(u, rule.reach_phi, rule.stencil_counts[0])),
        patch_theta=_fold(lagrange_rows(v, rule.reach_theta, rule.stencil_counts[1])),
        polar_weights=weights,
    )


@lru_cache(maxsize=8)
def _gradient_tables(rule: Rule) -> dict:
    steps = rule.spacing[0] * rule.stride_phi, rule.spacing[1] * rule.stride_theta
    angles = symmetry.equispaced(rule.first_angle, steps[0], rule.trg_shape[0])
    theta = symmetry.equispaced(0.0, steps[1], rule.trg_shape[1])
    field_phi, field_theta = _field_interpolation(rule, angles, theta)
    return dict(field_phi_slope=field_phi[1], field_theta_slope=field_theta[1])


@lru_cache(maxsize=8)
def _off_surface_tables(rule: Rule) -> dict:
    degrees = np.arange(rule.core_count)
    rings, weights = gauss_legendre(rule.core_count)
    legendre = np.polynomial.legendre.legvander(2 * rings - 1, rule.core_count - 1)
    modes = (2 * degrees[:, None] + 1) * (legendre * weights[:, None]).T
    count = int(np.ceil(_CORE_NODES * rule.cutoff))
    core_nodes, core_weights = gauss_legendre(count)
    return dict(
        rings=radii(rule),
        core_modes=modes,
        core_nodes=core_nodes,
        core_weights=core_weights,
    )


def _field_interpolation(rule: Rule, angles: np.ndarray, theta: np.ndarray):
    """Return matrices for `resample.resampled` that interpolate a field, and their derivatives.

    For toroidal angles (a,) and poloidal angles (b,), the results are a pair of (3, a, k) and a
    pair of (images, b, m). Each pair is an interpolation and its derivative. `images` is 1 or 2;
    see `symmetry.with_mirror`.
    """
    rows = rule.src_shape[0] * (2 if rule.half_period else 1)
    start, step = symmetry.field_angles(rows, rule.nfp, rule.half_period)
    given = symmetry.equispaced(start, step, rows)
    phi = resample.interpolation_matrices(rows, start, rows * step, angles)
    phi = resample.laboratory_matrices(*phi, angles, given)
    theta_matrices = resample.interpolation_matrices(rule.src_shape[1], 0.0, 2 * np.pi, theta)
    pairs = [
        symmetry.with_mirror(*pair, rule.half_period)
        for pair in zip(phi, theta_matrices, strict=True)
    ]
    return tuple(zip(*pairs, strict=True))


def lagrange_rows(points: np.ndarray, reach: int, count: int) -> np.ndarray:
    """Return the matrix of local Lagrange interpolation from the integers -reach..reach to points.

    The points (n,) lie between -reach and reach. Each stencil has `count` integers; the count must
    be even, and at most 2 reach. The matrix is (n, 2 reach + 1).
    """
    first = np.clip(np.floor(points).astype(int) - count // 2 + 1, -reach, reach + 1 - count)
    stencil = np.arange(count)
    # The distance from the nearest node is exact, and products have extended precision where the
    # platform has it. This is needed because the kernel of a gradient multiplies errors of the
    # weights by 1/rho^3, at the distance rho from the target.
    distance = (points - (first + stencil[:, None])).astype(np.longdouble)
    one = np.ones_like(distance[:1])
    below = np.cumprod(np.concatenate([one, distance[:-1]]), axis=0)
    above = np.cumprod(np.concatenate([one, distance[:0:-1]]), axis=0)[::-1]
    steps = np.subtract.outer(stencil, stencil).astype(np.longdouble)
    np.fill_diagonal(steps, 1)
    basis = below * above / steps.prod(axis=1)[:, None]
    rows = np.zeros((points.size, 2 * reach + 1))
    columns = first[:, None] + reach + stencil
    np.put_along_axis(rows, columns, basis.T, axis=1)
    return rows


def _fold(rows: np.ndarray) -> np.ndarray:
    """Return the even and odd part of a matrix (n, 2 E + 1) that acts on values v at -E..E.

    The parts (2, n, E + 1) act on v(k) + v(-k) and on v(k) - v(-k) for k = 0..E. Column 0 is
    halved, because v(0) + v(0) counts the value at 0 twice.
    """
    reach = rows.shape[1] // 2
    right, left = rows[:, reach:], rows[:, reach::-1]
    folded = 0.5 * np.stack([right + left, right - left])
    folded[:, :, 0] *= 0.5
    return folded


@lru_cache(maxsize=8)
def theta_stencils(rule: Rule) -> np.ndarray:
    """Return [first, last + 1] of the nonzero columns in each row of `patch_theta`, (node, 2)."""
    read = (_field_tables(rule)["patch_theta"] != 0).any(axis=0)
    return np.stack([read.argmax(axis=1), read.shape[1] - read[:, ::-1].argmax(axis=1)], axis=1)
