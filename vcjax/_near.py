"""The near part: a smooth cut-off splits the kernel, a polar rule integrates what is singular.

With 1/r = erfc(alpha r)/r + erf(alpha r)/r the second part is entire in r^2, and the trapezoidal rule on it
converges like exp(-(pi/(alpha h))^2) wherever the target lies; the first falls off like exp(-alpha^2 r^2) and
lives on a patch of grid nodes. The punctured trapezoidal sum of the *whole* kernel is therefore corrected on the
patch by

    (polar integral of the near kernel)  -  (grid sum of the near kernel),

which is linear in the field: a weight vector V and a scalar s for each patch node, with

    near(B) = sum_j  B_j x V_j - s_j B_j .

The near kernel is N1(alpha r) {B x (n x r) - B (n.r)} / r^3 with N1(t) = erfc(t) + 2 t exp(-t^2)/sqrt(pi), from
grad(erfc(alpha r)/r) = -N1(alpha r) r / r^3 (Ewald's splitting).

Patches are seen in the frame of their target row: the rows around it, turned back by its toroidal angle.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erfc
from jaxtyping import Array, Float

from vcjax._resample import rotate
from vcjax._rule import Rule
from vcjax._tables import Tables, radii

# Quadrants (+,+), (+,-), (-,+), (-,-) against the parities (even,even), (even,odd), (odd,even), (odd,odd).
_QUADRANT_SIGNS = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])


def patches(values: Float[Array, "c row column"], rule: Rule, target_row) -> Float[Array, "t c p q"]:
    """Patches of one target row, vectors turned into the frame of that row.

    Parameters
    ----------
    values : (3 k, rows, columns) co-rotating components of k vector fields over one period.
    target_row : index of the row of targets; may be traced.

    Returns
    -------
    (trg_ntheta, 3 k, 2 reach_phi + 1, 2 reach_theta + 1)
    """
    offsets = np.arange(-rule.reach_phi, rule.reach_phi + 1)
    rows = (target_row * rule.stride_phi + offsets) % rule.period_rows
    slab = values[:, rows].reshape(-1, 3, offsets.size, rule.quad_ntheta)
    turned = jax.vmap(lambda v: rotate(v, jnp.asarray(offsets * rule.spacing[0]), jnp))(slab)
    slab = turned.reshape(-1, offsets.size, rule.quad_ntheta)
    centres = np.arange(rule.trg_shape[1])[:, None] * rule.stride_theta
    columns = (centres + np.arange(-rule.reach_theta, rule.reach_theta + 1)) % rule.quad_ntheta
    return slab[:, :, columns].transpose(2, 0, 1, 3)


def near_weights(
    points: Float[Array, "3 row column"],
    area_normals: Float[Array, "3 row column"],
    constants: Tables,
    rule: Rule,
) -> Float[Array, "tphi ttheta 4 patch"]:
    """Weights (V, s) of every patch node, for every target.

    Parameters
    ----------
    points, area_normals : co-rotating components of one period; normals carry the area of their node.
    """
    both = jnp.concatenate([points, area_normals])
    folded = _patch_products(constants)

    def one_row(row):
        return _row_weights(patches(both, rule, row), folded, constants.polar_weights, rule)

    # Recomputed, not stored, when differentiated: the rows' intermediates dwarf their result.
    return lax.map(jax.checkpoint(one_row), jnp.arange(rule.trg_shape[0]))


def _row_weights(patch, folded, polar_weights, rule: Rule):
    nodes = (2 * rule.reach_phi + 1) * (2 * rule.reach_theta + 1)
    count = patch.shape[0]
    centre = patch[:, :3, rule.reach_phi, rule.reach_theta]
    patch = patch.at[:, :3].add(-centre[:, :, None, None])
    polar = _interpolate(patch.reshape(count * 6, *patch.shape[2:]), folded)
    polar = polar.reshape(4, count, 6, -1)
    alpha = _cutoff_rates(polar[:, :, :3], patch, rule)
    singular = _kernel(polar[:, :, :3], polar[:, :, 3:], polar_weights, alpha, axis=2)
    singular = _spread(singular.reshape(4, count * 4, -1), folded, patch.shape[2:]).reshape(count, 4, nodes)
    flat = patch.reshape(count, 6, nodes)
    beside_centre = jnp.asarray(np.arange(nodes) != nodes // 2, dtype=flat.dtype)
    punctured = _kernel(flat[:, :3], flat[:, 3:], beside_centre, alpha, axis=1)
    return (singular - punctured) / (4 * np.pi)


def _cutoff_rates(polar_points, patch, rule: Rule):
    """alpha for each target: as sharp as the patch radius R asks, never sharper than the node spacing h allows.

    Neither R nor h is differentiated: the result depends on alpha only through the discretisation error.
    """
    distance = jnp.sqrt((polar_points**2).sum(axis=2))
    rim = distance.reshape(4, patch.shape[0], rule.radial_count, -1)[:, :, -1].min(axis=(0, 2))
    radius = rim / radii(rule)[0][-1]
    i, j = rule.reach_phi, rule.reach_theta
    steps = [(patch[:, :3, i + 1, j] ** 2).sum(axis=1), (patch[:, :3, i, j + 1] ** 2).sum(axis=1)]
    spacing = jnp.sqrt(jnp.maximum(*steps))
    alpha = jnp.minimum(rule.cutoff, jnp.sqrt(np.pi * radius / spacing)) / radius
    return lax.stop_gradient(alpha)[:, None]


def _kernel(offset, normal, weights, alpha, axis: int):
    """weights * N1(alpha r) (n x r, n.r) / r^3 with r = x - y = -offset; zero where the weight is zero."""
    square = (offset**2).sum(axis=axis)
    square = jnp.where(weights == 0, 1.0, square)
    distance = jnp.sqrt(square)
    t = alpha * distance
    split = erfc(t) + (2 / np.sqrt(np.pi)) * t * jnp.exp(-t * t)
    factor = jnp.expand_dims(weights * split / (square * distance), axis)
    vector = jnp.cross(offset, normal, axis=axis)
    scalar = -(offset * normal).sum(axis=axis, keepdims=True)
    return factor * jnp.concatenate([vector, scalar], axis=axis)


def _patch_products(constants: Tables):
    """Row-wise products of the two folded matrices, one for each pair of parities: (node, i j)."""

    def product(a, b):
        return (a[:, :, None] * b[:, None, :]).reshape(a.shape[0], -1)

    return [product(a, b) for a in constants.patch_phi for b in constants.patch_theta]


def _parts(values, axis: int):
    """Even (0..E) and odd (1..E) part of values on -E..E along an axis."""
    reach = values.shape[axis] // 2
    right = lax.slice_in_dim(values, reach, None, axis=axis)
    left = jnp.flip(lax.slice_in_dim(values, 0, reach + 1, axis=axis), axis)
    odd = lax.slice_in_dim(right - left, 1, None, axis=axis)
    return 0.5 * (right + left), 0.5 * odd


def _join(even, odd, axis: int):
    """Transpose of `_parts`: what the parts' weights mean for the values on -E..E."""
    centre = lax.slice_in_dim(even, 0, 1, axis=axis)
    beside = lax.slice_in_dim(even, 1, None, axis=axis)
    right, left = 0.5 * (beside + odd), 0.5 * (beside - odd)
    return jnp.concatenate([jnp.flip(left, axis), centre, right], axis=axis)


