"""The nearest point of the surface, the foot: first on a coarse grid, then by Newton steps.

Positions on the surface are in quadrature nodes, u along phi over the whole torus and v along
theta. Between nodes the surface is the local Lagrange interpolant. A point is turned into the
period of the nodes.

Half the square of the distance has the gradient -x_i . r and the Hessian x_i . x_j - x_ij . r, with
r from the surface to the point. Beyond a centre of curvature the Hessian is indefinite: it is
shifted until each step descends, and a step that does not come nearer is retried at a quarter (J.
Nocedal, S. J. Wright, Numerical Optimization, 2006, section 3.4). The coarse grid is searched
in sectors of theta, for two sheets may be almost equally near.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from vcjax._geometry.nodes import one_period, windows
from vcjax._geometry.resample import equispaced
from vcjax._loops import by_tiles
from vcjax._quadrature.rule import Rule

_STEPS = 12
_SECTORS = 8
"""Ranges of theta, each with a nearest coarse node; descents start from the best of these."""
_DESCENTS = 4
"""With two, one point in a thousand next to a flat section found a far sheet; these cost less than
a coarse grid of twice as many nodes."""
_LEAST_CURVATURE = 0.1
"""The Hessian is shifted so that its least eigenvalue, over that of a plane, is at least this."""
_TILE = 64


class Periods(NamedTuple):
    """The surface as one period and its turns.

    Attributes
    ----------
    nodes : (3, row, column) points of the continued nodes, laboratory components.
    turns : rotations by 0 .. nfp - 1 periods.
    """

    nodes: Float[Array, "3 row column"]
    turns: Float[Array, "nfp 3 3"]


class Foot(NamedTuple):
    """The nearest point of the surface, for each of n points.

    Attributes
    ----------
    u, v : (n,) its position, in quadrature nodes.
    distance : (n,) from the point to it.
    spacing : (n,) the larger distance of nodes along phi and theta there.
    """

    u: Float[Array, " n"]
    v: Float[Array, " n"]
    distance: Float[Array, " n"]
    spacing: Float[Array, " n"]


def filled_count(count: int) -> int:
    """Return how many points there are once the last is repeated to fill tiles of 8 and of 64."""
    return count if count <= 8 else count + (-count % (8 if count < _TILE else _TILE))


@jax.named_scope("nearest")
def nearest(points: Float[Array, "n 3"], surface: Periods, rule: Rule, used: Any = None) -> Foot:
    """Return the nearest surface points, of the first `used` points if that is given.

    There are as many points as `filled_count` says.
    """
    stride = -(-rule.patch_phi // 4), -(-rule.patch_theta // 4)
    starts = _nearest_nodes(points, surface, stride, rule, used)

    def descent(points, u, v):
        def step(_, state):
            best, (du, dv) = state
            here, forward = _newton_step(points, best.u + du, best.v + dv, surface, rule)
            # The last of equally near positions: distances round much more coarsely.
            nearer = here.distance < (1 + 1e-12) * best.distance
            best = Foot(*(jnp.where(nearer, a, b) for a, b in zip(here, best, strict=True)))
            steps = zip(forward, (du, dv), stride, strict=True)
            return best, tuple(
                jnp.where(nearer, jnp.clip(new, -s, s), 0.25 * old) for new, old, s in steps
            )

        none = Foot(u, v, jnp.full_like(u, jnp.inf), jnp.ones_like(u))
        return lax.fori_loop(0, _STEPS, step, (none, (jnp.zeros_like(u), jnp.zeros_like(v))))[0]

    def nearest_of_descents(at):
        points, u, v = at
        shape = *u.shape, 3
        each = jnp.broadcast_to(points[:, None], shape).reshape(-1, 3)
        found = descent(each, u.ravel(), v.ravel())
        best = jnp.argmin(found.distance.reshape(u.shape), axis=1)
        best = jnp.arange(len(points)) * u.shape[1] + best
        return jax.tree.map(lambda values: values[best], found)

    size = min(_TILE, len(points))
    return by_tiles(nearest_of_descents, (points, *starts), size, used)


def distance_from(
    points: Float[Array, "n 3"], surface: Periods, foot: Foot, rule: Rule, used: Any = None
) -> Float[Array, " n"]:
    """Return the distance of points to their feet, which stay where they are on the surface.

    Differentiable in points and surface. Its derivative is exact: a foot moves along the surface,
    at right angles to the way from it to the point. With `used` nothing is differentiated, and the
    feet have their distances.
    """
    if used is not None:
        return foot.distance

    def distance(at):
        points, u, v = at
        turn, row, column = place(u, v, surface.turns, rule)
        a, b = _along_both(lagrange_weights, u, v, rule.lagrange_count)
        stencils = _stencils(surface, row, column, rule)
        r = _turned(points, turn) - jnp.einsum("tkp,tp->tk", _weighted(stencils, b), a)
        return jnp.sqrt((r * r).sum(axis=1))

    size = min(_TILE, len(points))
    return by_tiles(distance, (points, foot.u, foot.v), size)


def _nearest_nodes(points, surface: Periods, stride: tuple[int, int], rule: Rule, used):
    """Return (u, v) of the nearest among every `stride`-th node, for each of the best sectors."""
    coarse = one_period(surface.nodes, rule)[:, :: stride[0], :: stride[1]]
    rows, columns = coarse.shape[1:]
    torus = jnp.einsum("gij,jrc->igrc", surface.turns, coarse, precision="highest")
    # The last sector may repeat columns of the first.
    width = -(-columns // _SECTORS)
    torus = torus.reshape(3, rule.nfp * rows, columns)
    fill = width * _SECTORS - columns
    torus = jnp.pad(torus, ((0, 0), (0, 0), (0, fill)), mode="wrap")
    torus = torus.reshape(3, rule.nfp * rows, _SECTORS, width).swapaxes(1, 2)
    torus = torus.reshape(3, _SECTORS, rule.nfp * rows * width)
    square = (torus**2).sum(axis=0)

    def best_nodes(x):
        # A product of matrices as narrow as these takes longer than its terms, written out.
        along = sum(x[:, k, None, None] * torus[k] for k in range(3))
        apart = square - 2 * along
        index, least = apart.argmin(axis=2), apart.min(axis=2)
        sector = lax.top_k(-least, _DESCENTS)[1].astype(index.dtype)
        row, column = jnp.divmod(jnp.take_along_axis(index, sector, axis=1), width)
        return row, (sector * width + column) % columns

    row, column = by_tiles(best_nodes, points, min(_TILE, len(points)), used)
    period, row = jnp.divmod(row, rows)
    u = period * rule.period_rows + row * stride[0]
    return u.astype(float), (column * stride[1]).astype(float)


def place(u, v, turns: Float[Array, "nfp 3 3"], rule: Rule):
    """Return the turns of the periods around (u, v), and the nodes below in the first period."""
    row, column = jnp.floor(u).astype(int), jnp.floor(v).astype(int)
    period, row = jnp.divmod(row, rule.period_rows)
    return turns[period % rule.nfp], row, column % rule.quad_ntheta


def _turned(points, turn):
    return jnp.einsum("ti,tij->tj", points, turn)


def _stencils(surface: Periods, row, column, rule: Rule) -> Float[Array, "t 3 p q"]:
    """Return the nodes 1 - count/2 .. count/2 around nodes."""
    count = rule.lagrange_count
    above, beside = (n + 1 - count // 2 for n in rule.overlap)
    return windows(surface.nodes, row + above, column + beside, (count, count))


def _weighted(stencils, weights):
    return jnp.einsum("tkpq,tq->tkp", stencils, weights)


def _newton_step(points, u, v, surface: Periods, rule: Rule):
    """Return the feet at (u, v), and the Newton steps from there."""
    turn, row, column = place(u, v, surface.turns, rule)
    stencils = _stencils(surface, row, column, rule)
    a, b = _along_both(_lagrange_slopes, u, v, rule.lagrange_count)
    # [:, k, i, j]: component k of the derivative of orders i and j along u and v.
    x = jnp.einsum("tkpj,itp->tkij", jnp.einsum("tkpq,jtq->tkpj", stencils, b), a)
    x_u, x_v, x_uu, x_uv, x_vv = (
        x[:, :, i, j] for i, j in ((1, 0), (0, 1), (2, 0), (1, 1), (0, 2))
    )
    r = _turned(points, turn) - x[:, :, 0, 0]
    # In units of the tangents, so that neither direction outweighs the other.
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
    return Foot(u, v, jnp.sqrt(rr), jnp.maximum(E, G)), step


def _along_both(weights: Callable, u, v, count: int):
    """Return weights (..., t, count) at the fractions of u and of v, computed together."""
    both = jnp.concatenate([u, v])
    return jnp.split(weights(both - jnp.floor(both), count), 2, axis=-2)


def _lagrange_factors(fraction, count: int):
    """Return for each weight its factors, (t, count, count), and slopes; 1 and 0 for itself."""
    nodes = equispaced(1.0 - count // 2, 1.0, count, jnp)
    same = jnp.eye(count, dtype=bool)
    apart = jnp.where(same, 1.0, nodes[:, None] - nodes)
    factors = jnp.where(same, 1.0, (fraction[:, None, None] - nodes) / apart)
    return factors, jnp.where(same, 0.0, 1.0 / apart)


def lagrange_weights(fraction: Float[Array, " t"], count: int) -> Float[Array, "t count"]:
    """Return the weights of nodes 1 - count/2 .. count/2 for interpolation at 0 <= fraction < 1."""
    return jnp.prod(_lagrange_factors(fraction, count)[0], axis=2)


def _lagrange_slopes(fraction, count: int) -> Float[Array, "3 t count"]:
    """Return `lagrange_weights` with their first and second derivative."""
    factors, slopes = _lagrange_factors(fraction, count)

    def product(a, b):
        (f, f_1, f_2), (g, g_1, g_2) = a, b
        return f * g, f_1 * g + f * g_1, f_2 * g + 2 * f_1 * g_1 + f * g_2

    slopes = jnp.broadcast_to(slopes, factors.shape)
    given = factors, slopes, jnp.zeros_like(slopes)
    one = tuple(jnp.asarray(value, factors.dtype) for value in (1.0, 0.0, 0.0))
    return jnp.stack(lax.reduce(given, one, product, (2,)))
