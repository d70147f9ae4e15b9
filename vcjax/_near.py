"""The near part: a smooth cut-off splits the kernel, a polar rule integrates what is singular.

With 1/r = erfc(alpha r)/r + erf(alpha r)/r the second part is entire in r^2, and the trapezoidal
rule on it converges like exp(-(pi/(alpha h))^2) wherever the target lies; the first falls off
like exp(-alpha^2 r^2) and lives on a patch of grid nodes. The punctured trapezoidal sum of the
*whole* kernel is therefore corrected on the patch by

    (polar integral of the near kernel)  -  (grid sum of the near kernel),

which is linear in the field: a weight vector V and a scalar s for each patch node, with

    near(B) = sum_j  B_j x V_j - s_j B_j .

The near kernel is N1(alpha r) {B x (n x r) - B (n.r)} / r^3 with N1(t) = erfc(t) + 2 t
exp(-t^2)/sqrt(pi), from grad(erfc(alpha r)/r) = -N1(alpha r) r / r^3 (Ewald's splitting).

Patches are seen in the frame of their target row: the rows around it, turned back by its toroidal
angle.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erfc
from jaxtyping import Array, Float, Int

from vcjax._patch import PatchInterpolation
from vcjax._resample import equispaced, rotate
from vcjax._rule import Rule
from vcjax._tables import Tables, radii, rim_nodes


def patches(
    values: Float[Array, "c row column"], rule: Rule, target_row
) -> Float[Array, "t c p q"]:
    """Patches of one target row, vectors turned into the frame of that row.

    Parameters
    ----------
    values : (3 k, rows, columns) co-rotating components of k vector fields over one period.
    target_row : index of the row of targets; may be traced.

    Returns
    -------
    (trg_ntheta, 3 k, 2 reach_phi + 1, 2 reach_theta + 1)
    """
    count = 2 * rule.reach_phi + 1
    rows = (target_row * rule.stride_phi + jnp.arange(count) - rule.reach_phi) % rule.period_rows
    slab = values[:, rows].reshape(-1, 3, count, rule.quad_ntheta)
    turn = equispaced(-rule.reach_phi * rule.spacing[0], rule.spacing[0], count, jnp)
    slab = jax.vmap(lambda v: rotate(v, turn, jnp))(slab).reshape(-1, count, rule.quad_ntheta)
    centres = jnp.arange(rule.trg_shape[1])[:, None] * rule.stride_theta
    beside = jnp.arange(2 * rule.reach_theta + 1) - rule.reach_theta
    return slab[:, :, (centres + beside) % rule.quad_ntheta].transpose(2, 0, 1, 3)


def near_weights(
    points: Float[Array, "3 row column"],
    area_normals: Float[Array, "3 row column"],
    constants: Tables,
    rule: Rule,
    target_rows: Int[Array, " tphi"],
) -> Float[Array, "tphi ttheta 4 patch"]:
    """Weights (V, s) of every patch node, for every target of some rows.

    Parameters
    ----------
    points, area_normals : co-rotating components of one period; normals carry the area of their
    node.
    target_rows : indices of rows of targets.
    """
    return all_weights(points, area_normals, constants, rule, target_rows, _field_weights)


def all_weights(points, area_normals, constants: Tables, rule: Rule, target_rows, row_weights):
    """``row_weights(patch, interpolation, polar_weights, rule)`` for rows of targets.

    `patch` holds offsets from the targets and normals, (ttheta, 6, p, q).
    """
    both = jnp.concatenate([points, area_normals])
    interpolation = PatchInterpolation(constants, rule)

    def one_row(row):
        patch = patches(both, rule, row)
        centre = patch[:, :3, rule.reach_phi, rule.reach_theta]
        patch = patch.at[:, :3].add(-centre[:, :, None, None])
        return row_weights(patch, interpolation, constants.polar_weights, rule)

    # Recomputed, not stored, when differentiated: the rows' intermediates dwarf their result.
    return lax.map(jax.checkpoint(one_row), target_rows)


def _field_weights(patch, interpolation, polar_weights, rule: Rule):
    return split_weights(_kernel, patch, interpolation, polar_weights, rule)[0] / (4 * np.pi)


def split_weights(kernel, patch, interpolation, polar_weights, rule: Rule):
    """Polar integral minus punctured grid sum of a near kernel.

    Parameters
    ----------
    kernel : (offset, normal, weights, alpha, axis) to k values along that axis.

    Returns
    -------
    (ttheta, k, patch) weights, and the cut-off rates alpha (ttheta, 1).
    """
    nodes = (2 * rule.reach_phi + 1) * (2 * rule.reach_theta + 1)
    count = patch.shape[0]
    polar = interpolation.to_nodes(patch.reshape(count * 6, *patch.shape[2:]))
    polar = polar.reshape(4, count, 6, -1)
    alpha = _cutoff_rates(polar[:, :, :3], patch, rule)
    singular = kernel(polar[:, :, :3], polar[:, :, 3:], polar_weights, alpha, axis=2)
    parts = singular.shape[2]
    singular = interpolation.from_nodes(singular.reshape(4, count * parts, -1))
    flat = patch.reshape(count, 6, nodes)
    beside_centre = (jnp.arange(nodes) != nodes // 2).astype(flat.dtype)
    punctured = kernel(flat[:, :3], flat[:, 3:], beside_centre, alpha, axis=1)
    return singular.reshape(count, parts, nodes) - punctured, alpha


def _cutoff_rates(polar_points, patch, rule: Rule):
    """alpha for each target: as sharp as the patch radius R asks, never sharper than the node
    spacing h allows.

    Neither R nor h is differentiated: the result depends on alpha only through the discretisation
    error.
    """
    rim = (polar_points[..., rim_nodes(rule)] ** 2).sum(axis=2).min(axis=(0, 2))
    radius = jnp.sqrt(rim) / radii(rule)[0][-1]
    i, j = rule.reach_phi, rule.reach_theta
    steps = [(patch[:, :3, i + 1, j] ** 2).sum(axis=1), (patch[:, :3, i, j + 1] ** 2).sum(axis=1)]
    spacing = jnp.sqrt(jnp.maximum(*steps))
    alpha = jnp.minimum(rule.cutoff, jnp.sqrt(np.pi * radius / spacing)) / radius
    return lax.stop_gradient(alpha)[:, None]


def _kernel(offset, normal, weights, alpha, axis: int):
    """weights * N1(alpha r) (n x r, n.r) / r^3, r = x - y = -offset; zero where weights are."""
    square = (offset**2).sum(axis=axis)
    square = jnp.where(weights == 0, 1.0, square)
    distance = jnp.sqrt(square)
    t = alpha * distance
    factor = jnp.expand_dims(weights * field_split(t) / (square * distance), axis)
    vector = jnp.cross(offset, normal, axis=axis)
    scalar = -(offset * normal).sum(axis=axis, keepdims=True)
    return factor * jnp.concatenate([vector, scalar], axis=axis)


def field_split(t):
    """N1(t): the near share of r / r^3."""
    return erfc(t) + (2 / np.sqrt(np.pi)) * t * jnp.exp(-t * t)


def apply_near(
    B: Float[Array, "3 row column"],
    weights: Float[Array, "tphi ttheta 4 patch"],
    rule: Rule,
    target_rows: Int[Array, " tphi"],
) -> Float[Array, "3 tphi ttheta"]:
    """Near part of the virtual casing operator on some rows of targets, co-rotating components
    in and out."""

    def one_row(at):
        row, w = at
        b = patches(B, rule, row).reshape(w.shape[0], 3, -1)
        moment = jnp.einsum("tip,tjp->tij", b, w[:, :3])
        curl = jnp.stack([moment[:, i, j] - moment[:, j, i] for i, j in ((1, 2), (2, 0), (0, 1))])
        return curl - jnp.einsum("tip,tp->it", b, w[:, 3])

    rows = lax.map(jax.checkpoint(one_row), (target_rows, weights))
    return rows.transpose(1, 0, 2)
