"""Cubic interpolation of maps that depend on one number, and of values on a regular grid."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Float32, Int32
from scipy.interpolate import CubicSpline

from .resampling import keys_weights


class MapSpline(eqx.Module):
    """A map that depends on one number; each pixel is a cubic spline of that number."""

    knots: Float[Array, " n"]
    coefficients: Float[Array, "4 n-1 rows columns"]
    """Coefficients of each piece, the highest power first."""

    def __call__(self, x: Float[Array, ""]) -> Float[Array, "rows columns"]:
        """Return the map at `x`; beyond the knots the first or last piece is extrapolated."""
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
        """Return the value at (x, y); a point beyond the grid gets the value at the grid's edge."""
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
