"""Compute the near part: integrate the singular part of the kernel with a polar rule.

Let r be the vector from source to target, and alpha a cut-off rate. In powers and functions, r
stands for its length. The kernel is split according to 1/r = erfc(alpha r)/r + erf(alpha r)/r
(docs/equations.md, "The quadrature"). The first term is confined to a patch of grid nodes around
the target. The far part is the trapezoidal sum of the *whole* kernel over all nodes but the target.
(The far part of a gradient may leave out more nodes; see `split_weights`.) The far part is
corrected on the patch by

    (polar integral of the near kernel)  -  (grid sum of the near kernel).

This correction is linear in the field B. It is a sum over the nodes j of the patch, with a scalar
weight s and a vector weight V at each node:

    near(B) = sum_j  B_j x V_j - s_j B_j .

With the normal n, the near kernel is N1(alpha r) {B x (n x r) - B (n.r)} / r^3, where
N1(t) = erfc(t) + 2 t exp(-t^2)/sqrt(pi). This follows from Ewald's splitting,
grad(erfc(alpha r)/r) = -N1(alpha r) r / r^3.

Patches are windows of the continued nodes (`vcjax._geometry.nodes`), in laboratory components.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from vcjax._annotations import Array, Float, Int
from vcjax._geometry.nodes import Rows, at_targets, windows
from vcjax._geometry.patch import PatchInterpolation
from vcjax._kernels.split import near_split
from vcjax._kernels.vectors import AXES, components, cross, dot, stacked
from vcjax._quadrature.polar import radii, rim_nodes
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables


def patches(
    values: Float[Array, "c row column"], rule: Rule, target_row, target_columns: Int[Array, " t"]
) -> Float[Array, "t c p q"]:
    """Return the values on the patches around targets in one row of the target grid.

    The given values are on the continued nodes. Row and columns are indices in the target
    grid, and may be traced. The patches are (t, c, 2 reach_phi + 1, 2 reach_theta + 1).
    """
    size = 2 * rule.reach_phi + 1, 2 * rule.reach_theta + 1
    # Rows are sliced first, so that the transpose scatters into these rows only.
    slab = lax.dynamic_slice_in_dim(values, target_row * rule.stride_phi, size[0], axis=1)
    columns = target_columns * rule.stride_theta
    return windows(slab, jnp.zeros_like(columns), columns, size)


def over_blocks(
    function: Callable, rule: Rule, target_rows: Int[Array, " tphi"], largest: int, *values: Array
) -> Array:
    """Evaluate ``function(row, columns, *values)`` for targets in given rows, block by block.

    A block consists of targets in one row. Its size divides the number of targets in a row and is
    at most `largest`. Then no block needs padding, and stored weights need not be copied.

    The function gets the index of a row, the indices (t,) of the block's targets in this row, and
    the block's part (t, ...) of each array (tphi, ttheta, ...) in `values`. It returns an array
    (t, ...). The result for all targets in the rows is (tphi, ttheta, ...).
    """
    rows, columns = target_rows.shape[0], rule.trg_shape[1]
    size = next(n for n in range(min(largest, columns), 0, -1) if columns % n == 0)
    row = jnp.broadcast_to(target_rows[:, None], (rows, columns // size))
    column = jnp.broadcast_to(jnp.arange(columns), (rows, columns))
    given = [v.reshape(-1, size, *v.shape[2:]) for v in (column, *values)]
    # For derivatives, intermediate values are recomputed, because they are far larger than results.
    one_block = jax.checkpoint(function)
    result = lax.map(lambda at: one_block(*at), (row.reshape(-1), *given))
    return result.reshape(rows, columns, *result.shape[2:])


def weights_at(
    nodes: Float[Array, "6 row column"],
    constants: Tables,
    rule: Rule,
    kernel: Callable,
    of_constant: Callable | None = None,
    puncture: float = 0.0,
) -> Callable:
    """Return a function that computes `split_weights`, divided by 4 pi, for a block of targets.

    The function takes the index of a row of targets and the indices of t targets in this row. It
    returns weights (t, k, patch): k weights for each node of each target's patch. `nodes` are
    points and outward normals on the continued nodes (`surface_nodes`).
    """
    interpolation = PatchInterpolation(constants, rule)

    @jax.named_scope("patch_weights")
    def one_block(row, columns):
        patch = patches(nodes, rule, row, columns)
        i, j = rule.reach_phi, rule.reach_theta
        is_point = jnp.arange(len(nodes))[:, None, None] < 3
        patch = patch - jnp.where(is_point, patch[:, :, i : i + 1, j : j + 1], 0.0)
        given = patch, interpolation, constants.polar_weights, rule
        return split_weights(kernel, *given, of_constant, puncture) / (4 * np.pi)

    return one_block


def split_weights(
    kernel, patch, interpolation, polar_weights, rule: Rule, of_constant=None, puncture=0.0
):
    """Return the near weights: the polar integral of a near kernel, minus its grid sum.

    The weights are (t, k, patch) for a kernel with k values. `patch`, (t, 6, p, q), contains
    offsets from the targets, then normals. The kernel is called as
    ``kernel(nodes, weights, alpha, axis)`` with such offsets and normals, six components along
    `axis`. It returns its values along `axis`.

    The grid sum leaves out the target. With a `puncture`, the far sum leaves out the nodes within
    this many node spacings of the target, where the far sum would have larger rounding errors. The
    near weights then add the whole kernel at these nodes. For this, the kernel gets further weights
    as its last argument in the grid sum. It subtracts the whole kernel, multiplied by these
    weights, from its values.

    ``of_constant(rule, nodes, weights, alpha)`` returns the integrals (t, k) of the near kernel
    over the patches. If `of_constant` is given, the weights of each patch add up to this integral
    before the grid sum is subtracted. To achieve this, the weight of the target itself is adjusted.
    """
    nodes = (2 * rule.reach_phi + 1) * (2 * rule.reach_theta + 1)
    count = patch.shape[0]
    polar = interpolation.to_nodes(patch)
    spacing = _spacing(patch, rule)
    alpha = _cutoff_rates(polar[:, :, :3], spacing, rule)
    singular = kernel(polar, polar_weights, alpha, 2)
    parts = singular.shape[2]
    singular = interpolation.from_nodes(singular.reshape(4, count * parts, -1))
    singular = singular.reshape(count, parts, nodes)
    if of_constant is not None:
        total = of_constant(rule, polar, polar_weights, alpha)
        is_beside = np.arange(nodes) != nodes // 2
        beside = jnp.where(is_beside, singular, 0.0)
        singular = jnp.where(is_beside, singular, (total - beside.sum(axis=2))[:, :, None])
    i, j = (jnp.arange(-n, n + 1, dtype=patch.dtype) for n in (rule.reach_phi, rule.reach_theta))
    square = square_radii(i, j, rule).ravel()
    around = (0.0 < square) & (square <= 1.0)
    around = around.astype(patch.dtype)
    patch = patch.reshape(count, 6, nodes)
    whole = []
    if puncture:
        close = (patch[:, :3] ** 2).sum(axis=1) <= punctured_squares(puncture, spacing)[:, None]
        whole.append(jnp.where(close, around, 0.0))
    return singular - kernel(patch, around, alpha, 1, *whole)


def square_radii(u: Float[Array, "*t p"], v: Float[Array, "*t q"], rule: Rule):
    """Return squared radii (..., p, q) of nodes in a patch, scaled to be 1 on an ellipse.

    The polar integral covers this ellipse, so nodes outside the ellipse must not get the near
    kernel. In thin cross-sections, nodes outside the ellipse, at the corners of the patch, may lie
    on the opposite side of the cross-section, close to the target. `u` and `v` are offsets from the
    centre along phi and theta, in node spacings.
    """
    return (u[..., None] / rule.patch_phi) ** 2 + (v[..., None, :] / rule.patch_theta) ** 2


def _spacing(patch, rule: Rule):
    """Return the distance (t,) of each target from the farthest of its four neighbouring nodes.

    The neighbours on both sides are used, so that a symmetric surface has symmetric distances. The
    patches are as in `split_weights`.
    """
    i, j = rule.reach_phi, rule.reach_theta
    beside = patch[:, :3, i - 1 : i + 2 : 2, j], patch[:, :3, i, j - 1 : j + 2 : 2]
    steps = (jnp.concatenate(beside, axis=2) ** 2).sum(axis=1)
    return jnp.sqrt(steps.max(axis=1))


def _cutoff_rates(polar_points, spacing, rule: Rule):
    """Return the cut-off rate alpha of each target, (t, 1).

    Let R be the least distance from the target to the rim of its patch, and h the spacing of the
    nodes. The rate alpha is ``rule.cutoff`` / R, or sqrt(pi / (R h)) if the latter is less. With a
    larger rate, the nodes would not resolve the kernel. Neither R nor h is differentiated, because
    results depend on alpha only through the discretisation error. `polar_points`, (4, t, 3, node),
    are the polar nodes relative to the targets.
    """
    rim = (polar_points[..., rim_nodes(rule)] ** 2).sum(axis=2).min(axis=(0, 2))
    radius = jnp.sqrt(rim) / radii(rule)[0][-1]
    alpha = jnp.minimum(rule.cutoff, jnp.sqrt(np.pi * radius / spacing)) / radius
    return lax.stop_gradient(alpha)[:, None]


def punctured_squares(puncture: float, spacing):
    """Return the squared radius around each target within which the far sum leaves out nodes.

    The squares are not differentiated, because results do not depend on them.
    """
    return lax.stop_gradient((puncture * spacing) ** 2)


def target_spacing(nodes: Float[Array, "6 row column"], rule: Rule, rows: Rows):
    """Return the distance of each target in the given rows from its farthest neighbouring node.

    The result is (tphi, ttheta), with all rows if `rows` is None.
    """
    points = nodes[:3]
    beside = [jnp.roll(points, k, axis) for axis in (1, 2) for k in (1, -1)]
    squares = [((neighbour - points) ** 2).sum(axis=0) for neighbour in beside]
    largest = functools.reduce(jnp.maximum, squares)[None]
    return jnp.sqrt(at_targets(largest, rule, rows)[0])


def _kernel(nodes, weights, alpha, axis: int):
    """Return `weights` times N1(alpha r) (n.r, n x r) / r^3: four values along `axis`.

    `nodes` are offsets -r from the target, then normals n, six components along `axis`. Where a
    weight is 0, the result is 0.
    """
    x, y, z, *normal = components(nodes, axis)
    offset = x, y, z
    square = dot(offset, offset)
    distance = jnp.sqrt(jnp.where(weights == 0, 1.0, square))
    factor = -weights * alpha**3 * near_split(alpha * distance)
    return stacked([factor * v for v in (dot(normal, offset), *cross(normal, offset))], axis)


field_weights_at = functools.partial(weights_at, kernel=_kernel)
"""The function `weights_at` for the weights s and V of the field (see the module's docstring)."""


@jax.named_scope("near_field")
def apply_weights(
    combine: Callable,
    B: Float[Array, "3 row column"],
    weights: Float[Array, "tphi ttheta k patch"] | Callable,
    rule: Rule,
    target_rows: Int[Array, " tphi"],
    largest: int,
) -> Float[Array, "tphi ttheta ..."]:
    """Return the near part of a field, or of its gradient, at the targets in the given rows.

    `combine` maps B on patches (t, 3, patch) and weights (t, k, patch) to values (t, ...). B is
    given on the continued nodes. `weights` are stored weights of any precision, or a function of
    targets that returns weights. At most `largest` targets are evaluated at once.
    """

    def one_block(row, columns, *stored):
        w = weights(row, columns) if callable(weights) else stored[0].astype(B.dtype)
        return combine(patches(B, rule, row, columns).reshape(columns.size, 3, -1), w)

    stored = () if callable(weights) else (weights,)
    return over_blocks(one_block, rule, target_rows, largest, *stored)


def combine_field(
    b: Float[Array, "t 3 patch"], w: Float[Array, "t 4 patch"]
) -> Float[Array, "t 3"]:
    """Return the near part of the field: the sum over each patch of B x V - s B.

    The weights w are s, then the components of V.
    """
    moment = jnp.einsum("tip,twp->tiw", b, w)
    return stacked(
        [moment[:, i, 1 + j] - moment[:, j, 1 + i] - moment[:, k, 0] for k, i, j in AXES], axis=1
    )
