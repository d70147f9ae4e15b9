"""Patches: interpolation from their grid to polar nodes, and grids shifted to a point.

The interpolation is a product of local Lagrange interpolations in phi and theta, the same for
every target. As dense matrix products it would be the largest part of preparing a surface; two
properties cut it to a tenth:

- the polar nodes are symmetric under both reflections, so even and odd parts of the patch values
  meet the nodes of one quadrant only: four products of a sixteenth of the work;
- stencils are local: nodes sorted by their theta offset, in a few groups, need a few columns
  each.

The four parities are one batch of products: a program of a quarter of the size.

The foot of a point off the surface lies between nodes. The window of nodes around it is
interpolated to a grid of the same spacing, centred at the foot; after that all points are treated
alike.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._geometry.foot import lagrange_weights
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
        parts = _parts(values)
        sums = [
            jnp.einsum("smk,snk->smn", _flat(parts[..., window]), matrix, precision="highest")
            for window, matrix in self._groups
        ]
        return _butterfly(jnp.concatenate(sums, axis=2))

    def from_nodes(self, values: Float[Array, "4 m node"]) -> Float[Array, "m p q"]:
        """Apply the transpose of `to_nodes`."""
        sizes = [matrix.shape[1] for _, matrix in self._groups]
        by_group = lax.split(_butterfly(lax.optimization_barrier(values)), sizes, axis=2)
        columns = []
        for by_parity, (window, matrix) in zip(by_group, self._groups, strict=True):
            part = jnp.einsum("smn,snk->smk", by_parity, matrix, precision="highest")
            part = part.reshape(*part.shape[:2], -1, window.stop - window.start)
            margins = window.start, self._columns - window.stop
            columns.append(jnp.pad(part, ((0, 0), (0, 0), (0, 0), margins)))
        return _join(functools.reduce(jnp.add, columns))


def _signed_sum(values: Callable, rank: int) -> Array:
    """Return sum over c, d of (-1)^(a c + b d) values(c, d), (a, b, ...) with a, b, c, d in 0, 1.

    As one expression with the signs as factors: one loop, where stacks of sums and differences are
    many.
    """
    sign = (1.0 - 2.0 * jnp.arange(2, dtype=float)).reshape(2, *rank * (1,))
    first, second = (values(0, d) + sign[:, None] * values(1, d) for d in (0, 1))
    return first + sign * second


def _butterfly(values: Float[Array, "4 m node"]) -> Float[Array, "4 m node"]:
    """Turn parities (phi, theta) into quadrants (+,+), (+,-), (-,+), (-,-); its own transpose."""
    quadrants = _signed_sum(lambda c, d: values[2 * c + d], 2).reshape(values.shape)
    # Fused into all that reads it, it would be compiled and computed several times.
    return lax.optimization_barrier(quadrants)


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


def _parts(values: Float[Array, "m p q"]) -> Float[Array, "4 m i j"]:
    """Return four times the even and odd parts along both axes, on 0..E, of values on -E..E.

    All contain the values on the axes as often; matrices count them as often as they are there.
    """
    halves = [(slice(n // 2, None), slice(n // 2, None, -1)) for n in values.shape[1:]]
    parts = _signed_sum(lambda c, d: values[:, halves[0][c], halves[1][d]], 3)
    return parts.reshape(4, *parts.shape[2:])


def _join(parts: Float[Array, "4 m i j"]) -> Float[Array, "m p q"]:
    """Apply the transpose of `_parts`."""
    quadrants = _signed_sum(lambda a, b: parts[2 * a + b], 3)
    reach = [n - 1 for n in parts.shape[2:]]

    def placed(c, d):
        turned = jnp.flip(quadrants[c, d], [axis for axis, k in ((1, c), (2, d)) if k])
        margins = [(0, n) if k else (n, 0) for n, k in zip(reach, (c, d), strict=True)]
        return jnp.pad(turned, ((0, 0), *margins))

    return placed(0, 0) + placed(0, 1) + placed(1, 0) + placed(1, 1)


def windows(
    values: Float[Array, "c row column"], rows, columns, size: tuple[int, int]
) -> Float[Array, "t c p q"]:
    """Return the windows of a size that begin at rows (t,) and columns (t,), within bounds.

    XLA gathers windows, and scatters them in a transpose, much faster than single columns.
    """
    dimensions = lax.GatherDimensionNumbers(
        offset_dims=(1, 2, 3), collapsed_slice_dims=(), start_index_map=(1, 2)
    )
    starts = jnp.stack([rows, columns], axis=1)
    sizes = values.shape[0], *size
    return lax.gather(values, starts, dimensions, sizes, mode="promise_in_bounds")


def cut(continued, rows, columns, rule: Rule):
    """Return the windows around nodes: as much as `shift` reads."""
    count = rule.lagrange_count
    size = 2 * rule.reach_phi + count, 2 * rule.reach_theta + count
    # The overlap is half a stencil and the reach; the window starts one node after the former.
    return windows(continued, rows + 1, columns + 1, size)


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
