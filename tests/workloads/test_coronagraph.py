"""The coronagraph's physics: conservation of light, symmetry, statistics, gradients."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.workloads import coronagraph
from benchmarks.workloads.coronagraph.interpolation import resample
from benchmarks.workloads.coronagraph.kepler import kepler_table
from benchmarks.workloads.coronagraph.point_images import folded_convolution
from benchmarks.workloads.coronagraph.propagation import Instrument, Propagator
from benchmarks.workloads.coronagraph.scene import Detector

pytestmark = pytest.mark.usefixtures("full_precision")

SIZE = 16


@pytest.fixture(scope="module")
def system():
    return coronagraph.system(SIZE)


@pytest.fixture(scope="module")
def propagator():
    return Propagator(Instrument(size=SIZE))


@pytest.fixture(scope="module")
def period():
    """Return a propagator to which Parseval's theorem applies exactly.

    Its images cover a whole period of the Fourier transform of the pupil.
    """
    return Propagator(Instrument(size=64, field_of_view=64.0))


_jitted_resample = jax.jit(resample)
_jitted_folded = jax.jit(folded_convolution)
_jitted_counts = jax.jit(Detector.counts)


def doubled(tree):
    """Return a pytree in double precision."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64), tree)


def energy(fields, pupil_samples):
    """Return the energies of fields in the pupil, divided by the light that falls on the pupil."""
    return np.sum(np.abs(fields) ** 2, axis=(1, 2)) / pupil_samples


def test_all_light_behind_the_stop_reaches_the_image(period):
    sources = np.array([[0.0, 0.0], [1.3, 0.4], [7.0, -11.5]])
    behind = energy(period.at_stop(sources), np.count_nonzero(period.entrance))
    np.testing.assert_allclose(period.images(sources).sum(axis=(1, 2)), behind, rtol=1e-5)


def test_the_mask_blocks_the_star_and_passes_a_source_beside_the_mask(period):
    star, other = period.images(np.array([[0.0, 0.0], [9.0, 6.0]])).sum(axis=(1, 2))
    free = energy((period.entrance * period.stop)[None], np.count_nonzero(period.entrance))
    assert star < 1e-4 * free
    assert 0.95 < other / free < 1.05


def test_a_source_is_imaged_at_its_position(propagator):
    # The source is a quarter of a pixel off the middle of row 11 and of column 4.
    offsets = np.array([11.25, 4.25]) - (SIZE - 1) / 2
    image = propagator.images((offsets * propagator.instrument.pixel)[None])[0]
    assert np.unravel_index(image.argmax(), image.shape) == (11, 4)


def test_a_resampled_image_is_zero_beyond_the_edges_of_the_image():
    rows, columns = np.meshgrid(np.arange(4.0), np.arange(4.0), indexing="ij")
    away = jnp.asarray(np.stack([rows, columns])) + 100.0
    for grid in (away, -away):
        assert not np.any(_jitted_resample(jnp.ones((8, 8)), grid))


