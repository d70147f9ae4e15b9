"""An example system: a nearby star with three planets and a dust ring, and a large telescope."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .interpolation import MapSpline, Plane, map_spline
from .kepler import KeplerTable, Orbits, kepler_table
from .model import System
from .optics import Coronagraph, build
from .point_images import OffAxisTable
from .propagation import Instrument
from .scene import Detector, Disk, Observation, Planets, Star, Zodi, lambert_phase_curve

JUPITER_RADIUS = 4.78e-4
"""Radius of Jupiter in astronomical units."""
ARCSECOND = np.pi / 648000.0


def system(size: int) -> System:
    """Return the example system, with images of `size` x `size` pixels and float32 arrays.

    A star like the sun is at a distance of 4 parsec. The star has a ring of dust, and three giant
    planets with semi-major axes below 0.3 astronomical units. The telescope has a diameter of
    39 metres.
    """
    return _system(build(Instrument(size=size)), kepler_table(), size)


def structure() -> Any:
    """Return the pytree structure of a system, which is needed to restore a system from arrays."""
    nothing = [jnp.zeros((1,) * axes, jnp.float32) for axes in range(5)]
    optics = Coronagraph(
        cube=nothing[4],
        off_axis=OffAxisTable(nothing[3], nothing[2]),
        stellar=MapSpline(nothing[1], nothing[4]),
        sky_transmission=nothing[2],
        pixel=nothing[0],
    )
    return jax.tree.structure(_system(optics, kepler_table(2, 2), 4))


def _system(optics: Coronagraph, solve_kepler: KeplerTable, size: int) -> System:
    return System(
        diameter=jnp.float32(39.0),
        throughput=jnp.float32(0.3),
        coronagraph=optics,
        star=Star(flux=_flux(), diameter=_f32(0.0023 * ARCSECOND), distance=_f32(4.0)),
        planets=_planets(solve_kepler),
        disk=Disk(brightness=_ring(size), pixel=_f32(0.8 / size)),
        zodi=Zodi(
            wavelengths=_f32([0.5, 0.7, 1.0, 1.4, 2.0]),
            brightness=_f32([130.0, 150.0, 120.0, 80.0, 45.0]),
        ),
        detector=Detector(pixel_ratio=_f32(0.92), quantum_efficiency=_f32(0.8)),
    )


def observation() -> Observation:
    """Return an observation of 600 seconds on day 12.5.

    The wavelength band is centred at 1.05 micrometres, and has a width of 0.1 micrometres.
    """
    return Observation(
        wavelength=_f32(1.05),
        bandwidth=_f32(0.1),
        time=_f32(12.5),
        roll=_f32(0.35),
        exposure=_f32(600.0),
    )


def _f32(values) -> jnp.ndarray:
    return jnp.asarray(values, jnp.float32)


def _flux() -> Plane:
    """Return the flux of a pulsating black body of 5800 K, by wavelength and time.

    The mean flux at 1.05 micrometres is 4.5e9 photons per second, square metre and micrometre.
    """
    wavelengths = np.linspace(0.5, 2.1, 33)
    times = np.linspace(0.0, 100.0, 41)
    photons = wavelengths**-4 / np.expm1(14387.8 / (wavelengths * 5800.0))
    photons *= 4.5e9 / photons[11]
    pulse = 1.0 + 0.002 * np.sin(2 * np.pi * times / 25.0)
    return Plane(
        values=_f32(photons[:, None] * pulse),
        start=_f32([wavelengths[0], times[0]]),
        step=_f32([wavelengths[1] - wavelengths[0], times[1] - times[0]]),
    )


def _planets(solve_kepler: KeplerTable) -> Planets:
    return Planets(
        orbits=Orbits(
            semi_major_axis=_f32([0.12, 0.19, 0.27]),
            eccentricity=_f32([0.05, 0.2, 0.35]),
            inclination=_f32([0.9, 0.95, 0.85]),
            node=_f32([0.4, 0.5, 0.3]),
            periapsis=_f32([1.1, 4.0, 2.5]),
            mean_anomaly=_f32([5.4, 0.9, 4.4]),
            period=_f32([15.2, 30.2, 51.2]),
        ),
        radius=_f32([JUPITER_RADIUS, 1.1 * JUPITER_RADIUS, 1.2 * JUPITER_RADIUS]),
        phase_curve=lambert_phase_curve(0.5, 181),
        solve_kepler=solve_kepler,
    )


def _ring(size: int) -> MapSpline:
    """Return the brightness of an inclined ring of dust.

    The ring scatters light mainly forwards, and is brighter at longer wavelengths.

    Scattering: L. G. Henyey, J. L. Greenstein, ApJ 93 (1941) 70.
    """
    offsets = (np.arange(size) - (size - 1) / 2) * (0.8 / size)
    north, east = np.meshgrid(offsets, offsets, indexing="ij")
    along = north * np.cos(0.4) + east * np.sin(0.4)
    across = (east * np.cos(0.4) - north * np.sin(0.4)) / np.cos(0.9)
    radius = np.hypot(along, across) + 1e-9
    cosine = across / radius * np.sin(0.9)
    g = 0.35
    scattering = (1 - g * g) / (1 + g * g - 2 * g * cosine) ** 1.5
    profile = np.exp(-0.5 * ((radius - 0.21) / 0.025) ** 2)
    ring = 1.2e-9 * (256 / size) ** 2 * profile * scattering
    wavelengths = np.linspace(0.5, 2.1, 5)
    return map_spline(wavelengths, ring * (wavelengths[:, None, None] / 1.05) ** 0.4)
