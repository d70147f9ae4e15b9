"""Tiles of pairs: what a far sum does for each target and source, and its derivatives.

A tile is a matrix of w = 1/r^p, (targets, sources), times moments of the sources. Written plainly,
the transpose of its derivative takes four times as long as the tile. On the CPU XLA multiplies
matrices fast if none has to be turned first, sums a large matrix along neither axis fast, and
stores what two loops share if it took a root or a quotient. Therefore

- the derivative of r^2, 2 (x - y).(dx - dy), is two matrix products with four rows, and so is its
  transpose;
- points and moments are rows (k, n), so that every product and its transpose reads its operands
  as they lie;
- the derivative of w is -p/2 w / r^2, with r^2 computed again: only w is stored.

Forward mode, reverse mode and what stands on them (second derivatives, batches) all follow from
these two functions' rules.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def pair_weights(
    power: int, x: Float[Array, "3 t"], y: Float[Array, "3 n"], punctured: Float[Array, ""]
) -> Float[Array, "t n"]:
    """Return 1/r^power between targets and sources; 0 where r^2 is not above `punctured`."""
    square = _squares(x, y)
    apart = square > punctured
    return jnp.where(apart, _inverse_power(jnp.where(apart, square, 1), power), 0)


@pair_weights.defjvp
def _pair_weights_jvp(power, at, along):
    x, y, punctured = at
    w, square = pair_weights(power, *at), _squares(x, y)
    # Where w is 0 any divisor other than 0 will do.
    by_square = -0.5 * power * w / jnp.where(square > punctured, square, 1)
    return w, by_square * _squares_along(x, y, *along[:2])


def _inverse_power(square, power: int):
    # Written as a division: XLA turns 1/sqrt into rsqrt, which it does not vectorise on the CPU.
    return 1.0 / (square ** (power // 2) * jnp.sqrt(square))


@jax.custom_jvp
def _squares(x, y):
    """Return the squares of the distances of all targets from all sources, (t, n)."""
    r = [x[i][:, None] - y[i] for i in range(3)]
    return r[0] ** 2 + r[1] ** 2 + r[2] ** 2


@_squares.defjvp
def _squares_jvp(at, along):
    return _squares(*at), _squares_along(*at, *along)


def _squares_along(x, y, dx, dy):
    """Return 2 (x - y).(dx - dy), (t, n)."""
    by_target = jnp.concatenate([(x * dx).sum(axis=0, keepdims=True), -dx])
    by_source = jnp.concatenate([(y * dy).sum(axis=0, keepdims=True), -dy])
    one_x = jnp.concatenate([jnp.ones_like(x[:1]), x])
    one_y = jnp.concatenate([jnp.ones_like(y[:1]), y])
    return 2 * (_product(by_target, one_y, 0, 0) + _product(one_x, by_source, 0, 0))


@jax.custom_jvp
def pair_product(w: Float[Array, "t n"], moments: Float[Array, "k n"]) -> Float[Array, "t k"]:
    """Return the weighted moments of the sources at each target."""
    return _product(w, moments, 1, 1)


@pair_product.defjvp
def _pair_product_jvp(at, along):
    (w, moments), (dw, dmoments) = at, along
    # The transpose of this product reads w as it lies, unless XLA folds the turn into it: it would
    # then take twice as long.
    turned = lax.optimization_barrier(_product(dmoments, w, 1, 1)).T
    return pair_product(w, moments), _product(dw, moments, 1, 1) + turned


def _product(a, b, i: int, j: int):
    """Product of matrices, summed along axis i of a and j of b."""
    # Some devices would otherwise multiply float32 in less than float32.
    return lax.dot_general(a, b, (((i,), (j,)), ((), ())), precision="highest")
