"""Compare every rate map of the coronagraph with a plain NumPy program of the same formulas.

The program, called the reference here, computes in double precision. It uses loops instead of
gathers, SciPy for splines and for Kepler's table, and the images of all four quadrants instead of
folded sources. It gets the model's arrays, but uses none of the model's code.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PPoly, RegularGridInterpolator

from benchmarks.workloads import coronagraph

pytestmark = pytest.mark.usefixtures("full_precision")

ARCSECONDS = 180 * 3600 / np.pi
LARGEST_DIFFERENCE = 1e-5


def keys(x):
    """Return Keys' kernel with a = -1/2 at `x`."""
    x = abs(x)
    if x < 1:
        return 1.5 * x**3 - 2.5 * x**2 + 1
    return -0.5 * x**3 + 2.5 * x**2 - 4 * x + 2 if x < 2 else 0.0


def resampled(image, size, *, centre, image_centre, scale, angle):
    result = np.zeros((size, size))
    for i, j in np.ndindex(size, size):
        y, x = scale * (i - centre), scale * (j - centre)
        row = np.cos(angle) * y + np.sin(angle) * x + image_centre
        column = np.cos(angle) * x - np.sin(angle) * y + image_centre
        for r in range(int(np.floor(row)) - 1, int(np.floor(row)) + 3):
            for c in range(int(np.floor(column)) - 1, int(np.floor(column)) + 3):
                if 0 <= r < len(image) and 0 <= c < len(image):
                    result[i, j] += keys(row - r) * keys(column - c) * image[r, c]
    return scale**2 * result


def on_detector(s, image):
    centre = (len(image) - 1) / 2
    ratio = s.detector.pixel_ratio
    return resampled(image, len(image), centre=centre, image_centre=centre, scale=ratio, angle=0.0)


def spline(maps, x):
    return PPoly(maps.coefficients, maps.knots)(x)


def collected(s, o):
    return o.bandwidth * np.pi / 4 * s.diameter**2 * s.throughput


def stellar_photons(s, o):
    flux = s.star.flux
    row, column = (np.array([o.wavelength, o.time]) - flux.start) / flux.step
    total = 0.0
    for i in range(int(row) - 1, int(row) + 3):
        for j in range(int(column) - 1, int(column) + 3):
            total += keys(row - i) * keys(column - j) * flux.values[i, j]
    return total * collected(s, o)


def resolution(s, o):
    return o.wavelength * 1e-6 / s.diameter


def pixel_au(s, o):
    return s.coronagraph.pixel * resolution(s, o) * ARCSECONDS * s.star.distance


def star(s, o):
    image = np.exp(spline(s.coronagraph.stellar, s.star.diameter / resolution(s, o)))
    return stellar_photons(s, o) * on_detector(s, image)


def off_axis(table, position):
    place = np.abs(position)
    squares = [np.sum((place - entry) ** 2) for entry in table.positions]
    nearest = sorted(range(len(squares)), key=lambda n: squares[n])[:4]
    weights = np.array([1 / (1e-6 + squares[n]) for n in nearest])
    size = table.images.shape[1]
    k = np.fft.fftfreq(4 * size)
    result = np.zeros((size, size))
    for weight, n in zip(weights / weights.sum(), nearest, strict=True):
        moved = table.images[n]
        for axis in (1, 0):
            phase = np.exp(-2j * np.pi * k * (place - table.positions[n])[axis])
            phase = np.expand_dims(phase, 1 - axis)
            padded = np.fft.ifft(np.fft.fft(moved, 4 * size, axis) * phase, axis=axis).real
            moved = padded.take(range(size), axis)
        result += weight * moved
    result = np.maximum(result, 0)
    return result[:: -1 if position[0] < 0 else 1, :: -1 if position[1] < 0 else 1]


