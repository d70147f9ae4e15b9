"""A coronagraph, described by its images of sources anywhere in the field of view."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Float32

from .interpolation import MapSpline, map_spline
from .point_images import OffAxisTable, fold, unfold
from .propagation import Instrument, Propagator, quarter_rows, stellar_images

TABLE_SIDE = 18
"""The off-axis table has 18 x 18 = 324 entries."""
DIAMETERS = np.linspace(0.0, 1.2, 13)
"""Angular diameters of stars, in units of wavelength / telescope diameter."""
# Smallest pixel value in a star's image. Logarithms need positive numbers, and a photon counter
# cannot detect so little light.
_FAINTEST = 1e-16


class Coronagraph(eqx.Module):
    """Images of sources of unit flux. Pixels are fractions of the light that falls on the pupil."""

    cube: Float[Array, "quarter quarter size size"]
    """Image of a source at each whole offset in one quadrant; see the module `point_images`."""
    off_axis: Callable
    """A callable such as `OffAxisTable`, from the row and column offset of a source to an image."""
    stellar: MapSpline
    """Logarithm of a star's image, by the star's diameter in the units of `DIAMETERS`."""
    sky_transmission: Float[Array, "size size"]
    """Image of uniform light that has one unit of flux in each pixel of the field."""
    pixel: Float[Array, ""]
    """Side of a pixel, in units of wavelength / telescope diameter."""

    @property
    def size(self) -> int:
        """The number of rows of an image, which is also the number of columns."""
        return self.sky_transmission.shape[0]


def build(instrument: Instrument) -> Coronagraph:
    """Compute all images of an instrument.

    Three things must fit into memory at the same time: the result, the images in one row of
    `Coronagraph.cube`, and the complex fields of these images. The cube is not copied if JAX's
    backend can use NumPy's memory.
    """
    propagator = Propagator(instrument)
    size, quarter = instrument.size, instrument.size // 2 + 1
    offsets = np.arange(quarter) * instrument.pixel
    cube = np.empty((quarter, quarter, size, size), np.float32)
    for row, images in zip(cube, quarter_rows(propagator, offsets), strict=True):
        row[...] = images
    table, positions = _off_axis(propagator)
    stars = np.maximum(stellar_images(propagator, DIAMETERS), _FAINTEST)
    return Coronagraph(
        cube=jax.device_put(cube),
        off_axis=OffAxisTable(jnp.asarray(table), jnp.asarray(positions)),
        stellar=map_spline(DIAMETERS, np.log(stars)),
        sky_transmission=jnp.asarray(_even_light(cube)),
        pixel=jnp.float32(instrument.pixel),
    )


def _off_axis(
    propagator: Propagator,
) -> tuple[Float32[np.ndarray, "324 size size"], Float32[np.ndarray, "324 2"]]:
    side = np.linspace(0.0, propagator.instrument.size / 2, TABLE_SIDE)
    images = np.concatenate(list(quarter_rows(propagator, side * propagator.instrument.pixel)))
    positions = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    return images, positions.astype(np.float32)


def _even_light(cube: Float32[np.ndarray, "q q size size"]) -> Float32[np.ndarray, "size size"]:
    """Return the image of a field of view with a source of unit flux at every whole offset."""
    size = cube.shape[-1]
    quadrants = np.asarray(fold(jnp.ones((size, size), jnp.float32)))
    images = np.zeros((4, size, size), np.float32)
    for i, row in enumerate(cube):
        images += np.tensordot(quadrants[:, i], row, axes=1)
    return np.asarray(unfold(jnp.asarray(images)))
