"""Interpolation from the grid of a patch to its polar nodes, and its transpose.

The interpolation is a product of local Lagrange interpolations in phi and theta, the same for
every target. As dense matrix products it would be the largest part of preparing a surface; two
properties cut it to a tenth:

- the polar nodes are symmetric under both reflections, so even and odd parts of the patch values
  meet the nodes of one quadrant only: four products of a sixteenth of the work;
- stencils are local: nodes sorted by their theta offset, in a few groups, need a few columns
  each.
"""

import functools

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._rule import Rule
from vcjax._tables import Tables, theta_stencils


class PatchInterpolation:
    """One patch's interpolation, its matrices built once outside the loop over targets."""

    def __init__(self, constants: Tables, rule: Rule, groups: int = 3):
        self._reach = rule.reach_theta
        self._matrices = []
        for phi in constants.patch_phi:
            for theta, stencils in zip(constants.patch_theta, theta_stencils(rule), strict=True):
                self._matrices.append(_grouped_products(phi, theta, stencils, groups))

    def to_nodes(self, values: Float[Array, "m p q"]) -> Float[Array, "4 m node"]:
        """Values on the patch grid to values at the polar nodes of the four quadrants."""
        by_parity = [part for half in _parts(values, 1) for part in _parts(half, 2)]
        sums = []
        for part, groups in zip(by_parity, self._matrices, strict=True):
            columns = [
                part[:, :, window].reshape(part.shape[0], -1) @ matrix.T
                for window, matrix in groups
            ]
            sums.append(jnp.concatenate(columns, axis=1))
        return jnp.stack(_butterfly(*sums))

    def from_nodes(self, values: Float[Array, "4 m node"]) -> Float[Array, "m p q"]:
        """Transpose of `to_nodes`."""
        by_parity = _butterfly(*values)
        columns = [self._reach + 1, self._reach] * 2
        ee, eo, oe, oo = map(_scatter, by_parity, self._matrices, columns)
        return _join(_join(ee, eo, 2), _join(oe, oo, 2), 1)


def _butterfly(ee, eo, oe, oo):
    """Parities (phi, theta) to quadrants (+,+), (+,-), (-,+), (-,-); its own transpose."""
    right, left, cross_right, cross_left = ee + eo, ee - eo, oe + oo, oe - oo
    return right + cross_right, left + cross_left, right - cross_right, left - cross_left


def _grouped_products(phi, theta, stencils: np.ndarray, count: int):
    """For each group of nodes: the columns it reads, its product matrix (node, row * column)."""
    edges = np.linspace(0, stencils.shape[0], count + 1).astype(int)
    groups = []
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        window = slice(int(stencils[start:stop, 0].min()), int(stencils[start:stop, 1].max()))
        product = phi[start:stop, :, None] * theta[start:stop, None, window]
        groups.append((window, product.reshape(stop - start, -1)))
    return groups


def _scatter(values: Float[Array, "m node"], groups, columns: int) -> Float[Array, "m row column"]:
    parts, start = [], 0
    for window, matrix in groups:
        stop = start + matrix.shape[0]
        width = window.stop - window.start
        part = (values[:, start:stop] @ matrix).reshape(values.shape[0], -1, width)
        parts.append(jnp.pad(part, ((0, 0), (0, 0), (window.start, columns - window.stop))))
        start = stop
    return functools.reduce(jnp.add, parts)


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
