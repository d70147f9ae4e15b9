"""The far part of the gradient: a punctured trapezoidal sum of the whole kernel, tile by tile.

With F = n x B and s = n.B at the source and r = x - y, the field is a sum of
r_m A_mk / r^3, where A_mk = (e_m x F)_k - s delta_mk, and its gradient one of

    d_i (r_m / r^3) A_mk = {r^2 A_ik - 3 r_i r_m A_mk} / r^5.

Both terms are polynomials in x and y, so that a tile of (targets x sources) is one matrix of
w = 1/r^5 times a matrix of 32 columns: for a block of sources with centre c, y' = y - c and
g = s y' - y' x F,

    q,  q y'^2,  q y'_i  with q = (s, F),  and  g,  y'_i g.

Expanding squares of distances loses digits, about as many as (size of the block / r)^2 has: seven
where the centre is far from all sources, as the origin is. Therefore blocks are rectangles of the
grid, about square on the surface, and bounded in size.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._far import split_targets
from vcjax._resample import equispaced, rotate

# Rounding grows like the nodes in a block: never more than this, whatever the caller allows. On
# W7-X at 12 digits 128, 1024 and 4096 leave 0.7, 2 and 9 times 1e-10 of max |grad B|; below 1024 a
# pair takes longer.
_LARGEST_BLOCK = 1024


def far_gradient(
    targets: Float[Array, "t 3"],
    sources: Float[Array, "3 row column"],
    area_normals: Float[Array, "3 row column"],
    B: Float[Array, "3 row column"],
    *,
    nfp: int,
    aspect: float,
    chunk_size: int,
    target_chunk_size: int,
) -> Float[Array, "3 3 t"]:
    """Gradient [i, k] = d_i T_k of the far part, laboratory components.

    Parameters
    ----------
    targets : laboratory points; those that are sources must be exactly equal to them.
    sources, area_normals, B : laboratory components on one field period.
    aspect : rows over columns of a square on the surface, roughly.
    chunk_size, target_chunk_size : largest number of sources and targets of a tile.
    """
    # Turning by the first angle, zero, is exact: a target that is a source stays equal to it.
    turns = equispaced(0.0, 2 * np.pi / nfp, nfp, jnp)
    points = rotate(jnp.broadcast_to(targets.T[:, None], (3, nfp, targets.shape[0])), -turns, jnp)
    blocks = _blocks(sources, area_normals, B, min(chunk_size, _LARGEST_BLOCK), aspect)
    tiles, count = split_targets(points.reshape(3, -1).T, target_chunk_size)
    # Coincident points are told by distance: far below any node spacing, far above rounding.
    coincident = 1e-20 * (sources**2).sum(axis=0).max()
    summed = _tiled_sum(tiles, blocks, coincident)[:, :, :count].reshape(3, 3, nfp, -1)
    return rotate_tensor(summed, turns).sum(axis=2) / (4 * np.pi)


def rotate_tensor(values: Float[Array, "3 3 n m"], angles: Float[Array, " n"]):
    """Rotate both indices about the z axis by angles (n,), one for each row."""

    def first(v):
        return jax.vmap(lambda column: rotate(column, angles, jnp), in_axes=1, out_axes=1)(v)

    return first(first(values).swapaxes(0, 1)).swapaxes(0, 1)


def _blocks(sources, area_normals, B, largest: int, aspect: float):
    """Source blocks: centres (k, 3), offsets (k, 3, n) from them, and (s, F) (k, 4, n)."""
    F = jnp.cross(area_normals, B, axis=0)
    s = (area_normals * B).sum(axis=0, keepdims=True)
    rows, columns = sources.shape[1:]
    high, wide = block_shape((rows, columns), largest, aspect)
    fill = ((0, 0), (0, -rows % high), (0, -columns % wide))

    def cut(values):
        k, n, m = values.shape
        parts = values.reshape(k, n // high, high, m // wide, wide)
        return parts.transpose(1, 3, 0, 2, 4).reshape(-1, k, high * wide)

    # Blocks are filled up with nodes that carry nothing.
    points = cut(jnp.pad(sources, fill, mode="edge"))
    densities = cut(jnp.pad(jnp.concatenate([s, F]), fill))
    centres = points.mean(axis=2)
    return centres, points - centres[:, :, None], densities


def block_shape(grid: tuple[int, int], largest: int, aspect: float) -> tuple[int, int]:
    """Rows and columns of equal blocks of at most `largest` nodes, about square on the surface."""
    rows, columns = grid
    high = min(max(int(np.sqrt(largest * aspect)), 1), rows, largest)
    wide = min(max(largest // high, 1), columns)
    high = min(max(largest // wide, 1), rows)
    return -(-rows // -(-rows // high)), -(-columns // -(-columns // wide))


def _moments(y: Float[Array, "3 n"], densities: Float[Array, "4 n"]) -> Float[Array, "n 32"]:
    s, F = densities[:1], densities[1:]
    g = s * y - jnp.cross(y, F, axis=0)
    by_offset = [y[i] * v for v in (densities, g) for i in range(3)]
    return jnp.concatenate([densities, densities * (y**2).sum(axis=0), g, *by_offset]).T


def _combine(x: Float[Array, "3 t"], m: Float[Array, "32 t"]) -> Float[Array, "3 3 t"]:
    """Gradient [i, k] at targets x (from the block's centre) from the weighted moments."""
    q, q_square, g = m[:4], m[4:8], m[8:11]
    q_offset, g_offset = m[11:23].reshape(3, 4, -1), m[23:32].reshape(3, 3, -1)
    # r^2 q = (x - y)^2 q, and r x F - s r = x x F - s x + g.
    square = (x**2).sum(axis=0) * q - 2 * (x[:, None] * q_offset).sum(axis=0) + q_square
    crossed = jnp.cross(x, q[1:], axis=0) - q[0] * x + g
    rows = []
    for i in range(3):
        beside = jnp.cross(x, q_offset[i, 1:], axis=0) - q_offset[i, 0] * x + g_offset[i]
        a, b = (i + 1) % 3, (i + 2) % 3
        # A_i = e_i x F - s e_i has the components -s, -F_b, F_a along i, a, b.
        isotropic = jnp.roll(jnp.stack([-square[0], -square[1 + b], square[1 + a]]), i, axis=0)
        rows.append(isotropic - 3 * (x[i] * crossed - beside))
    return jnp.stack(rows)


def _tiled_sum(tiles: Float[Array, "k rows 3"], blocks, coincident) -> Float[Array, "3 3 t"]:
    """Blocks outside, tiles inside: see `_far._tiled_sum`."""

    points = tiles.reshape(-1, 3).T

    @jax.checkpoint
    def weighted_moments(x, block):
        y, moments = block
        square = sum((x[:, i : i + 1] - y[i]) ** 2 for i in range(3))
        other = square > coincident
        square = jnp.where(other, square, 1.0)
        # Written as a division: XLA turns 1/sqrt into rsqrt, which it does not vectorise on the
        # CPU.
        inverse_fifth = jnp.where(other, 1.0 / (square * square * jnp.sqrt(square)), 0.0)
        return inverse_fifth @ moments

    @jax.checkpoint
    def one_block(total, block):
        centre, y, densities = block
        ready = y, _moments(y, densities)
        m = lax.map(lambda x: weighted_moments(x - centre, ready), tiles)
        return total + _combine(points - centre[:, None], m.reshape(-1, m.shape[2]).T), None

    return lax.scan(one_block, jnp.zeros((3, 3, points.shape[1])), blocks)[0]
