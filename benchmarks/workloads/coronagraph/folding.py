"""Convolution with images that vary over the field, stored for a quarter of it.

A pupil that is its own mirror image in rows and in columns makes mirrored images of mirrored
sources. So the images of one quadrant are enough: the sources of the others are folded into it,
imaged there, and mirrored back.

Sources lie on whole offsets -N/2 ... N/2-1 from the centre, pixels of images on half ones, so that
the mirror image of an image is its array reversed.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float


def fold(sources: Float[Array, "size size"]) -> Float[Array, "4 quarter quarter"]:
    """Return the sources by quadrant: (+, +), (+, -), (-, +), (-, -) in rows and columns.

    A quadrant has N/2 + 1 offsets a side. The two axes belong to the quadrants of the sign +, so
    each source is counted once.
    """
    half = sources.shape[0] // 2
    quadrants = []
    for row_step in (1, -1):
        for column_step in (1, -1):
            # Reversed, the offset -1 has the index `half`, and the axis is left out.
            part = sources[::row_step, ::column_step][half:, half:]
            pads = [(0, 1) if step > 0 else (1, 0) for step in (row_step, column_step)]
            quadrants.append(jnp.pad(part, pads))
    return jnp.stack(quadrants)


def unfold(images: Float[Array, "4 size size"]) -> Float[Array, "size size"]:
    """Return the image of all sources from the images of the folded quadrants."""
    plus_plus, plus_minus, minus_plus, minus_minus = images
    return plus_plus + plus_minus[:, ::-1] + minus_plus[::-1] + minus_minus[::-1, ::-1]


def folded_convolution(
    sources: Float[Array, "size size"], cube: Float[Array, "quarter quarter size size"]
) -> Float[Array, "size size"]:
    """Return the image of extended sources.

    Parameters
    ----------
    sources : array
        Flux at each whole offset.
    cube : array
        ``cube[i, j]`` is the image of a source of unit flux at the offset (i, j).
    """
    return unfold(jnp.einsum("qij,ijxy->qxy", fold(sources), cube))
