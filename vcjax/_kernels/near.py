"""The near part: a smooth cut-off splits the kernel, a polar rule integrates its singular part.

With 1/r = erfc(alpha r)/r + erf(alpha r)/r the second part is entire in r^2, and the trapezoidal
rule on it converges like exp(-(pi/(alpha h))^2) wherever the target lies; the first falls off
like exp(-alpha^2 r^2) and is confined to a patch of grid nodes. The punctured trapezoidal sum of
the *whole* kernel is therefore corrected on the patch by

    (polar integral of the near kernel)  -  (grid sum of the near kernel),

which is linear in the field: a scalar s and a weight vector V for each patch node, with

    near(B) = sum_j  B_j x V_j - s_j B_j .

The near kernel is N1(alpha r) {B x (n x r) - B (n.r)} / r^3 with N1(t) = erfc(t) + 2 t
exp(-t^2)/sqrt(pi), from grad(erfc(alpha r)/r) = -N1(alpha r) r / r^3 (Ewald's splitting).

Patches are windows of the continued nodes, in laboratory components.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from vcjax._geometry.nodes import windows
from vcjax._geometry.patch import PatchInterpolation
from vcjax._kernels.vectors import AXES, components, cross, dot, stacked
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables, radii, rim_nodes

# Powers 22 to 0: interpolation of SciPy's erfcx in Chebyshev nodes.
_SCALED = (
    1.6404356396091919e-09,
    -7.0056151628718e-09,
    -1.6697443685603657e-08,
    9.300182391162619e-08,
    7.182342532539098e-08,
    -8.020807138772296e-07,
    2.972641009857475e-07,
    5.689545401590473e-06,
    -1.1224614105833239e-05,
    -2.438773463148218e-05,
    0.00015062291812410384,
    -0.00019926101653762,
    -0.0007577736781845116,
    0.005031971035190489,
    -0.01619773397913967,
    0.03716751537711094,
    -0.06633036582197122,
    0.09373283501215808,
    -0.10103906603563748,
    0.06809705425412396,
    0.015379652102600228,
    -0.1396211168405549,
    1.2329951186255526,
)


def patches(
    values: Float[Array, "c row column"], rule: Rule, target_row, target_columns: Int[Array, " t"]
) -> Float[Array, "t c p q"]:
    """Return patches of targets of one row.

    Parameters
    ----------
    values : (c, row, column) continued nodes of one period.
    target_row, target_columns : indices into the grid of targets; may be traced.

    Returns
    -------
    (t, c, 2 reach_phi + 1, 2 reach_theta + 1)
    """
    size = 2 * rule.reach_phi + 1, 2 * rule.reach_theta + 1
    # The rows first: the transpose then scatters into these alone.
    slab = lax.dynamic_slice_in_dim(values, target_row * rule.stride_phi, size[0], axis=1)
    columns = target_columns * rule.stride_theta
    return windows(slab, jnp.zeros_like(columns), columns, size)


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
    nodes: Float[Array, "6 row column"], constants: Tables, rule: Rule
) -> Callable:
    """Return weights (s, V) as a function of targets: (row, columns) to (t, 4, patch).

    Parameters
    ----------
    nodes : continued points and normals of one period; normals carry the area of their node.
    """
    return weights_at(nodes, constants, rule, _field_weights)


def weights_at(
    nodes: Float[Array, "6 row column"], constants: Tables, rule: Rule, patch_weights: Callable
) -> Callable:
    """Return ``patch_weights(patch, interpolation, polar_weights, rule)`` as function of targets.

    `patch` holds offsets from the targets and normals, (t, 6, p, q).
    """
    interpolation = PatchInterpolation(constants, rule)

    @jax.named_scope("patch_weights")
    def one_block(row, columns):
        patch = patches(nodes, rule, row, columns)
        i, j = rule.reach_phi, rule.reach_theta
        is_point = jnp.arange(6)[:, None, None] < 3
        patch = patch - jnp.where(is_point, patch[:, :, i : i + 1, j : j + 1], 0.0)
        return patch_weights(patch, interpolation, constants.polar_weights, rule)

    return one_block


def _field_weights(patch, interpolation, polar_weights, rule: Rule):
    return split_weights(_kernel, patch, interpolation, polar_weights, rule)[0] / (4 * np.pi)


def split_weights(kernel, patch, interpolation, polar_weights, rule: Rule):
    """Return near weights: the polar integral minus the punctured grid sum of a near kernel.

    Parameters
    ----------
    kernel : (offsets and normals, weights, alpha, axis) to k values along that axis.

    Returns
    -------
    (ttheta, k, patch) weights, and the cut-off rates alpha (ttheta, 1).
    """
    nodes = (2 * rule.reach_phi + 1) * (2 * rule.reach_theta + 1)
    count = patch.shape[0]
    polar = interpolation.to_nodes(patch.reshape(count * 6, *patch.shape[2:]))
    polar = polar.reshape(4, count, 6, -1)
    alpha = _cutoff_rates(polar[:, :, :3], patch, rule)
    singular = kernel(polar, polar_weights, alpha, axis=2)
    parts = singular.shape[2]
    singular = interpolation.from_nodes(singular.reshape(4, count * parts, -1))
    i, j = (jnp.arange(-n, n + 1, dtype=patch.dtype) for n in (rule.reach_phi, rule.reach_theta))
    square = square_radii(i, j, rule).ravel()
    around = (0.0 < square) & (square <= 1.0)
    around = around.astype(patch.dtype)
    punctured = kernel(patch.reshape(count, 6, nodes), around, alpha, axis=1)
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


def _kernel(nodes, weights, alpha, axis: int):
    """Return weights * N1(alpha r) (n.r, n x r) / r^3, r = -offset; zero where weights are."""
    x, y, z, *normal = components(nodes, axis)
    offset = x, y, z
    square = dot(offset, offset)
    square = jnp.where(weights == 0, 1.0, square)
    distance = jnp.sqrt(square)
    factor = -weights * field_split(alpha * distance) / (square * distance)
    return stacked([factor * v for v in (dot(normal, offset), *cross(normal, offset))], axis)


@jax.custom_jvp
def field_split(t):
    """Return the smooth cut-off N1(t) of the kernel r / r^3, its near part, for t >= 0.

    The scaled complementary error function exp(t^2) erfc(t), times 1 + 2 t, is a polynomial in
    (t - 4)/(t + 4) to rounding. The library's erfc is five times as many instructions.
    """
    y = (t - 4.0) / (t + 4.0)
    scaled = functools.reduce(lambda total, c: total * y + c, _SCALED[1:], _SCALED[0])
    return jnp.exp(-t * t) * (scaled / (1.0 + 2.0 * t) + (2 / np.sqrt(np.pi)) * t)


@field_split.defjvp
def _(primals, tangents):
    (t,), (dt,) = primals, tangents
    return field_split(t), (-4 / np.sqrt(np.pi)) * t * t * jnp.exp(-t * t) * dt


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
    """Return the near part on some rows of targets, of a field on the continued nodes.

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
    moment = jnp.einsum("tip,twp->tiw", b, w)
    return stacked(
        [moment[:, i, 1 + j] - moment[:, j, 1 + i] - moment[:, k, 0] for k, i, j in AXES], axis=1
    )
