"""The scene (a star, planets, a disk, zodiacal light) and an observation of the scene."""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from .kepler import Orbits
from .splines import MapSpline, Plane


class Observation(eqx.Module):
    """The settings of an exposure."""

    wavelength: Float[Array, ""]
    """Micrometres."""
    bandwidth: Float[Array, ""]
    """Micrometres."""
    time: Float[Array, ""]
    """Days."""
    roll: Float[Array, ""]
    """Position angle of the telescope, radians."""
    exposure: Float[Array, ""]
    """Seconds."""


class Star(eqx.Module):
    """The star in the centre."""

    flux: Plane
    """Photons a second, square metre and micrometre, by wavelength and time."""
    diameter: Float[Array, ""]
    """Radians."""
    distance: Float[Array, ""]
    """Parsec."""


class Planets(eqx.Module):
    """Planets that reflect the star's light."""

    orbits: Orbits
    radius: Float[Array, " planets"]
    """Astronomical units."""
    phase_curve: Float[Array, " n"]
    """Geometric albedo times phase function, at phase angles from 0 to pi."""
    solve_kepler: Callable
    """A `kepler.KeplerTable`, or a callable with the same arguments and results."""

    def seen(
        self, time: Float[Array, ""]
    ) -> tuple[Float[Array, "planets 2"], Float[Array, " planets"]]:
        """Return the planets' positions in the sky, and their brightnesses.

        Positions are north and east of the star, in astronomical units. Brightnesses are relative
        to the star.
        """

        def one(orbit: Orbits, radius: Array) -> tuple[Array, Array]:
            place = orbit.position(time, self.solve_kepler)
            distance = jnp.sqrt(jnp.sum(place * place))
            # Away from us and fully lit: phase angle 0.
            angle = jnp.arccos(jnp.clip(place[2] / distance, -1.0, 1.0))
            angles = jnp.linspace(0.0, jnp.pi, len(self.phase_curve), dtype=angle.dtype)
            phase = jnp.interp(angle, angles, self.phase_curve)
            return place[:2], phase * (radius / distance) ** 2

        return jax.vmap(one)(self.orbits, self.radius)


class Disk(eqx.Module):
    """Dust round the star."""

    brightness: MapSpline
    """Brightness in each pixel of a map, relative to the star, by wavelength in micrometres."""
    pixel: Float[Array, ""]
    """Side of a pixel of the map, astronomical units."""


class Zodi(eqx.Module):
    """Light of the dust in our own system, uniform over the field."""

    wavelengths: Float[Array, " n"]
    """Micrometres."""
    brightness: Float[Array, " n"]
    """Photons a second, square metre, micrometre and square arcsecond."""


def lambert_phase_curve(albedo: float, samples: int) -> Float[Array, " n"]:
    """Return the phase curve of a sphere that scatters evenly, at phase angles 0 to pi.

    Source: V. V. Sobolev, Light scattering in planetary atmospheres (1975), section 9.3.
    """
    angle = jnp.linspace(0.0, jnp.pi, samples, dtype=jnp.float32)
    return albedo / jnp.pi * (jnp.sin(angle) + (jnp.pi - angle) * jnp.cos(angle))
