"""The far sum: its tiles and blocks, and its values and derivatives against plain formulas."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.vcjax.common import SMALL_RULE, turn
from vcjax._geometry.symmetry import rotation
from vcjax._kernels import far, pairs
from vcjax._kernels.far import FIELD, block_shape, far_sum
from vcjax._kernels.pairs import pair_product, pair_weights
from vcjax._options import Tiles

TURNS = np.moveaxis(rotation(2 * np.pi / 3 * np.arange(3)), 2, 0)


def plain_sum(targets, sources, normals, B, nfp):
    total = np.zeros_like(targets)
    for k in range(nfp):
        y, n, b = ((turn(2 * np.pi * k / nfp) @ v).T for v in (sources, normals, B))
        r = targets[:, None] - y
        distance = np.linalg.norm(r, axis=2)
        distance[distance < 1e-9] = np.inf
        kernel = np.cross(b, np.cross(n, r)) - b * (n * r).sum(2)[..., None]
        total += (kernel / distance[..., None] ** 3).sum(axis=1) / (4 * np.pi)
    return total


@pytest.mark.parametrize("tiles", [(7, 5), (10_000, 10_000), (1, 1)])
def test_the_far_field_equals_the_plain_sum_for_any_tiles(tiles):
    rng = np.random.default_rng(2)
    sources, normals, B = rng.normal(size=(3, 3, 50)) + np.array([4.0, 0, 0])[:, None]
    targets = np.concatenate([sources.T[::9], rng.normal(size=(4, 3)) + [4.0, 0, 0]])
    grids = (v.reshape(3, 5, 10) for v in (sources, normals, B))
    result = jax.jit(partial(far_sum, FIELD, SMALL_RULE, Tiles(*tiles)))(targets, *grids, TURNS)
    expected = plain_sum(targets, sources, normals, B, 3)
    np.testing.assert_allclose(result.T, expected, rtol=1e-11, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("largest", [1, 7, 512, 10**6])
@pytest.mark.parametrize("aspect", [1e-4, 0.3, 1.0, 50.0])
def test_blocks_have_at_most_the_allowed_number_of_nodes(largest, aspect):
    for grid in ((1, 1), (80, 120), (7, 1000)):
        high, wide = block_shape(grid, largest, aspect)
        assert 1 <= high <= grid[0] and 1 <= wide <= grid[1]
        assert high * wide <= largest


def test_a_kernel_can_limit_the_size_of_blocks(monkeypatch):
    seen = []
    source_blocks = far._source_blocks
    monkeypatch.setattr(
        far, "_source_blocks", lambda *given: seen.append(given[3]) or source_blocks(*given)
    )
    rng = np.random.default_rng(5)
    given = rng.normal(size=(4, 3)), *rng.normal(size=(3, 3, 5, 10)), TURNS
    for sources in (2**31 - 1, 20):
        limited = FIELD._replace(largest_block=40)
        jax.eval_shape(partial(far_sum, limited, SMALL_RULE, Tiles(sources, 6)), *given)
    assert seen == [40, 20]


@pytest.mark.parametrize("count, tiles", [(1, 1), (2, 2), (7, 2)])
def test_two_or_more_targets_are_divided_into_at_least_two_tiles(count, tiles):
    """A loop over a single tile takes four times as long."""
    turns = np.moveaxis(rotation(np.pi * np.arange(2)), 2, 0)
    turned = jax.eval_shape(
        lambda x, turns: far._turned_tiles(x, turns, 1000), np.ones((count, 3)), turns
    )
    assert turned.shape[0] == tiles


def plain_tile(power, x, y, moments):
    square = ((x[:, :, None] - y[:, None]) ** 2).sum(axis=0)
    apart = square > 0
    return jnp.where(apart, jnp.where(apart, square, 1.0) ** (-power / 2), 0.0) @ moments.T


def tile(power, x, y, moments):
    return pair_product(pair_weights(power, x, y, jnp.zeros(())), moments)


@pytest.mark.parametrize("avx512", [True, False])
@pytest.mark.parametrize("power", [3, 5])
def test_a_tile_has_the_first_and_second_derivatives_of_the_plain_formula(
    monkeypatch, power, avx512
):
    monkeypatch.setattr(pairs, "has_avx512", lambda: avx512)
    rng = np.random.default_rng(3)
    x, y, moments = given = [rng.normal(size=shape) for shape in ((3, 4), (3, 5), (2, 5))]
    x[:, 1] = y[:, 2]  # a target that is a source

    def derivatives(values):
        def scalar(given):
            return (values(power, *given) ** 2).sum()

        return jax.jit(lambda given: (jax.grad(scalar)(given), jax.hessian(scalar)(given)))(given)

    both = [jax.tree.leaves(jax.device_get(derivatives(values))) for values in (tile, plain_tile)]
    for found, expected in zip(*both, strict=True):
        assert np.abs(found - expected).max() <= 1e-11 * np.abs(expected).max()


@pytest.mark.parametrize("power", [3, 5])
def test_both_forms_of_the_inverse_power_have_equally_many_equations(monkeypatch, power):
    counts = []
    for avx512 in (True, False):
        monkeypatch.setattr(pairs, "has_avx512", lambda avx512=avx512: avx512)
        counts.append(len(jax.make_jaxpr(partial(pairs._inverse_power, power=power))(1.0).eqns))
    assert counts[0] == counts[1]