def test_the_folded_convolution_equals_the_sum_over_images_of_all_four_quadrants(
    system, propagator
):
    offsets = (np.arange(SIZE) - SIZE // 2) * propagator.instrument.pixel
    places = np.stack(np.meshgrid(offsets, offsets, indexing="ij"), axis=-1).reshape(-1, 2)
    sources = np.random.default_rng(2).uniform(size=SIZE * SIZE).astype(np.float32)
    full = np.tensordot(sources, propagator.images(places), axes=1)
    folded = _jitted_folded(jnp.asarray(sources.reshape(SIZE, SIZE)), system.coronagraph.cube)
    np.testing.assert_allclose(folded, full, atol=1e-5 * full.max())


def test_the_sky_transmission_is_the_image_of_one_unit_of_flux_everywhere(system):
    optics = system.coronagraph
    even = _jitted_folded(jnp.ones((SIZE, SIZE), jnp.float32), optics.cube)
    np.testing.assert_allclose(optics.sky_transmission, even, rtol=1e-5)
    # The mask blocks light in the middle.
    assert optics.sky_transmission[SIZE // 2, SIZE // 2] < optics.sky_transmission.max()


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_the_off_axis_table_gives_the_images_of_an_entry_in_all_four_quadrants(
    system, propagator, signs
):
    table = system.coronagraph.off_axis
    place = table.positions[18 * 9 + 12] * jnp.asarray(signs, jnp.float32)
    expected = propagator.images(np.asarray(place, float)[None] * propagator.instrument.pixel)[0]
    np.testing.assert_allclose(table(place), expected, atol=1e-5 * expected.max())


def test_larger_stars_leak_more_light_and_a_star_of_size_zero_is_a_point(system, propagator):
    stellar = system.coronagraph.stellar
    leaks = [float(jnp.exp(stellar(d)).sum()) for d in stellar.knots]
    assert np.all(np.diff(leaks) > 0)
    point = propagator.images(np.zeros((1, 2)))[0]
    np.testing.assert_allclose(jnp.exp(stellar(stellar.knots[0])), point, atol=1e-3 * point.max())


def test_the_kepler_table_solves_keplers_equation():
    e, anomaly = np.meshgrid(np.linspace(0, 0.7, 16), np.linspace(-7, 20, 600), indexing="ij")
    turns = (anomaly - e * np.sin(anomaly)) / (2 * np.pi)
    given = jnp.asarray(turns.ravel()), jnp.asarray(e.ravel())
    sine, cosine = jax.jit(jax.vmap(doubled(kepler_table())))(*given)
    error = np.hypot(sine - np.sin(anomaly).ravel(), cosine - np.cos(anomaly).ravel())
    # The error of linear interpolation is an eighth of the curvature times the squared step.
    assert error.max() < 2e-5


@pytest.mark.parametrize("eccentricity", [-0.1, 0.81, 1.2, np.nan])
def test_an_eccentricity_outside_the_table_gives_nan(eccentricity):
    table = kepler_table(3, 5)
    found = table(jnp.float32(0.3), jnp.float32(eccentricity))
    assert np.all(np.isnan(found))
    assert np.all(np.isfinite(table(jnp.float32(0.3), jnp.float32(0.8))))


@pytest.mark.parametrize("rate", [0.02, 3.0, 400.0])
def test_counts_have_the_mean_and_variance_of_a_poisson_distribution(rate):
    detector = Detector(jnp.float32(1.0), jnp.float32(0.8))
    rates = jnp.full((200, 200), rate, jnp.float32)
    counts = np.asarray(_jitted_counts(detector, rates, jnp.float32(2.0), jax.random.key(5)))
    assert counts.dtype == np.int32 and counts.min() >= 0
    mean, number = 0.8 * rate * 2.0, counts.size
    # The limits are five standard errors. The fourth moment gives the standard error of a variance.
    assert abs(counts.mean() - mean) < 5 * np.sqrt(mean / number)
    assert abs(counts.var() - mean) < 5 * np.sqrt((mean + 2 * mean**2) / number)


def test_gradients_of_the_total_rate_map_agree_with_finite_differences(system):
    double, observation = doubled((system, coronagraph.observation()))
    weights = jnp.asarray(np.random.default_rng(3).uniform(size=(SIZE, SIZE)))

    def where(tree):
        s, o = tree
        return (
            s.star.diameter,
            s.planets.orbits.semi_major_axis,
            s.planets.orbits.mean_anomaly,
            s.disk.brightness.coefficients,
            o.wavelength,
            o.roll,
        )

    def loss(chosen):
        s, o = eqx.tree_at(where, (double, observation), chosen)
        return jnp.sum(weights * coronagraph.rate_maps(s, o).total)

    chosen = where((double, observation))
    value_and_grad = jax.jit(jax.value_and_grad(loss))
    _, gradient = value_and_grad(chosen)
    for index, leaf in enumerate(chosen):
        direction = jnp.asarray(np.random.default_rng(index).normal(size=leaf.shape))
        direction *= jnp.where(leaf == 0, 1e-9, jnp.abs(leaf))
        step = 1e-6
        after, before = (
            value_and_grad((*chosen[:index], leaf + move * direction, *chosen[index + 1 :]))[0]
            for move in (step, -step)
        )
        difference = (after - before) / (2 * step)
        assert difference != 0
        np.testing.assert_allclose(jnp.vdot(gradient[index], direction), difference, rtol=1e-5)


def test_known_rate_maps_are_not_computed_again(system):
    two = jnp.full((SIZE, SIZE), 2.0, jnp.float32)
    known = {"star": two, "planets": two, "disk": two}

    def with_known(system, known):
        return coronagraph.rate_maps(system, coronagraph.observation(), known=known)

    program = str(jax.make_jaxpr(with_known)(system, known))
    # The gather is in the map of the zodiacal light, which is not known.
    assert "fft" not in program and "top_k" not in program and "gather" in program
    maps = jax.jit(with_known)(system, known)
    assert all(np.all(getattr(maps, part) == 2.0) for part in known)


def test_all_leaves_are_single_precision_and_contain_the_large_arrays(system):
    leaves = jax.tree.leaves(system)
    assert all(leaf.dtype == np.float32 for leaf in leaves)
    shapes = {leaf.shape for leaf in leaves}
    quarter = SIZE // 2 + 1
    assert {(quarter, quarter, SIZE, SIZE), (324, SIZE, SIZE), (4, 12, SIZE, SIZE)} <= shapes
    assert (2, 513, 2049) in shapes


def test_a_system_is_restored_from_its_arrays(system):
    arrays, structure = jax.tree.flatten(system)
    assert coronagraph.structure() == structure
    assert jax.tree.unflatten(coronagraph.structure(), arrays).coronagraph.size == SIZE


@pytest.mark.parametrize("size", [15, 2, 0])
def test_an_odd_or_too_small_size_is_refused(size):
    with pytest.raises(ValueError, match=f"size={size}; give an even number, 4 or more"):
        coronagraph.system(size)
