"""Run loops over tiles. The number of tiles to evaluate is static or computed by the program."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def map_tiles(function: Callable, tiles: Any, used: Any = None) -> Any:
    """Return the results of a function for all tiles, stacked along a new first axis.

    The arrays in `tiles` have one entry for each tile along their first axis. `used` is the number
    of tiles to evaluate; the results of the other tiles are zero. `used` may be traced: one
    program then serves every value of `used`, but the loop cannot be differentiated in reverse
    mode. If `used` is None, all tiles are evaluated, and the loop can be differentiated.
    """
    if used is None:
        return lax.map(function, tiles)

    def at(k):
        return function(jax.tree.map(lambda v: lax.dynamic_index_in_dim(v, k, 0, False), tiles))

    def step(k, found):
        return jax.tree.map(
            lambda all_, one: lax.dynamic_update_index_in_dim(all_, one, k, 0), found, at(k)
        )

    count = len(jax.tree.leaves(tiles)[0])
    shapes = jax.eval_shape(at, 0)
    nothing = jax.tree.map(lambda s: jnp.zeros((count, *s.shape), s.dtype), shapes)
    return lax.fori_loop(0, used, step, nothing)


def by_tiles(function: Callable, values: Any, size: int, used: Any = None) -> Any:
    """Return the values of a function at many points, evaluated in tiles of `size` points.

    The arrays in `values` have one entry for each point along their first axis. The size must
    divide the number of points. `used` is the number of points to evaluate; see `map_tiles`.
    """
    count = len(jax.tree.leaves(values)[0])
    tiles = jax.tree.map(lambda v: v.reshape(count // size, size, *v.shape[1:]), values)
    found = map_tiles(function, tiles, None if used is None else -(-used // size))
    return jax.tree.map(lambda v: v.reshape(count, *v.shape[2:]), found)
