"""Patches: interpolation from their grid to polar nodes, and grids shifted to a point.

The interpolation is a product of local Lagrange interpolations in phi and theta, the same for
every target. As dense matrix products it would be the largest part of preparing a surface; two
properties cut it to a tenth:

- the polar nodes are symmetric under both reflections, so even and odd parts of the patch values
  meet the nodes of one quadrant only: four products of a sixteenth of the work;
- stencils are local: nodes sorted by their theta offset, in a few groups, need a few columns
  each.

The four parities are one batch of products: a program of a quarter of the size. Values are split,
not sliced: the transpose of a split joins, the transpose of slices pads and adds.

The foot of a point off the surface lies between nodes. The window of nodes around it is
interpolated to a grid of the same spacing, centred at the foot; after that all points are treated
alike.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._geometry.foot import lagrange_weights
from vcjax._geometry.resample import equispaced, rotate
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables, theta_stencils


class PatchInterpolation:
    """The interpolation of a patch, its matrices made once outside the loop over targets."""

    def __init__(self, constants: Tables, rule: Rule, groups: int = 3):
        self._columns = rule.reach_theta + 1
        stencils = theta_stencils(rule)
        self._groups = _grouped_products(
            constants.patch_phi, constants.patch_theta, stencils, groups
        )

    def to_nodes(self, values: Float[Array, "m p q"]) -> Float[Array, "4 m node"]:
        """Interpolate from the patch grid to the polar nodes of the four quadrants."""
        parts = _parts(_parts(values, 2), 2)
        parts = parts.reshape(4, *parts.shape[2:])
        sums = [
            jnp.einsum("smk,snk->smn", _flat(parts[..., window]), matrix, precision="highest")
            for window, matrix in self._groups
        ]
        return _butterfly(jnp.concatenate(sums, axis=2))

    def from_nodes(self, values: Float[Array, "4 m node"]) -> Float[Array, "m p q"]:
        """Apply the transpose of `to_nodes`."""
        sizes = [matrix.shape[1] for _, matrix in self._groups]
        by_group = lax.split(_butterfly(values), sizes, axis=2)
        columns = []
        for by_parity, (window, matrix) in zip(by_group, self._groups, strict=True):
            part = jnp.einsum("smn,snk->smk", by_parity, matrix, precision="highest")
            part = part.reshape(*part.shape[:2], -1, window.stop - window.start)
            margins = window.start, self._columns - window.stop
            columns.append(jnp.pad(part, ((0, 0), (0, 0), (0, 0), margins)))
        parts = functools.reduce(jnp.add, columns)
        return _join(_join(parts.reshape(2, 2, *parts.shape[1:]), 2), 2)


def _butterfly(values: Float[Array, "4 m node"]) -> Float[Array, "4 m node"]:
    """Turn parities (phi, theta) into quadrants (+,+), (+,-), (-,+), (-,-); its own transpose."""
    grid = values.reshape(2, 2, *values.shape[1:])
    for axis in (1, 0):
        even, odd = jnp.split(grid, 2, axis=axis)
        grid = jnp.concatenate([even + odd, even - odd], axis=axis)
    return grid.reshape(values.shape)


def _grouped_products(phi, theta, stencils: np.ndarray, count: int):
    """Return, for groups of nodes, columns read and products (parity, node, row * column)."""
    edges = np.linspace(0, stencils.shape[0], count + 1).astype(int)
    groups = []
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        window = slice(int(stencils[start:stop, 0].min()), int(stencils[start:stop, 1].max()))
        by_theta = theta[None, :, start:stop, None, window]
        product = phi[:, None, start:stop, :, None] * by_theta
        groups.append((window, product.reshape(4, stop - start, -1)))
    return groups


def _flat(values: Float[Array, "4 m row column"]) -> Float[Array, "4 m node"]:
    return values.reshape(*values.shape[:2], -1)


def _parts(values, axis: int):
    """Return twice the even and odd part, (2, ...) on 0..E, of values on -E..E along an axis.

    Both contain the value at the centre; no product reads it from the odd part.
    """
    reach = values.shape[axis] // 2
    left, right = lax.split(values, (reach, reach + 1), axis=axis)
    before = [(int(k == axis), 0) for k in range(values.ndim)]
    left = jnp.pad(jnp.flip(left, axis), before)
    return jnp.stack([right + left, right - left])


def _join(parts, axis: int):
    """Apply the transpose of `_parts`."""
    left = lax.slice_in_dim(parts[0] - parts[1], 1, None, axis=axis)
    return jnp.concatenate([jnp.flip(left, axis), parts[0] + parts[1]], axis=axis)


def _window(rule: Rule) -> tuple[int, int]:
    """Return the rows and columns of a patch and of the nodes around it that `shift` reads."""
    return 2 * rule.reach_phi + rule.lagrange_count, 2 * rule.reach_theta + rule.lagrange_count


def continued(nodes, rule: Rule):
    """Continue nodes beyond their period, so that every window is a slice."""
    high, wide = _window(rule)
    return jnp.pad(nodes, ((0, 0), (0, high), (0, wide)), mode="wrap")


def cut(padded, row, column, rule: Rule):
    """Return the window around a node, its rows turned into the frame of that node's row."""
    high, wide = _window(rule)
    before = (rule.lagrange_count // 2 - 1 + n for n in (rule.reach_phi, rule.reach_theta))
    sizes = rule.period_rows, rule.quad_ntheta
    start = (
        (k.astype(int) - b) % size for k, b, size in zip((row, column), before, sizes, strict=True)
    )
    window = lax.dynamic_slice(padded, (0, *start), (padded.shape[0], high, wide))
    first = -(rule.reach_phi + rule.lagrange_count // 2 - 1) * rule.spacing[0]
    angles = equispaced(first, rule.spacing[0], high, jnp)
    vectors = window.reshape(-1, 3, high, wide)
    return jax.vmap(lambda v: rotate(v, angles, jnp))(vectors).reshape(-1, high, wide)


def shift(windows, du, dv, rule: Rule):
    """Shift windows by (du, dv) nodes to the foot.

    Returns
    -------
    Values on the patch around the foot, (t, c, 2 reach + 1, 2 reach + 1), and at the foot, (t, c).
    """
    count = rule.lagrange_count
    a, b = (jax.vmap(lambda f: lagrange_weights(f, count))(fraction) for fraction in (du, dv))
    # As products: XLA would recompute a sum of slices wherever it is used.
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