def planets(s, o):
    orbits = s.planets.orbits
    table = s.planets.solve_kepler.values
    axes = (np.linspace(0, 0.8, table.shape[1]), np.linspace(0, 2 * np.pi, table.shape[2]))
    curve = s.planets.phase_curve
    image = 0.0
    for n, radius in enumerate(s.planets.radius):
        a, e, i = orbits.semi_major_axis[n], orbits.eccentricity[n], orbits.inclination[n]
        mean = (orbits.mean_anomaly[n] + 2 * np.pi * o.time / orbits.period[n]) % (2 * np.pi)
        sine, cosine = (RegularGridInterpolator(axes, part)((e, mean)) for part in table)
        along, across = a * (cosine - e), a * np.sqrt(1 - e**2) * sine
        true, r = np.arctan2(across, along), np.hypot(along, across)
        argument, node = orbits.periapsis[n] + true, orbits.node[n]
        north = r * (np.cos(node) * np.cos(argument) - np.sin(node) * np.sin(argument) * np.cos(i))
        east = r * (np.sin(node) * np.cos(argument) + np.cos(node) * np.sin(argument) * np.cos(i))
        phase_angle = np.arccos(np.sin(argument) * np.sin(i))
        phase = np.interp(phase_angle, np.linspace(0, np.pi, len(curve)), curve)
        # If the telescope rolls, the sky rotates in the opposite direction in the images.
        row = np.cos(o.roll) * north + np.sin(o.roll) * east
        column = np.cos(o.roll) * east - np.sin(o.roll) * north
        position = np.array([row, column]) / pixel_au(s, o)
        image = image + phase * (radius / r) ** 2 * off_axis(s.coronagraph.off_axis, position)
    return stellar_photons(s, o) * on_detector(s, image)


def disk(s, o):
    brightness = spline(s.disk.brightness, o.wavelength)
    cube = s.coronagraph.cube
    size = cube.shape[-1]
    sources = resampled(
        brightness,
        size,
        centre=size / 2,
        image_centre=(len(brightness) - 1) / 2,
        scale=pixel_au(s, o) / s.disk.pixel,
        angle=-o.roll,
    )
    image = np.zeros((size, size))
    for i, j in np.ndindex(size, size):
        y, x = i - size // 2, j - size // 2
        stored = cube[abs(y), abs(x)]
        image += sources[i, j] * stored[:: -1 if y < 0 else 1, :: -1 if x < 0 else 1]
    return stellar_photons(s, o) * on_detector(s, image)


def zodi(s, o):
    pixel = s.coronagraph.pixel * resolution(s, o) * ARCSECONDS
    brightness = np.interp(o.wavelength, s.zodi.wavelengths, s.zodi.brightness)
    return brightness * pixel**2 * collected(s, o) * on_detector(s, s.coronagraph.sky_transmission)


REFERENCE = {"star": star, "planets": planets, "disk": disk, "zodi": zodi}


@pytest.fixture(scope="module")
def sides():
    """Return the maps of the model, in float32, and then the maps of the reference."""
    system, observation = coronagraph.system(32), coronagraph.observation()
    maps = jax.jit(coronagraph.rate_maps)(system, observation)
    double = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), (system, observation))
    return maps, {part: reference(*double) for part, reference in REFERENCE.items()}


@pytest.mark.parametrize("part", REFERENCE)
def test_each_map_equals_the_reference_within_1e_5_of_its_maximum(sides, part):
    ours, plain = getattr(sides[0], part), sides[1][part]
    assert ours.dtype == np.float32 and plain.dtype == np.float64
    assert plain.max() > 0
    assert np.abs(np.asarray(ours, np.float64) - plain).max() <= LARGEST_DIFFERENCE * plain.max()


def test_the_total_is_the_sum_of_the_maps_without_negative_values(sides):
    maps, plain = sides
    total = np.sum([np.maximum(part, 0) for part in plain.values()], axis=0)
    assert np.abs(np.asarray(maps.total) - total).max() <= LARGEST_DIFFERENCE * total.max()
    assert np.asarray(maps.total).min() >= 0


def test_images_of_stars_are_a_cubic_spline_through_the_images_at_the_knots():
    stellar = coronagraph.system(16).coronagraph.stellar
    knots = np.asarray(stellar.knots)
    middles = 0.5 * (knots[1:] + knots[:-1])
    expected = CubicSpline(knots, spline(stellar, knots))(middles)
    np.testing.assert_allclose(jax.vmap(stellar)(jnp.asarray(middles)), expected, rtol=1e-5)
