"""The far part: a punctured trapezoidal sum of the whole kernel, tile by tile.

For a block of sources with centre c, y' = y - c, x' = x - c, the sum over sources of the field's
kernel is linear in seven moments, so that a tile of (targets x sources) is one matrix of
w = 1/r^3 times a matrix of seven columns:

    F = n x B,  s = n.B,  g = s y' - y' x F,
    4 pi T(x) = sum over blocks of  -x' (w s) + x' x (w F) + (w g).

The gradient's kernel is such a product as well: a `Kernel` holds all that is different.

The sources are those of one field period; targets are turned to reach the other periods. Blocks are
rectangles of the grid, about square on the surface: a block's sums lose more digits the larger it
is in proportion to the distance of the target.
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
from vcjax._options import Tiles
from vcjax._quadrature.rule import Rule

# In float32 the offset of a target from the centre of a block is rounded: targets close to a block
# need it to be small.
_LARGEST_FLOAT32_BLOCK = 128


class Kernel(NamedTuple):
    """A kernel between targets x and sources y that carry densities (s, F), 4 numbers each.

    Attributes
    ----------
    name : of its scope in traces.
    power : w = 1/r^power is the matrix of a tile.
    moments : sources (3, n) from the block's centre and densities (4, n) to rows (k, n).
    combine : targets (3, t) from the centre and weighted moments (k, t) to values (3, ..., t).
    rank : of the values: 1 for a field, 2 for a gradient.
    largest_block : largest number of sources of a block, for accuracy.
    """

    name: str
    power: int
    moments: Callable
    combine: Callable
    rank: int
    largest_block: int | None = None


def far_sum(
    kernel: Kernel,
    rule: Rule,
    tiles: Tiles,
    targets: Float[Array, "t 3"],
    sources: Float[Array, "3 row column"],
    area_normals: Float[Array, "3 row column"],
    B: Float[Array, "3 row column"],
    punctured: Float[Array, ""] | None = None,
) -> Float[Array, "*components t"]:
    """Return the kernel over 4 pi, summed over all sources but the target itself.

    The field's kernel is {B x (n x r) - B (n.r)} / r^3.

    Parameters
    ----------
    targets : laboratory points; those that are sources must be exactly equal to them.
    sources, area_normals, B : laboratory components on one field period.
    punctured : square of the distance below which sources are left out, if not only the target.
    """
    largest = tiles.sources
    if kernel.largest_block:
        largest = min(largest, kernel.largest_block)
    if tiles.dtype == "float32":
        largest = min(largest, _LARGEST_FLOAT32_BLOCK)
    with jax.named_scope(kernel.name):
        blocks = _source_blocks(sources, area_normals, B, largest, rule)
        angles = equispaced(0.0, 2 * np.pi / rule.nfp, rule.nfp, jnp)
        turned = _turned_sum(kernel, targets, blocks, angles, tiles, punctured)
        return rotate(turned, angles, jnp, rank=kernel.rank).sum(axis=-2) / (4 * np.pi)


def _source_blocks(sources, area_normals, B, largest: int, rule: Rule):
    """Return source blocks: centres (k, 3), offsets (k, 3, n) from them, and (s, F) (k, 4, n)."""
    F = jnp.cross(area_normals, B, axis=0)
    s = (area_normals * B).sum(axis=0, keepdims=True)
    rows, columns = sources.shape[1:]
    high, wide = block_shape((rows, columns), largest, rule.patch_phi / rule.patch_theta)
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
    """Return rows and columns of equal blocks of at most `largest` nodes, about square.

    Parameters
    ----------
    aspect : rows over columns of a square on the surface, roughly.
    """
    rows, columns = grid
    high = min(max(int(np.sqrt(largest * aspect)), 1), rows, largest)
    wide = min(max(largest // high, 1), columns)
    high = min(max(largest // wide, 1), rows)
    return -(-rows // -(-rows // high)), -(-columns // -(-columns // wide))


def _turned_sum(
    kernel: Kernel, targets: Float[Array, "t 3"], blocks, angles, tiles: Tiles, punctured
) -> Float[Array, "*components nfp t"]:
    """Sum a kernel over the sources of one period at targets turned back by angles (nfp,)."""
    # Turning by the first angle, zero, is exact: a target that is a source stays equal to it.
    points = jnp.broadcast_to(targets.T[:, None], (3, angles.size, targets.shape[0]))
    parts, count = _split(rotate(points, -angles, jnp).reshape(3, -1), tiles.targets)
    summed = _tiled_sum(kernel, parts, blocks, punctured, tiles.dtype)[..., :count]
    return summed.reshape(*summed.shape[:-1], angles.size, -1)


def _split(points: Float[Array, "3 n"], largest: int):
    """Return equal tiles of at most ``largest`` points, (tiles, 3, points), and the point count.

    The last tile is filled up with the last point.
    """
    count = points.shape[1]
    tiles = -(-count // largest)
    each = -(-count // tiles)
    padded = jnp.pad(points, ((0, 0), (0, tiles * each - count)), mode="edge")
    return padded.reshape(3, tiles, each).swapaxes(0, 1), count


def _tiled_sum(
    kernel: Kernel, tiles: Float[Array, "k 3 each"], blocks, punctured, dtype: str
) -> Float[Array, "... t"]:
    """Sum over blocks outside, over tiles inside.

    XLA's CPU compiler fuses a slice of a scanned array into the loop that reads it, which then
    does not vectorise. In this order the block is an operand of the inner loop, and the kernel
    runs four times faster.

    For derivatives nothing of a tile is kept, and of a block only its weighted moments, a few
    numbers for each target: with them a gradient visits all pairs twice, not three times.
    """
    points = tiles.swapaxes(0, 1).reshape(3, -1)
    if punctured is None:
        # Points coincide below this distance: far below any node spacing, far above rounding.
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


FIELD = Kernel("far_field", 3, _moments, _combine, rank=1)
