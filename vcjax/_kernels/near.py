"""The near part: a smooth cut-off splits the kernel, a polar rule integrates its singular part.

With 1/r = erfc(alpha r)/r + erf(alpha r)/r the second part is entire in r^2, and the trapezoidal
rule on it converges like exp(-(pi/(alpha h))^2) wherever the target lies; the first falls off
like exp(-alpha^2 r^2) and is confined to a patch of grid nodes. The punctured trapezoidal sum of
the *whole* kernel is therefore corrected on the patch by

    (polar integral of the near kernel)  -  (grid sum of the near kernel),

which is linear in the field: a weight vector V and a scalar s for each patch node, with

    near(B) = sum_j  B_j x V_j - s_j B_j .

The near kernel is N1(alpha r) {B x (n x r) - B (n.r)} / r^3 with N1(t) = erfc(t) + 2 t
exp(-t^2)/sqrt(pi), from grad(erfc(alpha r)/r) = -N1(alpha r) r / r^3 (Ewald's splitting).

Patches are seen in the frame of their target row: the rows around it, turned back by its toroidal
angle.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erfc
from jaxtyping import Array, Float, Int

from vcjax._geometry.patch import PatchInterpolation
from vcjax._geometry.resample import equispaced, rotate
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables, radii, rim_nodes


def patches(
    values: Float[Array, "c row column"], rule: Rule, target_row, target_columns: Int[Array, " t"]
) -> Float[Array, "t c p q"]:
    """Return patches of targets of one row, vectors turned into the frame of that row.

    Parameters
    ----------
    values : (3 k, rows, columns) co-rotating components of k vector fields over one period.
    target_row, target_columns : indices into the grid of targets; may be traced.

    Returns
    -------
    (t, 3 k, 2 reach_phi + 1, 2 reach_theta + 1)
    """
    count = 2 * rule.reach_phi + 1
    rows = (target_row * rule.stride_phi + jnp.arange(count) - rule.reach_phi) % rule.period_rows
    slab = values[:, rows].reshape(-1, 3, count, rule.quad_ntheta)
    turn = equispaced(-rule.reach_phi * rule.spacing[0], rule.spacing[0], count, jnp)
    slab = jax.vmap(lambda v: rotate(v, turn, jnp))(slab).reshape(-1, count, rule.quad_ntheta)
    reach = rule.reach_theta
    slab = jnp.concatenate([slab[:, :, -reach:], slab, slab[:, :, :reach]], axis=2)

    def one_patch(column):
        start = column * rule.stride_theta
        return lax.dynamic_slice_in_dim(slab, start, 2 * reach + 1, axis=2)

    # A window each: XLA gathers single columns, and scatters them in a transpose, slowly.
    return jax.vmap(one_patch)(target_columns)


def over_blocks(
    function: Callable, rule: Rule, target_rows: Int[Array, " tphi"], largest: int, *values: Array
) -> Array:
    """Evaluate ``function(row, columns, *values)`` for blocks of targets of a row, in sequence.

    The size of a block divides the number of targets in a row and is at most `largest`, so that
    nothing has to be filled up and stored weights are read where they lie.

    Parameters
    ----------
    values : (tphi, ttheta, ...), passed as (targets, ...).

    Returns
    -------
    (tphi, ttheta, ...), where the function gives (targets, ...).
    """
    rows, columns = target_rows.shape[0], rule.trg_shape[1]
    size = next(n for n in range(min(largest, columns), 0, -1) if columns % n == 0)
    row = jnp.broadcast_to(target_rows[:, None], (rows, columns // size))
    column = jnp.broadcast_to(jnp.arange(columns), (rows, columns))
    given = [v.reshape(-1, size, *v.shape[2:]) for v in (column, *values)]
    # Recomputed, not stored, when differentiated: intermediates dwarf results.
    one_block = jax.checkpoint(function)
    result = lax.map(lambda at: one_block(*at), (row.reshape(-1), *given))
    return result.reshape(rows, columns, *result.shape[2:])


def field_weights_at(
    points: Float[Array, "3 row column"],
    area_normals: Float[Array, "3 row column"],
    constants: Tables,
    rule: Rule,
) -> Callable:
    """Return weights (V, s) as a function of targets: (row, columns) to (t, 4, patch).

    Parameters
    ----------
    points, area_normals : co-rotating components of one period; normals carry the area of their
        node.
    """
    return weights_at(points, area_normals, constants, rule, _field_weights)


def weights_at(points, area_normals, constants: Tables, rule: Rule, patch_weights) -> Callable:
    """Return ``patch_weights(patch, interpolation, polar_weights, rule)`` as function of targets.

    `patch` holds offsets from the targets and normals, (t, 6, p, q).
    """
    both = jnp.concatenate([points, area_normals])
    interpolation = PatchInterpolation(constants, rule)

    @jax.named_scope("patch_weights")
    def one_block(row, columns):
        patch = patches(both, rule, row, columns)
        points, normals = jnp.split(patch, 2, axis=1)
        i, j = rule.reach_phi, rule.reach_theta
        offsets = points - points[:, :, i : i + 1, j : j + 1]
        patch = jnp.concatenate([offsets, normals], axis=1)
        return patch_weights(patch, interpolation, constants.polar_weights, rule)

    return one_block


def _field_weights(patch, interpolation, polar_weights, rule: Rule):
    return split_weights(_kernel, patch, interpolation, polar_weights, rule)[0] / (4 * np.pi)


def split_weights(kernel, patch, interpolation, polar_weights, rule: Rule):
    """Return near weights: the polar integral minus the punctured grid sum of a near kernel.

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
    offsets, normals = jnp.split(polar.reshape(4, count, 6, -1), 2, axis=2)
    alpha = _cutoff_rates(offsets, patch, rule)
    singular = kernel(offsets, normals, polar_weights, alpha, axis=2)
    parts = singular.shape[2]
    singular = interpolation.from_nodes(singular.reshape(4, count * parts, -1))
    offsets, normals = jnp.split(patch.reshape(count, 6, nodes), 2, axis=1)
    i, j = (jnp.arange(-n, n + 1, dtype=patch.dtype) for n in (rule.reach_phi, rule.reach_theta))
    square = square_radii(i, j, rule).ravel()
    around = (0.0 < square) & (square <= 1.0)
    punctured = kernel(offsets, normals, around.astype(patch.dtype), alpha, axis=1)
    return singular.reshape(count, parts, nodes) - punctured, alpha