def _interpolate(values: Float[Array, "m p q"], folded) -> Float[Array, "4 m node"]:
    """Patch values to polar nodes of the four quadrants."""
    by_parity = [part for half in _parts(values, 1) for part in _parts(half, 2)]
    sums = [p.reshape(p.shape[0], -1) @ f.T for p, f in zip(by_parity, folded, strict=True)]
    return jnp.einsum("qk,kmn->qmn", jnp.asarray(_QUADRANT_SIGNS), jnp.stack(sums))


def _spread(values: Float[Array, "4 m node"], folded, shape) -> Float[Array, "m p q"]:
    """Transpose of `_interpolate`."""
    by_parity = jnp.einsum("qk,qmn->kmn", jnp.asarray(_QUADRANT_SIGNS), values)
    phi, theta = shape[0] // 2, shape[1] // 2
    sizes = [(phi + 1, theta + 1), (phi + 1, theta), (phi, theta + 1), (phi, theta)]
    ee, eo, oe, oo = (
        (v @ f).reshape(-1, *size) for v, f, size in zip(by_parity, folded, sizes, strict=True)
    )
    return _join(_join(ee, eo, 2), _join(oe, oo, 2), 1)


def apply_near(
    B: Float[Array, "3 row column"], weights: Float[Array, "tphi ttheta 4 patch"], rule: Rule
) -> Float[Array, "3 tphi ttheta"]:
    """Near part of the virtual casing operator, co-rotating components in and out."""

    def one_row(at):
        row, w = at
        b = patches(B, rule, row).reshape(w.shape[0], 3, -1)
        moment = jnp.einsum("tip,tjp->tij", b, w[:, :3])
        curl = jnp.stack([moment[:, i, j] - moment[:, j, i] for i, j in ((1, 2), (2, 0), (0, 1))])
        return curl - jnp.einsum("tip,tp->it", b, w[:, 3])

    rows = lax.map(jax.checkpoint(one_row), (jnp.arange(rule.trg_shape[0]), weights))
    return rows.transpose(1, 0, 2)
