"""Interpolation from the grid of a patch to its polar nodes, and its transpose.

The interpolation is a product of local Lagrange interpolations in phi and theta, the same for
every target. As dense matrix products it would be the largest part of preparing a surface; two
properties cut it to a tenth:

- the polar nodes are symmetric under both reflections, so even and odd parts of the patch values
  meet the nodes of one quadrant only: four products of a sixteenth of the work;
- stencils are local: nodes sorted by their theta offset, in a few groups, need a few columns
  each.

The four parities are one batch of products: a program of a quarter of the size. Values are split,
not sliced: the transpose of the one joins, that of the other pads and adds.
"""

import functools

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables, theta_stencils


class PatchInterpolation:
    """One patch's interpolation, its matrices built once outside the loop over targets."""

    def __init__(self, constants: Tables, rule: Rule, groups: int = 3):
        self._columns = rule.reach_theta + 1
        stencils = theta_stencils(rule)
        self._groups = _grouped_products(
            constants.patch_phi, constants.patch_theta, stencils, groups
        )

    def to_nodes(self, values: Float[Array, "m p q"]) -> Float[Array, "4 m node"]:
        """Values on the patch grid to values at the polar nodes of the four quadrants."""
        parts = _parts(_parts(values, 2), 2)
        parts = parts.reshape(4, *parts.shape[2:])
        sums = [
            jnp.einsum("smk,snk->smn", _flat(parts[..., window]), matrix, precision="highest")
            for window, matrix in self._groups
        ]
        return _butterfly(jnp.concatenate(sums, axis=2))

    def from_nodes(self, values: Float[Array, "4 m node"]) -> Float[Array, "m p q"]:
        """Transpose of `to_nodes`."""
        sizes = [matrix.shape[1] for _, matrix in self._groups]
        by_group = lax.split(_butterfly(values), sizes, axis=2)
        columns = []
        for by_parity, (window, matrix) in zip(by_group, self._groups, strict=True):
            part = jnp.einsum("smn,snk->smk", by_parity, matrix, precision="highest")
            part = part.reshape(*part.shape[:2], -1, window.stop - window.start)
            beside = window.start, self._columns - window.stop
            columns.append(jnp.pad(part, ((0, 0), (0, 0), (0, 0), beside)))
        parts = functools.reduce(jnp.add, columns)
        return _join(_join(parts.reshape(2, 2, *parts.shape[1:]), 2), 2)


def _butterfly(values: Float[Array, "4 m node"]) -> Float[Array, "4 m node"]:
    """Parities (phi, theta) to quadrants (+,+), (+,-), (-,+), (-,-); its own transpose."""
    grid = values.reshape(2, 2, *values.shape[1:])
    for axis in (1, 0):
        even, odd = jnp.split(grid, 2, axis=axis)
        grid = jnp.concatenate([even + odd, even - odd], axis=axis)
    return grid.reshape(values.shape)


def _grouped_products(phi, theta, stencils: np.ndarray, count: int):
    """For each group of nodes: the columns it reads, its products (parity, node, row * column)."""
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
    """Even and odd part of values on -E..E along an axis, twice over: (2, ...) on 0..E.

    The centre's value stands in both; no product reads it of the odd part.
    """
    reach = values.shape[axis] // 2
    left, right = lax.split(values, (reach, reach + 1), axis=axis)
    before = [(int(k == axis), 0) for k in range(values.ndim)]
    left = jnp.pad(jnp.flip(left, axis), before)
    return jnp.stack([right + left, right - left])


def _join(parts, axis: int):
    """Transpose of `_parts`: what the parts' weights mean for the values on -E..E."""
    left = lax.slice_in_dim(parts[0] - parts[1], 1, None, axis=axis)
    return jnp.concatenate([jnp.flip(left, axis), parts[0] + parts[1]], axis=axis)
