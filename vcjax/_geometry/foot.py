"""Search for the foot of a point: the nearest point of the surface.

The nodes of a coarse grid are divided into sectors of theta. In each sector, the search finds the
node nearest to the point. Newton steps then start at each of the `_DESCENTS` nearest of these
nodes. More than one start is needed, because two sheets of the surface may be almost equally near.

Positions (u, v) on the surface are counted in quadrature nodes, u along phi over the whole torus
and v along theta. Between nodes the surface is the local Lagrange interpolant. Nodes are stored for
one field period, so each Newton step rotates the point into this period.

Let r be the vector from the surface to the point, and let x_i and x_ij be the first and second
derivatives of a surface point with respect to u and v. Half the square of the distance has the
gradient -x_i . r and the Hessian x_i . x_j - x_ij . r. Beyond a centre of curvature the Hessian is
not positive definite. If its least eigenvalue is below `_LEAST_CURVATURE`, a multiple of the
identity is added to it, so that short steps reduce the distance. A step that increases the distance
is repeated with a quarter of its length (J. Nocedal, S. J. Wright, Numerical Optimization, 2006,
section 3.4).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from vcjax._annotations import Array, Float
from vcjax._geometry.nodes import one_period, windows
from vcjax._geometry.symmetry import equispaced
from vcjax._programs.loops import by_tiles
from vcjax._quadrature.rule import Rule

_STEPS = 12
_SECTORS = 8
"""Number of sectors of theta. In each sector, the search finds the nearest coarse node."""
_DESCENTS = 4
"""Number of coarse nodes at which Newton steps start. With two starts, the search ended on the
wrong sheet for one in a thousand points next to a thin cross-section. Four starts take less time
than a coarse grid with twice as many nodes."""
_LEAST_CURVATURE = 0.1
"""Least allowed eigenvalue of the Hessian, in units in which both tangents have length 1."""
_TILE = 64


class Periods(NamedTuple):
    """The points of the continued nodes of one field period, and the rotations to all periods.

    The points have laboratory components. The rotations are by 0 .. nfp - 1 periods.
    """

    nodes: Float[Array, "3 row column"]
    turns: Float[Array, "nfp 3 3"]


class Foot(NamedTuple):
    """The feet of n points: for each point, the nearest point of the surface.

    The positions u and v of the feet along phi and theta are in quadrature nodes. `distance` is the
    distance of a point from its foot. `spacing` is the distance between neighbouring nodes at a
    foot, along phi or along theta, whichever is larger. The Newton steps of a point end at several
    positions, one for each start. `nodes_away` is the least value of distance / spacing over these
    positions. At the foot itself, distance / spacing may be larger.
    """

    u: Float[Array, " n"]
    v: Float[Array, " n"]
    distance: Float[Array, " n"]
    spacing: Float[Array, " n"]
    nodes_away: Float[Array, " n"]


def filled_count(count: int) -> int:
    """Return the number of points to which `count` points must be padded to fill whole tiles.

    Up to 8 points need no padding. 9 to 63 points are padded to a multiple of 8, and 64 or more
    points to a multiple of 64.
    """
    return count if count <= 8 else count + (-count % (8 if count < _TILE else _TILE))


@jax.named_scope("nearest")
def nearest(points: Float[Array, "n 3"], surface: Periods, rule: Rule, used: Any = None) -> Foot:
    """Find the nearest point of the surface for each of n points.

    The points have laboratory components, and n is a value of `filled_count`. `used` is the number
    of points to process, counted from the first; see `map_tiles`.
    """
    # Next to a thin cross-section, a larger stride along theta can miss the nearest sheet.
    stride = -(-rule.patch_phi // 4), max(1, rule.patch_theta // 4)
    starts = _nearest_nodes(points, surface, stride, rule, used)

    def descent(points, u, v):
        def step(_, state):
            best, (du, dv) = state
            here, forward = _newton_step(points, best.u + du, best.v + dv, surface, rule)
            # If both positions are equally near up to rounding, keep the new position: its u and v
            # are more accurate.
            nearer = here.distance < (1 + 1e-12) * best.distance
            best = Foot(*(jnp.where(nearer, a, b) for a, b in zip(here, best, strict=True)))
            steps = zip(forward, (du, dv), stride, strict=True)
            return best, tuple(
                jnp.where(nearer, jnp.clip(new, -s, s), 0.25 * old) for new, old, s in steps
            )

        far = jnp.full_like(u, jnp.inf)
        none = Foot(u, v, far, jnp.ones_like(u), far)
        return lax.fori_loop(0, _STEPS, step, (none, (jnp.zeros_like(u), jnp.zeros_like(v))))[0]

    def nearest_of_descents(at):
        points, u, v = at
        shape = *u.shape, 3
        each = jnp.broadcast_to(points[:, None], shape).reshape(-1, 3)
        found = descent(each, u.ravel(), v.ravel())
        best = jnp.argmin(found.distance.reshape(u.shape), axis=1)
        best = jnp.arange(len(points)) * u.shape[1] + best
        least = found.nodes_away.reshape(u.shape).min(axis=1)
        return jax.tree.map(lambda values: values[best], found)._replace(nodes_away=least)

    size = min(_TILE, len(points))
    return by_tiles(nearest_of_descents, (points, *starts), size, used)


def distance_from(
    points: Float[Array, "n 3"], surface: Periods, foot: Foot, rule: Rule, used: Any = None
) -> Float[Array, " n"]:
    """Return the distances of points (n, 3) from their feet, with (u, v) of the feet held fixed.

    The distances are differentiable in points and surface. Their first derivatives are exact,
    although (u, v) is held fixed: to first order, moving a foot along the surface does not change
    the distance from the point. Pass `used`, the number of points that `nearest` processed, only if
    no derivatives are needed. The function then returns the distances that `nearest` found.
    """
    if used is not None:
        return foot.distance

    def distance(at):
        points, u, v = at
        period, row, column = place(u, v, rule)
        a, b = _along_both(lagrange_weights, u, v, rule.lagrange_count)
        stencils = _stencils(surface, row, column, rule)
        r = _turned(points, surface.turns[period])
        r = r - jnp.einsum("tkp,tp->tk", jnp.einsum("tkpq,tq->tkp", stencils, b), a)
        return jnp.sqrt((r * r).sum(axis=1))

    size = min(_TILE, len(points))
    return by_tiles(distance, (points, foot.u, foot.v), size)


def _nearest_nodes(points, surface: Periods, stride: tuple[int, int], rule: Rule, used):
    """Return the positions u and v from which the Newton steps start, (n, _DESCENTS) each.

    The coarse grid consists of every `stride`-th row and column of nodes. The function finds the
    nearest node in each sector of theta, and returns the `_DESCENTS` nearest of these nodes.
    """
    coarse = one_period(surface.nodes, rule)[:, :: stride[0], :: stride[1]]
    rows, columns = coarse.shape[1:]
    torus = jnp.einsum("gij,jrc->igrc", surface.turns, coarse, precision="highest")
    # All sectors need the same number of columns: fill the last sectors with the first columns.
    width = -(-columns // _SECTORS)
    torus = torus.reshape(3, rule.nfp * rows, columns)
    fill = width * _SECTORS - columns
    torus = jnp.pad(torus, ((0, 0), (0, 0), (0, fill)), mode="wrap")
    torus = torus.reshape(3, rule.nfp * rows, _SECTORS, width).swapaxes(1, 2)
    torus = torus.reshape(3, _SECTORS, rule.nfp * rows * width)
    square = (torus**2).sum(axis=0)
    rounding = 1e-12 * square.max()

    def best_nodes(x):
        # A product of such narrow matrices takes longer than the sum written out.
        along = sum(x[:, k, None, None] * torus[k] for k in range(3))
        # On CPUs, argmin takes twice as long as the two calls of `min` below. XLA may compute the
        # distances twice and round them differently, so equality is tested up to `rounding`.
        apart = square - 2 * along
        least = apart.min(axis=2, keepdims=True)
        nodes = jnp.arange(apart.shape[2])
        index = jnp.where(apart <= least + rounding, nodes, nodes.size).min(axis=2)
        sector = lax.top_k(-least[..., 0], _DESCENTS)[1].astype(index.dtype)
        row, column = jnp.divmod(jnp.take_along_axis(index, sector, axis=1), width)
        return row, (sector * width + column) % columns

    row, column = by_tiles(best_nodes, points, min(_TILE, len(points)), used)
    period, row = jnp.divmod(row, rows)
    u = period * rule.period_rows + row * stride[0]
    return u.astype(float), (column * stride[1]).astype(float)


def place(u, v, rule: Rule):
    """Return the period, row and column of the node at or just below each of t positions (u, v).

    Rows are counted from the start of the period.
    """
    row, column = jnp.floor(u).astype(int), jnp.floor(v).astype(int)
    period, row = jnp.divmod(row, rule.period_rows)
    return period % rule.nfp, row, column % rule.quad_ntheta


def _turned(points, turn):
    return jnp.einsum("ti,tij->tj", points, turn)


def _stencils(surface: Periods, row, column, rule: Rule) -> Float[Array, "t 3 p q"]:
    """Return the surface points of the Lagrange stencils around t nodes (row, column).

    A stencil has ``count = rule.lagrange_count`` nodes along each axis, with the offsets
    1 - count/2 .. count/2 from its node.
    """
    count = rule.lagrange_count
    above, beside = (n + 1 - count // 2 for n in rule.overlap)
    return windows(surface.nodes, row + above, column + beside, (count, count))


def _newton_step(points, u, v, surface: Periods, rule: Rule):
    """Return a `Foot` with the positions (u, v), and the Newton steps (du, dv) from there."""
    period, row, column = place(u, v, rule)
    stencils = _stencils(surface, row, column, rule)
    a, b = _along_both(_lagrange_slopes, u, v, rule.lagrange_count)
    # [:, k, i, j]: component k of the derivative of orders i and j along u and v.
    x = jnp.einsum("tkpj,itp->tkij", jnp.einsum("tkpq,jtq->tkpj", stencils, b), a)
    x_u, x_v, x_uu, x_uv, x_vv = (
        x[:, :, i, j] for i, j in ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    )
    r = _turned(points, surface.turns[period]) - x[:, :, 0, 0]
    # [[p, q], [q, w]] is the Hessian for tangents of length 1. Neither direction then outweighs
    # the other.
    uu, uv, vv, ur, vr, rr = (
        (a * b).sum(axis=1)
        for a, b in ((x_u, x_u), (x_u, x_v), (x_v, x_v), (x_u, r), (x_v, r), (r, r))
    )
    bent = ((second * r).sum(axis=1) for second in (x_uu, x_uv, x_vv))
    E, G = jnp.sqrt(uu), jnp.sqrt(vv)
    p, q, w = (
        (metric - bend) / unit
        for metric, bend, unit in zip((uu, uv, vv), bent, (uu, E * G, vv), strict=True)
    )
    least = 0.5 * (p + w) - jnp.sqrt(0.25 * (p - w) ** 2 + q**2)
    shift = jnp.maximum(0.0, _LEAST_CURVATURE - least)
    p, w = p + shift, w + shift
    s, t = ur / E, vr / G
    determinant = p * w - q * q
    step = (w * s - q * t) / (determinant * E), (p * t - q * s) / (determinant * G)
    distance, spacing = jnp.sqrt(rr), jnp.maximum(E, G)
    return Foot(u, v, distance, spacing, distance / spacing), step


def _along_both(weights: Callable, u, v, count: int):
    """Return ``weights(fraction, count)`` for the fractional parts of u and of v.

    The two results have the shape (..., t, count) and are computed in one call.
    """
    both = jnp.concatenate([u, v])
    return jnp.split(weights(both - jnp.floor(both), count), 2, axis=-2)


def _lagrange_factors(fraction, count: int):
    """Return the factors of the Lagrange weights at t fractions, and the slopes of the factors.

    Weight k is the product over j of factor [:, k, j]. The factors with j = k are 1 and have the
    slope 0. The factors are (t, count, count). The slopes, (count, count), are derivatives with
    respect to the fraction.
    """
    nodes = equispaced(1.0 - count // 2, 1.0, count, jnp)
    same = jnp.eye(count, dtype=bool)
    apart = jnp.where(same, 1.0, nodes[:, None] - nodes)
    factors = jnp.where(same, 1.0, (fraction[:, None, None] - nodes) / apart)
    return factors, jnp.where(same, 0.0, 1.0 / apart)


def lagrange_weights(fraction: Float[Array, " t"], count: int) -> Float[Array, "t count"]:
    """Return weights for Lagrange interpolation from the nodes 1 - count/2 .. count/2.

    The count is even. The fractions, from 0 to 1, are positions between the two middle nodes.
    """
    return jnp.prod(_lagrange_factors(fraction, count)[0], axis=2)


def _lagrange_slopes(fraction, count: int) -> Float[Array, "3 t count"]:
    """Return `lagrange_weights` and their first two derivatives with respect to the fraction."""
    factors, slopes = _lagrange_factors(fraction, count)

    def product(a, b):
        (f, f_1, f_2), (g, g_1, g_2) = a, b
        return f * g, f_1 * g + f * g_1, f_2 * g + 2 * f_1 * g_1 + f * g_2

    slopes = jnp.broadcast_to(slopes, factors.shape)
    given = factors, slopes, jnp.zeros_like(slopes)
    one = tuple(jnp.asarray(value, factors.dtype) for value in (1.0, 0.0, 0.0))
    return jnp.stack(lax.reduce(given, one, product, (2,)))
