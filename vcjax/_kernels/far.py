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
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._kernels.pairs import pair_product, pair_weights
from vcjax._kernels.vectors import components, cross, dot_and_cross, stacked
from vcjax._loops import map_tiles
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
    turns: Float[Array, "nfp 3 3"],
    punctured: Float[Array, ""] | None = None,
    used: Any = None,
) -> Float[Array, "*components t"]:
    """Return the kernel over 4 pi, summed over all sources but the target itself.

    The field's kernel is {B x (n x r) - B (n.r)} / r^3.

    Parameters
    ----------
    targets : laboratory points; those that are sources must be exactly equal to them.
    sources, area_normals, B : laboratory components on one field period.
    turns : rotations by 0 .. nfp - 1 periods.
    punctured : square of the distance below which sources are left out, if not only the target.
    used : traced number of targets that are evaluated, if not all; see `map_tiles`.
    """
    largest = tiles.sources
    if kernel.largest_block:
        largest = min(largest, kernel.largest_block)
    if tiles.dtype == "float32":
        largest = min(largest, _LARGEST_FLOAT32_BLOCK)
    with jax.named_scope(kernel.name):
        blocks = _source_blocks(sources, area_normals, B, largest, rule)
        parts = _turned_tiles(targets, turns, tiles.targets)
        used_tiles = None if used is None else -(-used * rule.nfp // parts.shape[2])
        summed = _tiled_sum(kernel, parts, used_tiles, blocks, punctured, tiles.dtype)
        summed = summed.reshape(*summed.shape[:-1], -1, rule.nfp)[..., : targets.shape[0], :]
        product = "gai,itg->at" if kernel.rank == 1 else "gai,gbj,ijtg->abt"
        back = turns / (4 * np.pi), turns
        return jnp.einsum(product, *back[: kernel.rank], summed, precision="highest")


def _source_blocks(sources, area_normals, B, largest: int, rule: Rule):
    """Return source blocks: centres (k, 3), offsets (k, 3, n) from them, and (s, F) (k, 4, n)."""
    rows, columns = sources.shape[1:]
    high, wide = block_shape((rows, columns), largest, rule.patch_phi / rule.patch_theta)
    fill = ((0, 0), (0, -rows % high), (0, -columns % wide))

    def cut(values):
        k, n, m = values.shape
        parts = values.reshape(k, n // high, high, m // wide, wide)
        return parts.transpose(1, 3, 0, 2, 4).reshape(-1, k, high * wide)

    # Blocks are filled up with nodes that carry nothing.
    points = cut(jnp.pad(sources, fill, mode="edge"))
    densities = cut(jnp.pad(dot_and_cross(components(area_normals), components(B)), fill))
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


def _turned_tiles(targets: Float[Array, "t 3"], turns, largest: int):
    """Return targets turned back by all turns, in equal tiles (k, 3, each turns) of whole targets.

    A tile has at most ``largest`` points, if that is one for each turn. The last is filled up with
    the last target.
    """
    count, nfp = targets.shape[0], turns.shape[0]
    tiles = -(-count // max(1, largest // nfp))
    each = -(-count // tiles)
    padded = jnp.pad(targets, ((0, tiles * each - count), (0, 0)), mode="edge")
    # The first turn, by nothing, is exact: a target that is a source stays equal to it.
    by_turn = turns.transpose(1, 2, 0).reshape(3, 3 * nfp)
    points = jnp.matmul(padded, by_turn, precision="highest").reshape(tiles, each, 3, nfp)
    return points.swapaxes(1, 2).reshape(tiles, 3, each * nfp)


def _tiled_sum(
    kernel: Kernel, tiles: Float[Array, "k 3 each"], used, blocks, punctured, dtype: str
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
        m = map_tiles(lambda x: weighted_moments(x, *ready), tiles, used)
        m = m.reshape(points.shape[1], -1).astype(points.dtype)
        return total + combine(points - centre, m.T), None

    nothing = jax.eval_shape(one_block, 0.0, jax.tree.map(lambda v: v[0], blocks))[0]
    return lax.scan(one_block, jnp.zeros(nothing.shape, nothing.dtype), blocks)[0]


def _moments(y: Float[Array, "3 n"], densities: Float[Array, "4 n"]) -> Float[Array, "7 n"]:
    s, *F = components(densities)
    at = components(y)
    g = [s * a - b for a, b in zip(at, cross(at, F), strict=True)]
    return stacked([s, *F, *g])


def _combine(x: Float[Array, "3 t"], m: Float[Array, "7 t"]) -> Float[Array, "3 t"]:
    s, *vectors = components(m)
    at = components(x)
    curl = cross(at, vectors[:3])
    return stacked([c - a * s + g for a, c, g in zip(at, curl, vectors[3:], strict=True)])


FIELD = Kernel("far_field", 3, _moments, _combine, rank=1)
