"""Compute the weights and matrix products of far sums, with derivatives that are fast on CPUs.

The far sum of a tile of targets is the matrix of w = 1/r^p, (targets, sources), times moments of
the sources. If this product were written plainly, the transpose of its derivative would take four
times as long as the product itself. Three properties of XLA on CPUs matter:

- It multiplies matrices fast if no matrix has to be transposed first.
- It sums a large matrix slowly along either axis.
- If two loops share values, it stores the values that are results of a root or a division.

Therefore

- the derivative of r^2, 2 (x - y).(dx - dy), is computed as two products of matrices with four
  rows, and the transpose of this derivative has the same form;
- the arrays of points and of moments have one row for each component, so that every product and its
  transpose read their operands in the order in which they are stored;
- the derivative of w with respect to r^2 is computed as -p/2 w / r^2. Here r^2 is computed again,
  so that only w is stored.

The derivative rules of `pair_weights` and `pair_product` are enough for forward mode, reverse mode,
second derivatives and batches.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from vcjax._annotations import Array, Float
from vcjax._programs.compiled import has_avx512

_COLUMNS = 16
"""Largest number of columns in one product of matrices in `pair_product`. Gradients need 17
columns. On CPUs, a product with 17 columns takes longer than one with 16 columns plus one with 1
column."""


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def pair_weights(
    power: int,
    x: Float[Array, "3 t"],
    y: Float[Array, "3 n"],
    punctured: Float[Array, ""] | Float[Array, "t 1"],
) -> Float[Array, "t n"]:
    """Return 1/r^power for targets x and sources y, but 0 where r^2 is at most `punctured`.

    The power must be odd. `punctured` is a scalar, or (t, 1) values, one for each target.
    """
    square = _squares(x, y)
    # At distance 0 the inverse power is infinite, but `where` selects 0. `_pair_weights_jvp` does
    # not differentiate the inverse power. Only `jax_debug_infs` without `jit` reports the infinity.
    return jnp.where(square > punctured, _inverse_power(square, power), 0)


@pair_weights.defjvp
def _pair_weights_jvp(power, at, along):
    x, y, punctured = at
    w, square = pair_weights(power, *at), _squares(x, y)
    # Where w is 0, the divisor may have any value except 0.
    by_square = -0.5 * power * w / jnp.where(square > punctured, square, 1)
    return w, by_square * _squares_along(x, y, *along[:2])


def _inverse_power(square, power: int):
    """Return square^(-power/2) for an odd power, in the form that is fastest on this processor.

    XLA vectorises rsqrt of float64 only for processors with AVX-512. With AVX-512, rsqrt takes less
    time than a root and a quotient (docs/compare.md). Both forms have the same number of
    operations. On accelerators, too, the form depends on the host's processor.
    """
    if has_avx512():
        root = lax.rsqrt(square)
        return root * (root * root) ** (power // 2)
    return 1.0 / (jnp.sqrt(square) * square ** (power // 2))


@jax.custom_jvp
def _squares(x, y):
    """Return the squares of the distances of all targets from all sources, (t, n)."""
    r = [x[i][:, None] - y[i][None] for i in range(3)]
    return r[0] ** 2 + r[1] ** 2 + r[2] ** 2


@_squares.defjvp
def _squares_jvp(at, along):
    return _squares(*at), _squares_along(*at, *along)


def _squares_along(x, y, dx, dy):
    """Return the derivatives 2 (x - y).(dx - dy) of the squared distances, (t, n)."""
    by_target = jnp.concatenate([(x * dx).sum(axis=0, keepdims=True), -dx])
    by_source = jnp.concatenate([(y * dy).sum(axis=0, keepdims=True), -dy])
    one_x = jnp.concatenate([jnp.ones_like(x[:1]), x])
    one_y = jnp.concatenate([jnp.ones_like(y[:1]), y])
    return 2 * (_product(by_target, one_y, 0, 0) + _product(one_x, by_source, 0, 0))


@jax.custom_jvp
def pair_product(w: Float[Array, "t n"], moments: Float[Array, "k n"]) -> Float[Array, "t k"]:
    """Return the sums over sources of ``w * moments``, for each target and each of k moments."""
    parts = [moments[k : k + _COLUMNS] for k in range(0, len(moments), _COLUMNS)]
    return jnp.concatenate([_product(w, part, 1, 1) for part in parts], axis=1)


@pair_product.defjvp
def _pair_product_jvp(at, along):
    (w, moments), (dw, dmoments) = at, along
    # In reverse mode this product reads w in stored order. If XLA folded the transposition into the
    # product, the product would take twice as long; the barrier prevents this.
    turned = lax.optimization_barrier(_product(dmoments, w, 1, 1)).T
    return pair_product(w, moments), _product(dw, moments, 1, 1) + turned


def _product(a, b, i: int, j: int):
    """Return the product of two matrices, summed along axis i of a and axis j of b."""
    # By default, some devices multiply float32 numbers in a lower precision.
    return lax.dot_general(a, b, (((i,), (j,)), ((), ())), precision="highest")
