"""Cubic interpolation of images, of maps that depend on one number, and of values on a grid.

Each interpolated point of an image depends on 4 x 4 pixels. Source of the kernel: R. G. Keys, Cubic
convolution interpolation for digital image processing, IEEE Trans. ASSP 29 (1981) 1153, equation
15, a = -1/2.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Float32, Int32
from scipy.interpolate import CubicSpline


def keys_weights(fraction: Float[Array, " *grid"]) -> Float[Array, " 4 *grid"]:
    """Return the weights of the samples at -1, 0, 1 and 2 for a position between 0 and 1."""
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
    """Return interpolated values of an image at given points; values outside the image are zero.

    `coordinates` are the row and column of each point, in pixels of `image`. The middle of the
    first pixel is at 0. `area_ratio` is the area of a new pixel, in pixels of `image`. Interpolated
    values are multiplied by this ratio, which approximately conserves the sum over all pixels.
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
    """Return coordinates with which `resample` rotates and scales an image.

    The new image has `size` rows and columns. The centre of rotation has row and column
    `image_centre` on the old image, and row and column `centre` on the new image. `scale` is the
    side of a pixel of the new image, in pixels of the old image. The image is rotated by `angle`
    radians, from rows towards columns.
    """
    offsets = scale * (jnp.arange(size).astype(angle.dtype) - centre)
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    rows = cosine * offsets[:, None] + sine * offsets[None, :]
    columns = cosine * offsets[None, :] - sine * offsets[:, None]
    return jnp.stack([rows, columns]) + image_centre


class MapSpline(eqx.Module):
    """A map that depends on one number; each pixel is a cubic spline in this number."""

    knots: Float[Array, " n"]
    coefficients: Float[Array, "4 n-1 rows columns"]
    """Coefficients of each piece of the splines, the highest power first."""

    def __call__(self, x: Float[Array, ""]) -> Float[Array, "rows columns"]:
        """Return the map at `x`; beyond the knots, the first or last piece is extrapolated."""
        piece = jnp.clip(jnp.searchsorted(self.knots, x, side="right") - 1, 0, len(self.knots) - 2)
        c = self.coefficients[:, piece]
        step = x - self.knots[piece]
        return ((c[0] * step + c[1]) * step + c[2]) * step + c[3]


def map_spline(knots: np.ndarray, maps: Float[np.ndarray, "n rows columns"]) -> MapSpline:
    """Return the cubic spline through maps at given knots, with the not-a-knot end condition."""
    coefficients: Float32[np.ndarray, "4 m rows columns"]
    coefficients = CubicSpline(knots, maps, axis=0).c.astype(np.float32)
    return MapSpline(jnp.asarray(knots, jnp.float32), jnp.asarray(coefficients))


class Plane(eqx.Module):
    """Values on a regular grid of two coordinates, interpolated by cubics."""

    values: Float[Array, "n m"]
    start: Float[Array, " 2"]
    step: Float[Array, " 2"]

    def __call__(self, x: Float[Array, ""], y: Float[Array, ""]) -> Float[Array, ""]:
        """Return the value at (x, y); beyond the grid, the value at the grid's nearest edge."""
        place = (jnp.stack([x, y]) - self.start) / self.step
        rows, row_weights = _four_around(place[0], self.values.shape[0])
        columns, column_weights = _four_around(place[1], self.values.shape[1])
        patch = self.values[rows[:, None], columns]
        return row_weights @ patch @ column_weights


def _four_around(
    place: Float[Array, ""], count: int
) -> tuple[Int32[Array, " 4"], Float[Array, " 4"]]:
    """Return indices and weights of the four samples around a position on an axis."""
    place = jnp.clip(place, 0.0, count - 1.0)
    below = jnp.clip(jnp.floor(place).astype(jnp.int32), 0, count - 2)
    weights = keys_weights(place - below.astype(place.dtype))
    return jnp.clip(below + jnp.arange(-1, 3, dtype=jnp.int32), 0, count - 1), weights
