"""The nearest point of the surface, the foot: first on a coarse grid, then by Newton steps.

Positions on the surface are in quadrature nodes, u along phi over the whole torus and v along
theta. Between nodes the surface is the local Lagrange interpolant of co-rotating components.

Half the square of the distance has the gradient -x_i . r and the Hessian x_i . x_j - x_ij . r, with
r from the surface to the point. Beyond a centre of curvature the Hessian is indefinite: it is
shifted until each step descends, and a step that does not come nearer is retried at a quarter (J.
Nocedal, S. J. Wright, Numerical Optimization, 2006, section 3.4). The coarse grid is searched
in sectors of theta, for two sheets may be almost equally near.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._geometry.resample import equispaced, rotate
from vcjax._quadrature.rule import Rule

_STEPS = 12
_SECTORS = 8
"""Ranges of theta, each with a nearest coarse node; descents start from the best of these."""
_DESCENTS = 2
_LEAST_CURVATURE = 0.1
"""The Hessian is shifted so that its least eigenvalue, over that of a plane, is at least this."""
_TILE = 64


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


@jax.named_scope("nearest")
def nearest(points: Float[Array, "n 3"], surface: Float[Array, "3 row column"], rule: Rule) -> Foot:
    """Return the nearest surface points.

    Parameters
    ----------
    points : laboratory components.
    surface : co-rotating components of the quadrature nodes of one period.
    """
    stride = max(1, rule.patch_phi // 4), max(1, rule.patch_theta // 4)
    starts = _nearest_nodes(points, surface, stride, rule)
    padded = _padded(surface, rule)

    def descent(point, u, v):
        def step(_, state):
            best, (du, dv) = state
            here, forward = _newton_step(point, best.u + du, best.v + dv, padded, rule)
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
        point, u, v = at
        found = jax.vmap(descent, in_axes=(None, 0, 0))(point, u, v)
        best = jnp.argmin(found.distance)
        return jax.tree.map(lambda values: values[best], found)

    return lax.map(nearest_of_descents, (points, *starts), batch_size=_TILE)


def distance_from(
    points: Float[Array, "n 3"], surface: Float[Array, "3 row column"], foot: Foot, rule: Rule
) -> Float[Array, " n"]:
    """Return the distance of points from their feet, differentiable in points and surface.

    Its derivative is NaN on the surface. A shift of the foot changes the distance to second order
    only: the step from the foot to the point is normal to the surface.
    """
    padded = _padded(surface, rule)

    def distance(at):
        point, u, v = at
        (i, a, *_), (j, b, *_) = (_lagrange(w, rule.lagrange_count) for w in (u, v))
        r = turn(point, -angle_of(u, rule)) - (_stencil(padded, i, j, rule) @ b) @ a
        return jnp.sqrt(r @ r)

    return lax.map(distance, (points, foot.u, foot.v), batch_size=_TILE)


def _padded(surface, rule: Rule):
    reach = rule.lagrange_count
    return jnp.pad(surface, ((0, 0), (reach, reach), (reach, reach)), mode="wrap")


def _nearest_nodes(points, surface, stride: tuple[int, int], rule: Rule):
    """Return (u, v) of the nearest among every `stride`-th node, for each of the best sectors."""
    coarse = surface[:, :: stride[0], :: stride[1]]
    rows, columns = coarse.shape[1:]
    angles = rule.first_angle + rule.spacing[0] * stride[0] * jnp.arange(rows, dtype=float)
    period = rotate(coarse, angles, jnp).reshape(3, 1, -1)
    turns = equispaced(0.0, 2 * np.pi / rule.nfp, rule.nfp, jnp)
    torus = rotate(jnp.broadcast_to(period, (3, rule.nfp, rows * columns)), turns, jnp)
    # The last sector may repeat columns of the first.
    width = -(-columns // _SECTORS)
    torus = torus.reshape(3, rule.nfp * rows, columns)
    fill = width * _SECTORS - columns
    torus = jnp.pad(torus, ((0, 0), (0, 0), (0, fill)), mode="wrap")
    torus = torus.reshape(3, rule.nfp * rows, _SECTORS, width).swapaxes(1, 2)
    torus = torus.reshape(3, _SECTORS, rule.nfp * rows * width)
    square = (torus**2).sum(axis=0)

    def best_nodes(x):
        apart = square - 2 * jnp.tensordot(x, torus, axes=1)
        index, least = apart.argmin(axis=1), apart.min(axis=1)
        sector = lax.top_k(-least, _DESCENTS)[1].astype(index.dtype)
        row, column = jnp.divmod(index[sector], width)
        return row, (sector * width + column) % columns

    row, column = lax.map(best_nodes, points, batch_size=_TILE)
    period, row = jnp.divmod(row, rows)
    u = period * rule.period_rows + row * stride[0]
    return u.astype(float), (column * stride[1]).astype(float)


def _stencil(padded, i, j, rule: Rule):
    """Return the nodes 1 - count/2 .. count/2 around a node from an array of `_padded`."""
    count = rule.lagrange_count
    first = i % rule.period_rows + count // 2 + 1, j % rule.quad_ntheta + count // 2 + 1
    return lax.dynamic_slice(padded, (0, *first), (3, count, count))


def _newton_step(point, u, v, padded, rule: Rule):
    """Return the foot at (u, v) and the Newton step from it."""
    count = rule.lagrange_count
    (i, a, a_1, a_2), (j, b, b_1, b_2) = (_lagrange(w, count) for w in (u, v))
    stencil = _stencil(padded, i, j, rule)
    along, across = stencil @ b, stencil @ b_1
    x, x_u, x_v = along @ a, along @ a_1, across @ a
    x_uu, x_uv, x_vv = along @ a_2, across @ a_1, (stencil @ b_2) @ a
    # Co-rotating components: the frame turns with u.
    x_uu = x_uu + 2 * _turning(x_u, rule) + _turning(_turning(x, rule), rule)
    x_uv = x_uv + _turning(x_v, rule)
    x_u = x_u + _turning(x, rule)
    r = turn(point, -angle_of(u, rule)) - x
    # In units of the tangents, so that neither direction outweighs the other.
    E, G = jnp.sqrt(x_u @ x_u), jnp.sqrt(x_v @ x_v)
    p = (x_u @ x_u - x_uu @ r) / E**2
    q = (x_u @ x_v - x_uv @ r) / (E * G)
    w = (x_v @ x_v - x_vv @ r) / G**2
    least = 0.5 * (p + w) - jnp.sqrt(0.25 * (p - w) ** 2 + q**2)
    shift = jnp.maximum(0.0, _LEAST_CURVATURE - least)
    p, w = p + shift, w + shift
    s, t = x_u @ r / E, x_v @ r / G
    determinant = p * w - q * q
    step = (w * s - q * t) / (determinant * E), (p * t - q * s) / (determinant * G)
    return Foot(u, v, jnp.sqrt(r @ r), jnp.maximum(E, G)), step


def _turning(x, rule: Rule):
    """Return the change of a vector by the frame's turning per node: spacing e_z x x."""
    return rule.spacing[0] * jnp.stack([-x[1], x[0], jnp.zeros_like(x[2])])


