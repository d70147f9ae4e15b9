"""Images of extended sources, as sums of point images that vary over the field of view.

The point images are stored only for sources in one quadrant of the field. This is enough if the
pupil is its own mirror image in rows and in columns, because mirrored sources then have mirrored
images. Sources in the other quadrants are folded into the first quadrant, and their images are
mirrored back.

N is the number of rows, and of columns, of an image. Sources lie at whole offsets -N/2 ... N/2-1
from the centre. The pixels of an image lie at half-integer offsets, so mirroring an image reverses
its array.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float


def fold(sources: Float[Array, "size size"]) -> Float[Array, "4 quarter quarter"]:
    """Return the sources of each quadrant, mirrored into the first quadrant.

    The order of the quadrants is (+, +), (+, -), (-, +), (-, -), the signs of the row and column
    offsets. For N x N sources a quadrant has N/2 + 1 offsets in each direction. Sources on an axis
    belong to the quadrants with the sign +, so each source is counted once.
    """
    half = sources.shape[0] // 2
    quadrants = []
    for row_step in (1, -1):
        for column_step in (1, -1):
            # In a reversed array the offset -1 has the index `half`, so sources on the axis
            # (offset 0) are left out.
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
    """Return the image of extended sources, given their flux at each whole offset.

    ``cube[i, j]`` is the image of a source of unit flux at the offset (i, j).
    """
    return unfold(jnp.einsum("qij,ijxy->qxy", fold(sources), cube))
