"""The near part for points off the surface."""

import jax
import jax.numpy as jnp
import numpy as np

from tests.vcjax.common import SMALL_RULE
from vcjax._kernels.rays import _grid_sum


def test_a_node_at_the_limit_distance_of_the_far_sum_counts_as_left_out():
    nodes = np.stack([*np.mgrid[:8.0, :10.0], np.zeros((8, 10))])
    normals_and_B = np.random.default_rng(0).normal(size=(6, 8, 10))
    windows = np.concatenate([nodes, normals_and_B])[None]
    x = np.array([[3.0, 4.0, 1.0]])  # above a node; the squared distances are 1, 2, 3, 5, ...

    @jax.jit
    def grid_sum(x, windows, punctured):
        given = windows, (jnp.zeros(1), jnp.zeros(1)), jnp.ones(1), jnp.ones_like
        return _grid_sum(x, *given, punctured, SMALL_RULE)

    less, limit, more = (np.asarray(grid_sum(x, windows, size)) for size in (0.5, 1.0, 1.5))
    np.testing.assert_array_equal(limit, more)
    assert np.abs(limit - less).max() > 0.1