def square_radii(u: Float[Array, "*t p"], v: Float[Array, "*t q"], rule: Rule):
    """Return the squares of the radii of nodes (u, v) from the centre of a patch, 1 at its rim.

    The polar integral covers the ellipse, so no other node may carry the near kernel: in thin
    sections the corners around the ellipse lie on the other sheet, close to the target.
    """
    return (u[..., None] / rule.patch_phi) ** 2 + (v[..., None, :] / rule.patch_theta) ** 2


def _cutoff_rates(polar_points, patch, rule: Rule):
    """Return alpha of each target: cutoff / R, bounded by what the node spacing h resolves.

    Neither R nor h is differentiated: the result depends on alpha only through the discretisation
    error.
    """
    rim = (polar_points[..., rim_nodes(rule)] ** 2).sum(axis=2).min(axis=(0, 2))
    radius = jnp.sqrt(rim) / radii(rule)[0][-1]
    i, j = rule.reach_phi, rule.reach_theta
    # On either side, so that a symmetric surface has symmetric rates.
    beside = patch[:, :3, i - 1 : i + 2 : 2, j], patch[:, :3, i, j - 1 : j + 2 : 2]
    steps = (jnp.concatenate(beside, axis=2) ** 2).sum(axis=1)
    spacing = jnp.sqrt(steps.max(axis=1))
    alpha = jnp.minimum(rule.cutoff, jnp.sqrt(np.pi * radius / spacing)) / radius
    return lax.stop_gradient(alpha)[:, None]


def _kernel(offset, normal, weights, alpha, axis: int):
    """Return weights * N1(alpha r) (n x r, n.r) / r^3, r = -offset; zero where weights are."""
    square = (offset**2).sum(axis=axis)
    square = jnp.where(weights == 0, 1.0, square)
    distance = jnp.sqrt(square)
    factor = weights * field_split(alpha * distance) / (square * distance)
    d, n = (jnp.unstack(v, axis=axis) for v in (offset, normal))
    vector = [d[a] * n[b] - d[b] * n[a] for a, b in ((1, 2), (2, 0), (0, 1))]
    scalar = -(d[0] * n[0] + d[1] * n[1] + d[2] * n[2])
    return jnp.stack([factor * part for part in (*vector, scalar)], axis=axis)


def field_split(t):
    """Return the smooth cut-off N1(t) of the kernel r / r^3, its near part."""
    return erfc(t) + (2 / np.sqrt(np.pi)) * t * jnp.exp(-t * t)


@jax.named_scope("near_weights")
def stored_weights(
    weights: Callable, rule: Rule, target_rows: Int[Array, " tphi"], largest: int, dtype: str
) -> Float[Array, "tphi ttheta k patch"]:
    """Return all weights of some rows of targets, at most `largest` targets at a time."""

    def one_block(row, columns):
        return weights(row, columns).astype(dtype)

    return over_blocks(one_block, rule, target_rows, largest)


@jax.named_scope("near_field")
def apply_weights(
    combine: Callable,
    B: Float[Array, "3 row column"],
    weights: Float[Array, "tphi ttheta k patch"] | Callable,
    rule: Rule,
    target_rows: Int[Array, " tphi"],
    largest: int,
) -> Float[Array, "tphi ttheta ..."]:
    """Return the near part on some rows of targets, co-rotating components in and out.

    Parameters
    ----------
    combine : B on patches (t, 3, patch) and weights (t, k, patch) to values (t, ...).
    weights : stored, in any precision, or a function of targets.
    largest : number of targets that are treated at once.
    """

    def one_block(row, columns, *stored):
        w = weights(row, columns) if callable(weights) else stored[0].astype(B.dtype)
        return combine(patches(B, rule, row, columns).reshape(columns.size, 3, -1), w)

    stored = () if callable(weights) else (weights,)
    return over_blocks(one_block, rule, target_rows, largest, *stored)


def combine_field(
    b: Float[Array, "t 3 patch"], w: Float[Array, "t 4 patch"]
) -> Float[Array, "t 3"]:
    """Return the sum over a patch of B x V - s B."""
    moment = jnp.einsum("tip,tjp->tij", b, w[:, :3])
    curl = [moment[:, i, j] - moment[:, j, i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return jnp.stack(curl, axis=1) - jnp.einsum("tip,tp->ti", b, w[:, 3])
