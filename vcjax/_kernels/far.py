"""The far part: a punctured trapezoidal sum of the whole kernel, tile by tile.

For a block of sources with centre c, y' = y - c, x' = x - c, the sum over sources of the field's
kernel is linear in seven moments, so that a tile of (targets x sources) is one matrix of
w = 1/r^3 times a matrix of seven columns:

    F = n x B,  s = n.B,  g = s y' - y' x F,
    4 pi T(x) = sum over blocks of  -x' (w s) + x' x (w F) + (w g).

The gradient's kernel is such a product as well: a `Kernel` is what they differ in.

The sources are those of one field period; the others are reached by turning the targets. Blocks are
rectangles of the grid, about square on the surface: digits that a block's sums lose grow with its
size over the distance to the target.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._geometry.resample import equispaced, rotate
from vcjax._kernels.pairs import pair_product, pair_weights

# In float32 the offset of a target from the centre of a block is rounded: near targets want small
# blocks.
FLOAT32_BLOCK = 128


class Kernel(NamedTuple):
    """A kernel between targets x and sources y that carry densities (s, F), 4 numbers each.

    Attributes
    ----------
    power : w = 1/r^power is the matrix of a tile.
    moments : sources (3, n) from the block's centre and densities (4, n) to rows (k, n).
    combine : targets (3, t) from the centre and weighted moments (k, t) to values (..., t).
    """

    power: int
    moments: Callable
    combine: Callable


@jax.named_scope("far_field")
def far_field(
    targets: Float[Array, "t 3"],
    sources: Float[Array, "3 row column"],
    area_normals: Float[Array, "3 row column"],
    B: Float[Array, "3 row column"],
    *,
    nfp: int,
    aspect: float,
    chunk_size: int,
    target_chunk_size: int,
    punctured: Float[Array, ""] | None = None,
    dtype: str = "float64",
) -> Float[Array, "3 t"]:
    """Sum over all sources but the target itself of {B x (n x r) - B (n.r)} / (4 pi r^3).

    Parameters
    ----------
    targets : laboratory points; those that are sources must be exactly equal to them.
    sources, area_normals, B : laboratory components on one field period.
    aspect : rows over columns of a square on the surface, roughly.
    chunk_size, target_chunk_size : largest number of sources and targets of a tile.
    punctured : square of the distance below which sources are left out, if not only the target.
    dtype : in which a tile is summed, "float64" or "float32".
    """
    largest = chunk_size if dtype == "float64" else min(chunk_size, FLOAT32_BLOCK)
    blocks = source_blocks(sources, area_normals, B, largest, aspect)
    turned = turned_sum(_KERNEL, targets, blocks, nfp, target_chunk_size, punctured, dtype)
    return rotate(turned, turn_angles(nfp), jnp).sum(axis=1) / (4 * np.pi)


def turn_angles(nfp: int) -> Float[Array, " nfp"]:
    """The angles between the field periods; the first, zero, turns exactly."""
    return equispaced(0.0, 2 * np.pi / nfp, nfp, jnp)


def source_blocks(sources, area_normals, B, largest: int, aspect: float):
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


def turned_sum(
    kernel: Kernel,
    targets: Float[Array, "t 3"],
    blocks,
    nfp: int,
    target_chunk_size: int,
    punctured: Float[Array, ""] | None = None,
    dtype: str = "float64",
) -> Float[Array, "... nfp t"]:
    """Sum of a kernel over the sources of one period at targets turned back by 0 .. nfp - 1
    periods."""
    # Turning by the first angle, zero, is exact: a target that is a source stays equal to it.
    points = jnp.broadcast_to(targets.T[:, None], (3, nfp, targets.shape[0]))
    tiles, count = _split(rotate(points, -turn_angles(nfp), jnp).reshape(3, -1), target_chunk_size)
    summed = _tiled_sum(kernel, tiles, blocks, punctured, dtype)[..., :count]
    return summed.reshape(*summed.shape[:-1], nfp, -1)


def _split(points: Float[Array, "3 n"], largest: int):
    """Equal tiles of at most ``largest`` points: (tiles, 3, points), filled up with the last."""
    count = points.shape[1]
    tiles = -(-count // largest)
    each = -(-count // tiles)
    padded = jnp.pad(points, ((0, 0), (0, tiles * each - count)), mode="edge")
    return padded.reshape(3, tiles, each).swapaxes(0, 1), count


def _tiled_sum(
    kernel: Kernel, tiles: Float[Array, "k 3 each"], blocks, punctured, dtype: str
) -> Float[Array, "... t"]:
    """Blocks outside, tiles inside.

    XLA's CPU compiler fuses a slice of a scanned array into the loop that reads it, which then
    does not vectorise. In this order the block is an operand of the inner loop, and the kernel
    runs four times faster.

    Of a tile nothing is kept for derivatives, of a block only its weighted moments, a few numbers
    for each target: with them a gradient goes over all pairs twice, not three times.
    """
    points = tiles.swapaxes(0, 1).reshape(3, -1)
    if punctured is None:
        # Coincident points are told by distance: far below any node spacing, far above rounding.
        punctured = 1e-20 * sum((part**2).sum(axis=1).max() for part in blocks[:2])
    punctured = lax.stop_gradient(jnp.asarray(punctured, dtype))

    @jax.checkpoint
    def weighted_moments(x, centre, y, moments):
        # Offsets from the centre are rounded, not positions: they are far shorter.
        x = (x - centre).astype(dtype)
        return pair_product(pair_weights(kernel.power, x, y, punctured), moments)

    ready_moments, combine = jax.checkpoint(kernel.moments), jax.checkpoint(kernel.combine)

    def one_block(total, block):
        centre, y, densities = block
        centre = centre[:, None]
        ready = centre, y.astype(dtype), ready_moments(y, densities).astype(dtype)
        m = lax.map(lambda x: weighted_moments(x, *ready), tiles)
        m = m.swapaxes(0, 1).reshape(m.shape[1], -1).astype(points.dtype)
        return total + combine(points - centre, m), None

    nothing = jax.eval_shape(one_block, 0.0, jax.tree.map(lambda v: v[0], blocks))[0]
    return lax.scan(one_block, jnp.zeros(nothing.shape, nothing.dtype), blocks)[0]


def _moments(y: Float[Array, "3 n"], densities: Float[Array, "4 n"]) -> Float[Array, "7 n"]:
    s, F = densities[:1], densities[1:]
    return jnp.concatenate([densities, s * y - jnp.cross(y, F, axis=0)])


def _combine(x: Float[Array, "3 t"], m: Float[Array, "7 t"]) -> Float[Array, "3 t"]:
    return jnp.cross(x, m[1:4], axis=0) - x * m[0] + m[4:]


_KERNEL = Kernel(3, _moments, _combine)