def angle_of(u, rule: Rule):
    """Return the toroidal angle of a row."""
    return rule.first_angle + rule.spacing[0] * u


def turn(vectors: Float[Array, "*n 3"], angles: Float[Array, "*n"]) -> Float[Array, "*n 3"]:
    """Rotate vectors about the z axis."""
    cosine, sine = jnp.cos(angles), jnp.sin(angles)
    x, y, z = jnp.moveaxis(vectors, -1, 0)
    return jnp.stack([cosine * x - sine * y, sine * x + cosine * y, z], axis=-1)


def _lagrange(position, count: int):
    """Return the node below a position, and the weights around it with two derivatives."""
    node = jnp.floor(position)

    def slope(f):
        return jax.jvp(lambda f: lagrange_weights(f, count), (f,), (jnp.ones_like(f),))

    (value, first), (_, second) = jax.jvp(slope, (position - node,), (jnp.ones_like(position),))
    return node.astype(int), value, first, second


def lagrange_weights(fraction, count: int) -> Float[Array, " count"]:
    """Return the weights of nodes 1 - count/2 .. count/2 for interpolation at 0 <= fraction < 1."""
    nodes = equispaced(1.0 - count // 2, 1.0, count, jnp)
    same = jnp.eye(count, dtype=bool)
    apart = jnp.where(same, 1.0, nodes[:, None] - nodes)
    return jnp.prod(jnp.where(same, 1.0, (fraction - nodes) / apart), axis=1)
