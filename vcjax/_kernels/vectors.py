"""Stack and split components, and multiply vectors, with code that compiles to few loops.

XLA's CPU compiler makes a loop nest for each operand of a stack or a concatenation. Most of the
compile time is proportional to the number of loop nests. `stacked` therefore selects by index,
which is a single loop nest. This loop computes all parts for each element of the result. Where the
loop takes too long to run, callers use `jnp.stack`.

The transpose of a selection is a sum over the new axis. The transpose of a stack takes slices,
which is an order of magnitude faster. The derivative of `stacked` is therefore defined as a stack.

`components` splits its argument instead of slicing it. The transpose of a split is one
concatenation, but the transpose of slices pads with zeros and adds.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from vcjax._annotations import Array

AXES = ((0, 1, 2), (1, 2, 0), (2, 0, 1))
"""Each of the axes 0, 1, 2, followed by the other two in cyclic order."""


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def stacked(parts: Sequence[Array], axis: int = 0) -> Array:
    """Return ``jnp.stack(parts, axis)``, computed as a selection by index.

    The parts may have different shapes that broadcast to one shape.
    """
    parts = [jnp.expand_dims(part, axis) for part in parts]
    shape = list(jnp.broadcast_shapes(*(part.shape for part in parts)))
    shape[axis] = len(parts)
    # One comparison makes all masks: each further comparison would be one more loop.
    square = len(parts), len(parts)
    masks = lax.broadcasted_iota(int, square, 0) == lax.broadcasted_iota(int, square, 1)
    result, *others = (jnp.broadcast_to(part, shape) for part in parts)
    for mask, part in zip(masks[1:], others, strict=True):
        # `jnp.where` would be traced and lowered as a function of its own.
        result = lax.select(lax.broadcast_in_dim(mask, shape, (axis,)), part, result)
    return result


@stacked.defjvp
def _(axis, primals, tangents):
    return stacked(*primals, axis), jnp.stack(jnp.broadcast_arrays(*tangents[0]), axis)


def components(vectors: Array, axis: int = 0) -> list[Array]:
    """Return the components of an array of vectors along an axis, as a list."""
    parts = lax.split(vectors, (1,) * vectors.shape[axis], axis)
    return [lax.squeeze(part, (axis,)) for part in parts]


def cross(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    """Return the three components of the cross product a x b."""
    return [a[i] * b[j] - a[j] * b[i] for _, i, j in AXES]


def dot(a: Sequence[Array], b: Sequence[Array]) -> Array:
    """Return the scalar product a . b of vectors given by their three components."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
