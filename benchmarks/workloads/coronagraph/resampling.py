"""Cubic interpolation of images on other grids, from 4 x 4 pixels for each point.

Source of the kernel: R. G. Keys, Cubic convolution interpolation for digital image processing,
IEEE Trans. ASSP 29 (1981) 1153, equation 15, a = -1/2.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float


def keys_weights(fraction: Float[Array, " *grid"]) -> Float[Array, " 4 *grid"]:
    """Return the weights that interpolate samples at -1, 0, 1 and 2 to the position `fraction`.

    The position is between 0 and 1.
    """
    t, s = fraction, 1.0 - fraction
    return jnp.stack(
        [
            -0.5 * t * s * s,
            1.0 + t * t * (1.5 * t - 2.5),
            1.0 + s * s * (1.5 * s - 2.5),
            -0.5 * s * t * t,
        ]
    )


def resample(
    image: Float[Array, "rows columns"],
    coordinates: Float[Array, "2 height width"],
    *,
    area_ratio: Float[Array, ""] | float = 1.0,
) -> Float[Array, "height width"]:
    """Return an image interpolated at other points; values outside the image are zero.

    Parameters
    ----------
    image : array
        Light in each pixel.
    coordinates : array
        Row and column of each point, in pixels of `image`. The middle of the first pixel is at 0.
    area_ratio : float
        Area of a new pixel, in pixels of `image`. Interpolated values are multiplied by this
        ratio, which approximately conserves the sum over all pixels.
    """
    below = jnp.floor(coordinates)
    row_weights, column_weights = jnp.unstack(keys_weights(coordinates - below), axis=1)
    taps = below.astype(jnp.int32) + jnp.arange(-1, 3, dtype=jnp.int32)[:, None, None, None]
    # Indices below 0 would count from the end: replace them by an index beyond the end.
    rows, columns = jnp.unstack(jnp.where(taps < 0, max(image.shape), taps), axis=1)
    values = image.at[rows[:, None], columns[None, :]].get(mode="fill", fill_value=0.0)
    return area_ratio * jnp.einsum("ihw,jhw,ijhw->hw", row_weights, column_weights, values)


def rotated_grid(
    size: int,
    *,
    centre: float,
    image_centre: float,
    scale: Float[Array, ""] | float,
    angle: Float[Array, ""],
) -> Float[Array, "2 size size"]:
    """Return coordinates for `resample` on a square grid that is rotated about its centre.

    Parameters
    ----------
    size : int
        Rows and columns of the new grid.
    centre, image_centre : float
        Index of the centre on the new grid and on the image, the same for rows and columns.
    scale : float
        Side of a new pixel, in pixels of the image.
    angle : float, radians
        Rotation of the scene, from rows towards columns.
    """
    offsets = scale * (jnp.arange(size).astype(angle.dtype) - centre)
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    rows = cosine * offsets[:, None] + sine * offsets[None, :]
    columns = cosine * offsets[None, :] - sine * offsets[:, None]
    return jnp.stack([rows, columns]) + image_centre
