"""Compute the far part: a trapezoidal sum of the whole kernel over the nodes of the surface.

The sources are divided into blocks and the targets into tiles. For a block with centre c, write
y' = y - c for the sources and x' = x - c for the targets. Let B be the field and n the normal at a
source, and r the distance between source and target. The sum of the field's kernel over the sources
of a block is linear in seven moments. The contribution of a block to a tile is therefore the matrix
of w = 1/r^3, (targets, sources), times a matrix of seven columns:

    F = n x B,  s = n.B,  g = s y' - y' x F,
    4 pi T(x) = sum over blocks of  -x' (w s) + x' x (w F) + (w g).

The contribution to the gradient is a product of the same form. A `Kernel` contains everything in
which the far sums of field and gradient differ.

The sources are the nodes of one field period. To include the other periods, the targets are
rotated. Blocks are rectangles of the grid, about square on the surface. The sums over a block lose
more digits if the block is larger, or nearer to the target.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from vcjax._annotations import Array, Float
from vcjax._kernels.pairs import pair_product, pair_weights
from vcjax._kernels.vectors import components, cross, dot, stacked
from vcjax._options import Tiles
from vcjax._programs.loops import map_tiles
from vcjax._quadrature.rule import Rule

# In float32 the offset of a target from the centre of a block is rounded. Small blocks keep the
# offset short for targets close to a block.
_LARGEST_FLOAT32_BLOCK = 128


class Kernel(NamedTuple):
    """A kernel between targets x and sources y with the densities s = n.B and F = n x B.

    Sources and targets are relative to the centre of a block. `moments` maps sources (3, n) and
    densities s and F, (4, n), to moments (k, n). `combine` maps targets (3, t) and weighted moments
    (k, t) to the independent components (c, t) of the values. `expand` maps these components to the
    values (3, ..., t).
    """

    name: str  # name of the kernel's scope in traces
    power: int  # odd exponent in w = 1/r^power, the matrix of a tile
    moments: Callable
    combine: Callable
    expand: Callable
    rank: int  # number of component axes of the values: 1 for a field, 2 for a gradient
    largest_block: int | None = None  # largest number of sources in a block; None for no limit


def far_sum(
    kernel: Kernel,
    rule: Rule,
    tiles: Tiles,
    targets: Float[Array, "t 3"],
    sources: Float[Array, "3 row column"],
    area_normals: Float[Array, "3 row column"],
    B: Float[Array, "3 row column"],
    turns: Float[Array, "nfp 3 3"],
    punctured: Float[Array, ""] | Float[Array, " t"] | None = None,
    used: Any = None,
) -> Float[Array, "*components t"]:
    """Return a kernel divided by 4 pi, summed over all sources that `punctured` does not leave out.

    The field's kernel is {B x (n x r) - B (n.r)} / |r|^3, with r from the source to the target.
    All vectors have laboratory components. The sources are the nodes of one period, and `turns` are
    the rotations by 0 .. nfp - 1 periods. A target that is also a source must have exactly the
    coordinates of the source.

    Sources are left out if the square of their distance from the target is at most `punctured`,
    which is a single value, or an array (t,) with a value for each target. If `punctured` is None,
    only sources at the target are left out. `used` is the number of targets to evaluate, counted
    from the first; see `map_tiles`.
    """
    largest = min(tiles.sources, kernel.largest_block or tiles.sources)
    if tiles.dtype == "float32":
        largest = min(largest, _LARGEST_FLOAT32_BLOCK)
    unit: Any = 1.0
    if tiles.dtype == "float32":
        # Numbers of float32 must neither overflow nor vanish. Fields do not depend on the unit of
        # length. Gradients are never computed in float32.
        length, size = _power_of_two(sources), _power_of_two(B)
        targets, sources = targets / length, sources / length
        # In reverse mode, `unit` multiplies derivatives before they are rounded to float32.
        unit = jnp.where((1e-20 < size) & (size < 1e20), 1.0, size)
        area_normals, B = area_normals / length**2, B / unit
    with jax.named_scope(kernel.name):
        blocks = _source_blocks(sources, area_normals, B, largest, rule)
        if punctured is not None and punctured.ndim:
            # Append `punctured` to the targets as a fourth component, which is not rotated.
            targets = jnp.concatenate([targets, punctured[:, None]], axis=1)
        parts = _turned_tiles(targets, turns, tiles.targets)
        used_tiles = None if used is None else -(-used * rule.nfp // parts.shape[2])
        summed = kernel.expand(
            _tiled_sum(kernel, parts, used_tiles, blocks, punctured, tiles.dtype)
        )
        summed = summed.reshape(*summed.shape[:-1], -1, rule.nfp)[..., : targets.shape[0], :]
        product = "gai,itg->at" if kernel.rank == 1 else "gai,gbj,ijtg->abt"
        back = unit * turns / (4 * np.pi), turns
        return jnp.einsum(product, *back[: kernel.rank], summed, precision="highest")


def _power_of_two(values) -> Float[Array, ""]:
    """Return the least power of two above all absolute values; division by it does not round."""
    largest = lax.stop_gradient(jnp.abs(values).max())
    return jnp.ldexp(1.0, jnp.frexp(largest)[1])


def _source_blocks(sources, area_normals, B, largest: int, rule: Rule):
    """Divide the sources into k blocks of n nodes.

    Return the centres (k, 3), which are the means of the points in each block, padding included;
    the sources relative to the centres, (k, 3, n); and the densities s and F, (k, 4, n).
    """
    rows, columns = sources.shape[1:]
    high, wide = block_shape((rows, columns), largest, rule.patch_phi / rule.patch_theta)
    fill = ((0, 0), (0, -rows % high), (0, -columns % wide))

    def cut(values):
        k, n, m = values.shape
        parts = values.reshape(k, n // high, high, m // wide, wide)
        return parts.transpose(1, 3, 0, 2, 4).reshape(-1, k, high * wide)

    # Blocks are padded with nodes of density 0, to a multiple of the length of a vector register.
    more = ((0, 0), (0, 0), (0, -high * wide % 8))
    points = jnp.pad(cut(jnp.pad(sources, fill, mode="edge")), more, mode="edge")
    normal, field = components(area_normals), components(B)
    densities = stacked([dot(normal, field), *cross(normal, field)])
    densities = jnp.pad(cut(jnp.pad(densities, fill)), more)
    centres = points.mean(axis=2)
    return centres, points - centres[:, :, None], densities


def block_shape(grid: tuple[int, int], largest: int, aspect: float) -> tuple[int, int]:
    """Return the numbers of rows and columns of equal blocks that are about square on the surface.

    A block has at most `largest` nodes of the grid. A block that is square on the surface has
    `aspect` times as many rows as columns.
    """
    rows, columns = grid
    high = min(max(int(np.sqrt(largest * aspect)), 1), rows, largest)
    wide = min(max(largest // high, 1), columns)
    high = min(max(largest // wide, 1), rows)
    return -(-rows // -(-rows // high)), -(-columns // -(-columns // wide))


def images(points: Float[Array, "t 3"], turns: Float[Array, "nfp 3 3"]) -> Float[Array, "t 3 nfp"]:
    """Rotate each point back by every rotation.

    The far sum and the near part must use the same images. If their images differ by a rounding
    error, this error is divided by the square of the distance to the nearest sources. In gradients
    this caused errors of 6e-12.
    """
    # The first turn is the identity and exact, so a target that is a source keeps its coordinates.
    by_turn = turns.transpose(1, 2, 0).reshape(3, -1)
    return jnp.matmul(points, by_turn, precision="highest").reshape(len(points), 3, -1)


def _turned_tiles(targets: Float[Array, "t part"], turns, largest: int):
    """Divide targets into tiles (k, part, n * nfp) of n targets, with the `images` of each target.

    Components after the first three are not rotated. All images of a target are in the same tile. A
    tile has at most `largest` images, but always at least one target. If there are two targets or
    more, there are at least two tiles. The last tiles are padded with the last target.
    """
    count, nfp = targets.shape[0], turns.shape[0]
    # XLA removes a loop over a single tile. It would then fuse the slice of a block into the loop
    # that reads it, which is slow (see `_tiled_sum`).
    tiles = max(-(-count // max(1, largest // nfp)), min(count, 2))
    each = -(-count // tiles)
    rest = jnp.repeat(targets[:, 3:, None], nfp, axis=2)
    points = jnp.concatenate([images(targets[:, :3], turns), rest], axis=1)
    points = jnp.pad(points, ((0, tiles * each - count), (0, 0), (0, 0)), mode="edge")
    points = points.reshape(tiles, each, -1, nfp).swapaxes(1, 2)
    return points.reshape(tiles, -1, each * nfp)


def _tiled_sum(
    kernel: Kernel, tiles: Float[Array, "k part each"], used, blocks, punctured, dtype: str
) -> Float[Array, "c t"]:
    """Sum a kernel over all blocks of sources (outer loop) for tiles of targets (inner loop).

    XLA's CPU compiler fuses a slice of a scanned array into the loop that reads it, and this loop
    then does not vectorise. With the block loop outside, the block is an operand of the inner loop,
    and the kernel runs four times faster.

    For derivatives, no values of pairs are stored. Only the weighted moments of each block are
    stored, which are a few numbers for each target. With these moments, a derivative computes all
    pairs twice instead of three times.

    Sources are left out up to a distance from the target. The square of this distance is the fourth
    component of `tiles`. If `tiles` have only three components, the square is `punctured`. If
    `punctured` is None, only sources at the target are left out. `used` is the number of tiles to
    evaluate, as in `map_tiles`. Pairs are computed in `dtype`.
    """
    points = tiles[:, :3].swapaxes(0, 1).reshape(3, -1)
    if punctured is None:
        # Points coincide if the square of their distance is at most this value. Its root is far
        # below any node spacing, and far above rounding errors.
        punctured = 1e-20 * sum((part**2).sum(axis=1).max() for part in blocks[:2])
    punctured = lax.stop_gradient(jnp.asarray(punctured, dtype))

    @jax.checkpoint
    def weighted_moments(x, centre, y, moments):
        least = punctured if len(x) == 3 else lax.stop_gradient(x[3, :, None].astype(dtype))
        # Offsets from the centre are rounded instead of positions, because the offsets of targets
        # near the block are far shorter.
        x = (x[:3] - centre).astype(dtype)
        return pair_product(pair_weights(kernel.power, x, y, least), moments)

    ready_moments, combine = jax.checkpoint(kernel.moments), jax.checkpoint(kernel.combine)

    def one_block(total, block):
        centre, y, densities = block
        centre = centre[:, None]
        ready = centre, y.astype(dtype), ready_moments(y, densities).astype(dtype)
        m = map_tiles(lambda x: weighted_moments(x, *ready), tiles, used)
        m = m.reshape(points.shape[1], -1).astype(points.dtype)
        return total + combine(points - centre, m.T), None

    nothing = jax.eval_shape(one_block, 0.0, jax.tree.map(lambda v: v[0], blocks))[0]
    # In `jax.shard_map`, `full_like` gives the type of a result that differs between devices.
    return lax.scan(one_block, lax.full_like(nothing, 0), blocks)[0]


def _moments(y: Float[Array, "3 n"], densities: Float[Array, "4 n"]) -> Float[Array, "7 n"]:
    s, *F = components(densities)
    at = components(y)
    g = [s * a - b for a, b in zip(at, cross(at, F), strict=True)]
    return stacked([s, *F, *g])


def _combine(x: Float[Array, "3 t"], m: Float[Array, "7 t"]) -> Float[Array, "3 t"]:
    s, *vectors = components(m)
    at = components(x)
    curl = cross(at, vectors[:3])
    return jnp.stack([c - a * s + g for a, c, g in zip(at, curl, vectors[3:], strict=True)])


FIELD = Kernel("far_field", 3, _moments, _combine, expand=lambda field: field, rank=1)
