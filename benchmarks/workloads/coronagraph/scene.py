"""The scene (a star, planets, a disk, zodiacal light), its observation, and a photon counter."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from .interpolation import MapSpline, Plane
from .kepler import Orbits


class Observation(eqx.Module):
    """The settings of an exposure."""

    wavelength: Float[Array, ""]
    """Wavelength in micrometres."""
    bandwidth: Float[Array, ""]
    """Width of the wavelength band in micrometres."""
    time: Float[Array, ""]
    """Time at which the exposure is made, in days."""
    roll: Float[Array, ""]
    """Position angle of the telescope in radians."""
    exposure: Float[Array, ""]
    """Duration of the exposure in seconds."""


class Star(eqx.Module):
    """The star in the centre of the scene."""

    flux: Plane
    """Photons per second, square metre and micrometre, by wavelength and time."""
    diameter: Float[Array, ""]
    """Angular diameter in radians."""
    distance: Float[Array, ""]
    """Distance from us in parsec."""


class Planets(eqx.Module):
    """Planets that reflect the star's light."""

    orbits: Orbits
    radius: Float[Array, " planets"]
    """Radii in astronomical units."""
    phase_curve: Float[Array, " n"]
    """Geometric albedo times phase function, at equally spaced phase angles from 0 to pi."""
    solve_kepler: Callable
    """A `kepler.KeplerTable`, or a callable with the same arguments and results."""

    def seen(
        self, time: Float[Array, ""]
    ) -> tuple[Float[Array, "planets 2"], Float[Array, " planets"]]:
        """Return the positions and the brightnesses of the planets at `time`, which is in days.

        Positions are offsets to the north and to the east of the star, in astronomical units.
        Brightnesses are relative to the star.
        """

        def one(orbit: Orbits, radius: Array) -> tuple[Array, Array]:
            place = orbit.position(time, self.solve_kepler)
            distance = jnp.sqrt(jnp.sum(place * place))
            # A planet directly behind the star is fully lit: phase angle 0.
            angle = jnp.arccos(jnp.clip(place[2] / distance, -1.0, 1.0))
            angles = jnp.linspace(0.0, jnp.pi, len(self.phase_curve), dtype=angle.dtype)
            phase = jnp.interp(angle, angles, self.phase_curve)
            return place[:2], phase * (radius / distance) ** 2

        return jax.vmap(one)(self.orbits, self.radius)


class Disk(eqx.Module):
    """Dust around the star."""

    brightness: MapSpline
    """Photons from each pixel of the map, per photon from the star.

    The map depends on the wavelength, in micrometres.
    """
    pixel: Float[Array, ""]
    """Side of a pixel of the map in astronomical units."""


class Zodi(eqx.Module):
    """Light scattered by dust in our solar system, uniform over the field of view."""

    wavelengths: Float[Array, " n"]
    """Wavelengths at which `brightness` is given, in micrometres."""
    brightness: Float[Array, " n"]
    """Photons per second, square metre, micrometre and square arcsecond."""


class Detector(eqx.Module):
    """A photon counter."""

    pixel_ratio: Float[Array, ""]
    """Side of a pixel of the detector, in pixels of the optics' image."""
    quantum_efficiency: Float[Array, ""]
    """Probability that a photon is counted."""

    def counts(
        self,
        rate: Float[Array, "size size"],
        exposure: Float[Array, ""],
        key: Key[Array, ""],
    ) -> Int[Array, "size size"]:
        """Draw a random number of counted photons for each pixel.

        `rate` has the mean number of photons per second in each pixel, 0 or more. `exposure` is the
        duration of the exposure in seconds.
        """
        arriving, counting = jax.random.split(key)
        mean = rate * exposure
        photons = jax.random.poisson(arriving, mean, dtype=jnp.int32).astype(rate.dtype)
        q = self.quantum_efficiency.astype(rate.dtype)
        counted = jax.random.binomial(counting, photons, q, dtype=rate.dtype)
        return counted.astype(jnp.int32)


def lambert_phase_curve(albedo: float, samples: int) -> Float[Array, " n"]:
    """Return the phase curve of a Lambert sphere, at equally spaced phase angles from 0 to pi.

    `albedo` is the geometric albedo.

    Source: V. V. Sobolev, Light scattering in planetary atmospheres (1975), section 9.3.
    """
    angle = jnp.linspace(0.0, jnp.pi, samples, dtype=jnp.float32)
    return albedo / jnp.pi * (jnp.sin(angle) + (jnp.pi - angle) * jnp.cos(angle))
