"""Loops over tiles, of a length known when compiling or found by the program."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def map_tiles(function: Callable, tiles: Any, used: Any = None) -> Any:
    """Map a function over the first axis of all arrays, or over the first `used` entries of it.

    Parameters
    ----------
    used : traced number of tiles to evaluate; the others get zeros. One program serves all
        numbers. Such a loop has no derivative in reverse mode; without `used` it has.
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
    """Evaluate a function of many points tile by tile; `size` divides their number.

    Parameters
    ----------
    used : traced number of points to evaluate; see `map_tiles`.
    """
    count = len(jax.tree.leaves(values)[0])
    tiles = jax.tree.map(lambda v: v.reshape(count // size, size, *v.shape[1:]), values)
    found = map_tiles(function, tiles, None if used is None else -(-used // size))
    return jax.tree.map(lambda v: v.reshape(count, *v.shape[2:]), found)
