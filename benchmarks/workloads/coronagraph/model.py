"""Compute rate maps from a system and an observation, and a frame from the rate maps.

A rate map has the photons per second in each pixel. A frame is an exposure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from .interpolation import resample, rotated_grid
from .optics import Coronagraph
from .point_images import folded_convolution
from .scene import Detector, Disk, Observation, Planets, Star, Zodi

ARCSECONDS = 648000.0 / jnp.pi
"""Arcseconds in a radian, and astronomical units in a parsec."""
MICROMETRES = 1e6


class System(eqx.Module):
    """Everything that is the same for all exposures."""

    diameter: Float[Array, ""]
    """Diameter of the telescope in metres."""
    throughput: Float[Array, ""]
    """Throughput of everything except coronagraph and detector."""
    coronagraph: Coronagraph
    star: Star
    planets: Planets
    disk: Disk
    zodi: Zodi
    detector: Detector


class RateMaps(NamedTuple):
    """Photons per second in each pixel of the detector, for each source of light."""

    star: Float[Array, "size size"]
    planets: Float[Array, "size size"]
    disk: Float[Array, "size size"]
    zodi: Float[Array, "size size"]

    @property
    def total(self) -> Float[Array, "size size"]:
        """The sum of the maps; negative values, which come from interpolation, count as zero."""
        return jnp.sum(jnp.maximum(jnp.stack(self), 0.0), axis=0)


class Frame(NamedTuple):
    """An exposure: the counted photons, and the expected photons per second, in each pixel."""

    counts: Int[Array, "size size"]
    rate: Float[Array, "size size"]


def frame(
    system: System,
    observation: Observation,
    key: Key[Array, ""],
    *,
    known: Mapping[str, Float[Array, "size size"]] | None = None,
) -> Frame:
    """Return a random exposure and its expected rate.

    `known` has rate maps that are not computed again, by their names in `RateMaps`.
    """
    rate = rate_maps(system, observation, known=known).total
    counts = system.detector.counts(rate, observation.exposure, key)
    return Frame(counts, rate)


def rate_maps(
    system: System,
    observation: Observation,
    *,
    known: Mapping[str, Float[Array, "size size"]] | None = None,
) -> RateMaps:
    """Return the rate maps of the four sources; maps in `known` are not computed again."""
    made = dict(known or {})
    for part in RateMaps._fields:
        if part not in made:
            with jax.named_scope(part):
                made[part] = _RATES[part](system, observation)
    return RateMaps(**made)


def star_rate(system: System, observation: Observation) -> Float[Array, "size size"]:
    """Return the rate map of the starlight that the coronagraph lets through."""
    diameters = system.star.diameter / _resolution(system, observation)
    image = jnp.exp(system.coronagraph.stellar(diameters))
    return _stellar_photons(system, observation) * _on_detector(system, image)


def planets_rate(system: System, observation: Observation) -> Float[Array, "size size"]:
    """Return the rate map of the planets."""
    places, contrasts = system.planets.seen(observation.time)
    offsets = _turned(places, -observation.roll) / _pixel_au(system, observation)
    images = jax.vmap(system.coronagraph.off_axis)(offsets)
    image = jnp.einsum("i,ijk->jk", contrasts, images)
    return _stellar_photons(system, observation) * _on_detector(system, image)


def disk_rate(system: System, observation: Observation) -> Float[Array, "size size"]:
    """Return the rate map of the disk, which is the sum of the images of the disk's points.

    The image of a point depends on the position of the point, so the sum is not a convolution.
    """
    brightness = system.disk.brightness(observation.wavelength)
    scale = _pixel_au(system, observation) / system.disk.pixel
    grid = rotated_grid(
        system.coronagraph.size,
        centre=system.coronagraph.size / 2,
        image_centre=(brightness.shape[0] - 1) / 2,
        scale=scale,
        angle=-observation.roll,
    )
    sources = resample(brightness, grid, area_ratio=scale**2)
    image = folded_convolution(sources, system.coronagraph.cube)
    return _stellar_photons(system, observation) * _on_detector(system, image)


def zodi_rate(system: System, observation: Observation) -> Float[Array, "size size"]:
    """Return the rate map of the zodiacal light."""
    zodi, optics = system.zodi, system.coronagraph
    brightness = jnp.interp(observation.wavelength, zodi.wavelengths, zodi.brightness)
    pixel = optics.pixel * _resolution(system, observation) * ARCSECONDS
    photons = brightness * pixel**2 * _collected(system, observation)
    return photons * _on_detector(system, optics.sky_transmission)


_RATES = {"star": star_rate, "planets": planets_rate, "disk": disk_rate, "zodi": zodi_rate}


def _collected(system: System, observation: Observation) -> Float[Array, ""]:
    """Return the photons per second for a flux of 1: bandwidth times area times throughput."""
    area = jnp.pi / 4 * system.diameter**2
    return observation.bandwidth * area * system.throughput


def _stellar_photons(system: System, observation: Observation) -> Float[Array, ""]:
    flux = system.star.flux(observation.wavelength, observation.time)
    return flux * _collected(system, observation)


def _resolution(system: System, observation: Observation) -> Float[Array, ""]:
    """Return the wavelength divided by the telescope's diameter, in radians."""
    return observation.wavelength / MICROMETRES / system.diameter


def _pixel_au(system: System, observation: Observation) -> Float[Array, ""]:
    """Return the side of the coronagraph's pixels, in astronomical units at the star's distance."""
    angle = system.coronagraph.pixel * _resolution(system, observation)
    return angle * ARCSECONDS * system.star.distance


def _turned(places: Float[Array, "n 2"], angle: Float[Array, ""]) -> Float[Array, "n 2"]:
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    return places @ jnp.array([[cosine, sine], [-sine, cosine]])


def _on_detector(system: System, image: Float[Array, "size size"]) -> Float[Array, "size size"]:
    size, ratio = image.shape[0], system.detector.pixel_ratio
    centre = (size - 1) / 2
    grid = rotated_grid(
        size, centre=centre, image_centre=centre, scale=ratio, angle=jnp.zeros((), ratio.dtype)
    )
    return resample(image, grid, area_ratio=ratio**2)
