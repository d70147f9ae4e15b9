"""Products of vectors, made so that they compile to few loops.

XLA's CPU compiler makes a loop nest for each operand of a stack or a concatenation, and most of
compile time goes by loop nests. A selection by index is one loop nest. Its transpose would sum over
the new axis, an order of magnitude slower than the slices that the transpose of a stack takes; the
transpose of a split joins, where that of slices fills up with zeros and adds.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

AXES = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
"""Each axis with the next two."""


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def stacked(parts: Sequence[Array], axis: int = 0) -> Array:
    """Return ``jnp.stack(parts, axis)`` for parts that broadcast, as a selection."""
    parts = [jnp.expand_dims(part, axis) for part in parts]
    shape = [1] * parts[0].ndim
    shape[axis] = len(parts)
    # One comparison for all: each that does not depend on a loop becomes a kernel ahead of it.
    square = len(parts), len(parts)
    masks = lax.broadcasted_iota(int, square, 0) == lax.broadcasted_iota(int, square, 1)
    result = parts[0]
    for mask, part in zip(masks[1:], parts[1:], strict=True):
        result = jnp.where(mask.reshape(shape), part, result)
    return result


@stacked.defjvp
def _(axis, primals, tangents):
    return stacked(*primals, axis), jnp.stack(jnp.broadcast_arrays(*tangents[0]), axis)


def components(vectors: Array, axis: int = 0) -> list[Array]:
    """Return the components of vectors along an axis."""
    parts = lax.split(vectors, (1,) * vectors.shape[axis], axis)
    return [lax.squeeze(part, (axis,)) for part in parts]


def cross(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    """Return the components of a x b."""
    return [a[i] * b[j] - a[j] * b[i] for _, i, j in AXES]


def dot(a: Sequence[Array], b: Sequence[Array]) -> Array:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def dot_and_cross(a: Sequence[Array], b: Sequence[Array], axis: int = 0) -> Array:
    """Return a . b and the components of a x b, four values along an axis."""
    return stacked([dot(a, b), *cross(a, b)], axis)
