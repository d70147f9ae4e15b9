"""The grid of a patch off the surface: nodes around a foot, shifted to it.

A foot lies between nodes. The window of nodes around it is interpolated to a grid of the same
spacing in whose middle it lies; what follows is then the same for every point.
"""

import functools

import jax
import jax.numpy as jnp
from jax import lax

from vcjax._geometry.foot import lagrange_weights
from vcjax._geometry.resample import equispaced, rotate
from vcjax._quadrature.rule import Rule


def _window(rule: Rule) -> tuple[int, int]:
    """Nodes of a patch with all that the shift reads."""
    return 2 * rule.reach_phi + rule.lagrange_count, 2 * rule.reach_theta + rule.lagrange_count


def continued(nodes, rule: Rule):
    """Nodes continued beyond their period, so that every window is a slice."""
    high, wide = _window(rule)
    return jnp.pad(nodes, ((0, 0), (0, high), (0, wide)), mode="wrap")


def cut(padded, row, column, rule: Rule):
    """The window around a node, its rows turned into the frame of that node's row."""
    high, wide = _window(rule)
    before = (rule.lagrange_count // 2 - 1 + n for n in (rule.reach_phi, rule.reach_theta))
    sizes = rule.period_rows, rule.quad_ntheta
    start = (
        (k.astype(int) - b) % size for k, b, size in zip((row, column), before, sizes, strict=True)
    )
    window = lax.dynamic_slice(padded, (0, *start), (padded.shape[0], high, wide))
    first = -(rule.reach_phi + rule.lagrange_count // 2 - 1) * rule.spacing[0]
    angles = equispaced(first, rule.spacing[0], high, jnp)
    vectors = window.reshape(-1, 3, high, wide)
    return jax.vmap(lambda v: rotate(v, angles, jnp))(vectors).reshape(-1, high, wide)


def shift(windows, du, dv, rule: Rule):
    """Values on the grid of a patch whose centre is the foot, (t, c, 2 reach + 1, 2 reach + 1), and
    there, (t, c)."""
    count = rule.lagrange_count
    a, b = (jax.vmap(lambda f: lagrange_weights(f, count))(fraction) for fraction in (du, dv))
    # As products: XLA would sum up a slice of the whole again wherever it is used.
    i, j = rule.reach_phi, rule.reach_theta
    stencil = windows[:, :, i : i + count, j : j + count]
    centre = jnp.einsum("tcp,tp->tc", jnp.einsum("tcpq,tq->tcp", stencil, b), a)
    for axis, weights, reach in ((2, a, i), (3, b, j)):
        parts = [
            weights[:, k, None, None, None]
            * lax.slice_in_dim(windows, k, k + 2 * reach + 1, axis=axis)
            for k in range(count)
        ]
        windows = functools.reduce(jnp.add, parts)
    return windows, centre
