"""Interpolate from the grid of a patch to its polar nodes, and to a grid centred at a point.

The grid of a patch is the rectangle of nodes around its target. The interpolation to polar nodes is
a product of local Lagrange interpolations in phi and theta, and is the same for every target. With
dense matrices this interpolation would take most of the time of preparing a surface. Two properties
reduce its time to a tenth:

- The polar nodes are symmetric about both axes of the patch, because the number of angles is a
  multiple of 4. Therefore the even and odd parts of the patch values are interpolated to the nodes
  of one quadrant only. This takes four products instead of one, each with a sixteenth of the work.
- Stencils are local. The nodes are sorted by their theta offset, or by radius if the rule is for
  points off the surface, and divided into a few groups. Most groups need only some columns of the
  patch. More groups take less time to run, and more time to compile.

The four parities (even or odd, in phi and in theta) form one batch of products. This makes the
program four times smaller. The even and odd parts are stacked, so that no part is computed twice.
The transpose of the interpolation is as fast as the interpolation itself.

The foot of a point off the surface generally lies between nodes. The values at the nodes around the
foot are first interpolated to a grid of the same spacing that is centred at the foot. The
interpolation to polar nodes is then the same for every point.
"""

import functools
import itertools

import jax.numpy as jnp
import numpy as np
from jax import lax

from vcjax._annotations import Array, Float
from vcjax._geometry.foot import lagrange_weights
from vcjax._geometry.nodes import windows
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables, theta_stencils


class PatchInterpolation:
    """The interpolation from the grid of a patch to its polar nodes, which are divided into groups.

    Its matrices are made once, outside the loop over targets or points.
    """

    def __init__(self, constants: Tables, rule: Rule, groups: int = 4):
        self._columns = rule.reach_theta + 1
        stencils = theta_stencils(rule)
        edges = np.linspace(0, len(stencils), groups + 1).astype(int)
        # For each group: the range of columns that its polar nodes need, and the product of the
        # interpolations along phi and theta, (parity, node, row * column).
        self._groups = []
        for start, stop in itertools.pairwise(edges):
            window = slice(int(stencils[start:stop, 0].min()), int(stencils[start:stop, 1].max()))
            by_theta = constants.patch_theta[None, :, start:stop, None, window]
            by_phi = constants.patch_phi[:, None, start:stop, :, None]
            matrix = (by_phi * by_theta).reshape(4, stop - start, -1)
            self._groups.append((window, matrix))

    def to_nodes(self, values: Float[Array, "t c p q"]) -> Float[Array, "4 t c node"]:
        """Interpolate from the patch grid to the polar nodes of the four quadrants.

        With two axes t and c, XLA computes the sums in `_butterfly` only once. The products thus
        take less time than with a single axis of t c entries.
        """
        parts = _parts(values)
        sums = []
        for window, matrix in self._groups:
            needed = parts[..., window].reshape(*parts.shape[:-2], -1)
            sums.append(jnp.einsum("stck,snk->stcn", needed, matrix, precision="highest"))
        return _butterfly(jnp.concatenate(sums, axis=-1))

    def from_nodes(self, values: Float[Array, "4 m node"]) -> Float[Array, "m p q"]:
        """Apply the transpose of `to_nodes`, with the axes t and c as a single axis m."""
        sizes = [matrix.shape[1] for _, matrix in self._groups]
        by_group = lax.split(_butterfly(values), sizes, axis=2)
        columns = []
        for by_parity, (window, matrix) in zip(by_group, self._groups, strict=True):
            part = jnp.einsum("smn,snk->smk", by_parity, matrix, precision="highest")
            part = part.reshape(*part.shape[:2], -1, window.stop - window.start)
            margins = window.start, self._columns - window.stop
            columns.append(jnp.pad(part, ((0, 0), (0, 0), (0, 0), margins)))
        return _join(functools.reduce(jnp.add, columns))


def _signed_sums(a, b, c, d) -> list:
    """Return four sums of four arrays, with the signs (++++), (+-+-), (++--) and (+--+)."""
    return [a + b + c + d, a - b + c - d, a + b - c - d, a - b - c + d]


def _butterfly(values: Float[Array, "4 *m node"]) -> Float[Array, "4 *m node"]:
    """Convert values of the four parities to values in the four quadrants.

    The map equals its transpose. The order of parities (phi, theta) is (even, even), (even, odd),
    (odd, even), (odd, odd). The order of quadrants is (+, +), (+, -), (-, +), (-, -).
    """
    return jnp.stack(_signed_sums(*values))


def _parts(values: Float[Array, "t c p q"]) -> Float[Array, "4 t c i j"]:
    """Return the even and odd parts of values along both axes, multiplied by four.

    Along each axis, the values are given at the nodes -E..E, and the parts at the nodes 0..E.
    Values on the axes of the patch are multiplied by four as well. The interpolation matrices take
    this factor into account.
    """
    halves = [(slice(n // 2, None), slice(n // 2, None, -1)) for n in values.shape[-2:]]
    return jnp.stack(_signed_sums(*(values[..., i, j] for i in halves[0] for j in halves[1])))


def _join(parts: Float[Array, "4 m i j"]) -> Float[Array, "m p q"]:
    """Apply the transpose of `_parts`, with the axes t and c as a single axis m.

    The odd parts must be 0 on the axes of the patch.
    """
    twice = (1.0 + (np.arange(n) == 0) for n in parts.shape[2:])
    right, left, below, corner = _signed_sums(*(parts * np.multiply.outer(*twice)))
    above = jnp.concatenate([corner[:, :0:-1, :0:-1], below[:, :0:-1]], axis=2)
    return jnp.concatenate([above, jnp.concatenate([left[:, :, :0:-1], right], axis=2)], axis=1)


def cut(continued, rows, columns, rule: Rule):
    """Return the windows (t, c, p, q) of continued values (c, row, column) that `shift` reads.

    Rows and columns (t,) are the nodes just below the feet, from `foot.place`.
    """
    count = rule.lagrange_count
    size = 2 * rule.reach_phi + count, 2 * rule.reach_theta + count
    # The window of row r begins at row r - reach_phi + 1 - count/2. The continued rows begin at
    # row -reach_phi - count/2, so the window has the first index r + 1. The same holds for columns.
    return windows(continued, rows + 1, columns + 1, size)


def shift(windows, du, dv, rule: Rule):
    """Interpolate windows from `cut` to grids of the same spacing, centred at the feet.

    `du` and `dv` (t,) are the positions of the feet relative to the nodes just below them, from 0
    to 1 node spacings. Return the values (t, c, 2 reach_phi + 1, 2 reach_theta + 1) on the grids,
    and the values (t, c) at the feet.
    """
    count = rule.lagrange_count
    a, b = (lagrange_weights(fraction, count) for fraction in (du, dv))
    # `centre` is a matrix product: XLA would recompute a sum of slices wherever it is used.
    i, j = rule.reach_phi, rule.reach_theta
    stencil = windows[:, :, i : i + count, j : j + count]
    centre = jnp.einsum("tcp,tp->tc", jnp.einsum("tcpq,tq->tcp", stencil, b), a)
    for axis, weights, reach in ((2, a, i), (3, b, j)):
        parts = [
            weights[:, k, None, None, None]
            * lax.slice_in_dim(windows, k, k + 2 * reach + 1, axis=axis)
            for k in range(count)
        ]
        windows = functools.reduce(jnp.add, parts)
    return windows, centre
