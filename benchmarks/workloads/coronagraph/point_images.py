"""Images of point sources, and images of extended sources as sums of point images.

Point images vary over the field of view. They are stored only for sources in one quadrant of the
field. One quadrant is enough if the pupil is its own mirror image in rows and in columns, because
mirrored sources then have mirrored images. Sources in the other quadrants are mirrored (folded)
into the first quadrant, and their images are mirrored back.

N is the number of rows, and of columns, of an image. An extended source consists of point sources
at whole offsets -N/2 ... N/2-1 from the centre. The pixels of an image lie at half-integer offsets,
so mirroring an image reverses its array.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

NEIGHBOURS = 4


class OffAxisTable(eqx.Module):
    """Images of point sources in one quadrant; the other three quadrants are mirror images."""

    images: Float[Array, "entries size size"]
    positions: Float[Array, "entries 2"]
    """Row and column offset of each source from the centre, in pixels; never negative."""

    def __call__(self, position: Float[Array, " 2"]) -> Float[Array, "size size"]:
        """Return the image of a source of unit flux; `position` is its row and column offset.

        Offsets are in pixels. First the source is mirrored into the table's quadrant. The images of
        the four nearest sources in the table are shifted to the mirrored position, and averaged.
        The weight of an image is proportional to 1 / (1e-6 + d^2), where d is the distance from the
        image's source to the mirrored position. Negative values of the mean become 0. Then the mean
        is mirrored back.
        """
        place = jnp.abs(position)
        squares = jnp.sum((place - self.positions) ** 2, axis=-1)
        nearness, nearest = jax.lax.top_k(-squares, NEIGHBOURS)
        # The term 1e-6 keeps the weights and their gradients finite. At the position of a source in
        # the table, this source's image has a weight of almost 1.
        weights = 1.0 / (1e-6 - nearness)
        weights /= jnp.sum(weights)
        shifts = place - self.positions[nearest]
        moved = jax.vmap(shifted)(self.images[nearest], shifts)
        image = jnp.maximum(jnp.tensordot(weights, moved, axes=1), 0.0)
        image = jnp.where(position[0] < 0, image[::-1], image)
        return jnp.where(position[1] < 0, image[:, ::-1], image)


def shifted(
    image: Float[Array, "rows columns"], shift: Float[Array, " 2"]
) -> Float[Array, "rows columns"]:
    """Return an image that is shifted by `shift` rows and columns; fractions are allowed.

    Each axis is shifted by a phase factor in its Fourier transform. Before the transform, the axis
    is padded to four times its length. Without padding, light that leaves on one side would return
    on the other side.
    """
    moved = _shifted_along_rows(image, shift[1])
    return _shifted_along_rows(moved.T, shift[0]).T


def _shifted_along_rows(
    image: Float[Array, "rows columns"], shift: Float[Array, ""]
) -> Float[Array, "rows columns"]:
    size = image.shape[1]
    frequencies = jnp.fft.rfftfreq(4 * size).astype(image.dtype)
    angle = -2 * jnp.pi * frequencies * shift
    phase = jax.lax.complex(jnp.cos(angle), jnp.sin(angle))
    spectrum = jnp.fft.rfft(image, n=4 * size) * phase
    return jnp.fft.irfft(spectrum, n=4 * size)[:, :size]


def fold(sources: Float[Array, "size size"]) -> Float[Array, "4 quarter quarter"]:
    """Return the sources of each quadrant, mirrored into the first quadrant.

    The order of the quadrants is (+, +), (+, -), (-, +), (-, -), the signs of the row and column
    offsets. For N x N sources, a quadrant has N/2 + 1 offsets in each direction. The offset 0
    belongs to the sign +, so each source is counted once.
    """
    half = sources.shape[0] // 2
    quadrants = []
    for row_step in (1, -1):
        for column_step in (1, -1):
            # In a reversed array, the offset -1 has the index `half`, so sources at the offset 0
            # are left out.
            part = sources[::row_step, ::column_step][half:, half:]
            pads = [(0, 1) if step > 0 else (1, 0) for step in (row_step, column_step)]
            quadrants.append(jnp.pad(part, pads))
    return jnp.stack(quadrants)


def unfold(images: Float[Array, "4 size size"]) -> Float[Array, "size size"]:
    """Return the image of all sources, given the images of the four folded quadrants."""
    plus_plus, plus_minus, minus_plus, minus_minus = images
    return plus_plus + plus_minus[:, ::-1] + minus_plus[::-1] + minus_minus[::-1, ::-1]


def folded_convolution(
    sources: Float[Array, "size size"], cube: Float[Array, "quarter quarter size size"]
) -> Float[Array, "size size"]:
    """Return the image of an extended source, given its flux at each whole offset.

    ``cube[i, j]`` is the image of a source of unit flux at the offset (i, j).
    """
    return unfold(jnp.einsum("qij,ijxy->qxy", fold(sources), cube))
