"""The far part: a punctured trapezoidal sum of the whole kernel, tile by tile.

For a block of sources with centre c, y' = y - c, x' = x - c, the kernel sum is linear in seven
moments, so that a tile of (targets x sources) is one matrix of w = 1/r^3 times a matrix of seven
columns:

    F = n x B,  s = n.B,  g = s y' - y' x F,
    4 pi T(x) = sum over blocks of  -x' (w s) + x' x (w F) + (w g).

The sources are those of one field period; the others are reached by turning the targets.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._resample import equispaced, rotate


def far_field(
    targets: Float[Array, "t 3"],
    sources: Float[Array, "3 n"],
    area_normals: Float[Array, "3 n"],
    B: Float[Array, "3 n"],
    *,
    nfp: int,
    chunk_size: int,
    target_chunk_size: int,
) -> Float[Array, "t 3"]:
    """Sum over all sources but the target itself of {B x (n x r) - B (n.r)} / (4 pi r^3).

    Parameters
    ----------
    targets : laboratory points; those that are sources must be exactly equal to them.
    sources, area_normals, B : laboratory components on one field period.
    chunk_size, target_chunk_size : largest number of sources and targets of a tile.
    """
    # Turning by the first angle, zero, is exact: a target that is a source stays equal to it.
    turns = equispaced(0.0, 2 * np.pi / nfp, nfp, jnp)
    points = rotate(jnp.broadcast_to(targets.T[:, None], (3, nfp, targets.shape[0])), -turns, jnp)
    blocks = _blocks(sources, area_normals, B, chunk_size)
    tiles, count = split_targets(points.reshape(3, -1).T, target_chunk_size)
    # Coincident points are told by distance: far below any node spacing, far above rounding.
    coincident = 1e-20 * (sources**2).sum(axis=0).max()
    summed = _tiled_sum(tiles, blocks, coincident).reshape(-1, 3)[:count]
    return rotate(summed.T.reshape(3, nfp, -1), turns, jnp).sum(axis=1).T / (4 * np.pi)


def split_targets(points: Float[Array, "n k"], largest: int):
    """Equal tiles of at most ``largest`` rows: (tiles, rows, k), filled up with the last row."""
    count = points.shape[0]
    tiles = -(-count // largest)
    rows = -(-count // tiles)
    padded = jnp.pad(points, ((0, tiles * rows - count), (0, 0)), mode="edge")
    return padded.reshape(tiles, rows, -1), count


def _blocks(sources, area_normals, B, chunk_size: int):
    """Source blocks: centres (k, 3), offsets (k, 3, n) from them, and moments (k, n, 7)."""
    F = jnp.cross(area_normals, B, axis=0)
    s = (area_normals * B).sum(axis=0, keepdims=True)
    data, count = split_targets(jnp.concatenate([sources, s, F]).T, chunk_size)
    blocks, rows, _ = data.shape
    used = (jnp.arange(blocks * rows).reshape(blocks, rows) < count).astype(data.dtype)
    centres = data[:, :, :3].mean(axis=1)
    y = data[:, :, :3] - centres[:, None]
    s, F = data[:, :, 3:4] * used[:, :, None], data[:, :, 4:] * used[:, :, None]
    moments = jnp.concatenate([s, F, s * y - jnp.cross(y, F, axis=2)], axis=2)
    return centres, y.transpose(0, 2, 1), moments


def _tiled_sum(tiles: Float[Array, "k rows 3"], blocks, coincident) -> Float[Array, "k rows 3"]:
    """Blocks outside, tiles inside.

    XLA's CPU compiler fuses a slice of a scanned array into the loop that reads it, which then
    does not vectorise. In this order the block is an operand of the inner loop, and the kernel
    runs four times faster.
    """

    @jax.checkpoint
    def one_tile(x, block):
        centre, y, moments = block
        x = x - centre
        square = sum((x[:, i : i + 1] - y[i]) ** 2 for i in range(3))
        other = square > coincident
        square = jnp.where(other, square, 1.0)
        # Written as a division: XLA turns 1/sqrt into rsqrt, which it does not vectorise on the
        # CPU.
        inverse_cube = jnp.where(other, 1.0 / (square * jnp.sqrt(square)), 0.0)
        m = inverse_cube @ moments
        return jnp.cross(x, m[:, 1:4]) - x * m[:, :1] + m[:, 4:]

    def one_block(total, block):
        return total + lax.map(lambda x: one_tile(x, block), tiles), None

    return lax.scan(one_block, jnp.zeros_like(tiles), blocks)[0]
