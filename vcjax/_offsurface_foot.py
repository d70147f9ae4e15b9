"""The nearest point of the surface: of a coarse grid first, then by Gauss-Newton steps.

Positions on the surface are counted in quadrature nodes, u along phi over the whole torus and v
along theta. Between nodes the surface is the local Lagrange interpolant of co-rotating components.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._resample import equispaced, rotate
from vcjax._rule import Rule

_STEPS = 10
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
    """Nearest surface points.

    Parameters
    ----------
    points : laboratory components.
    surface : co-rotating components of the quadrature nodes of one period.
    """
    stride = max(1, rule.patch_phi // 4), max(1, rule.patch_theta // 4)
    start = _nearest_node(points, surface, stride, rule)
    reach = rule.lagrange_count
    padded = jnp.pad(surface, ((0, 0), (reach, reach), (reach, reach)), mode="wrap")

    def one(at):
        point, u, v = at

        def step(_, state):
            u, v, best = state
            here, du, dv = _newton_step(point, u, v, padded, rule)
            # Of equally near ones the last: rounding of distances says little about positions.
            nearer = here.distance < (1 + 1e-12) * best.distance
            best = Foot(*(jnp.where(nearer, a, b) for a, b in zip(here, best, strict=True)))
            du, dv = (jnp.clip(d, -s, s) for d, s in zip((du, dv), stride, strict=True))
            return u + du, v + dv, best

        none = Foot(u, v, jnp.full_like(u, jnp.inf), jnp.ones_like(u))
        return lax.fori_loop(0, _STEPS, step, (u, v, none))[2]

    return lax.map(one, (points, *start), batch_size=_TILE)


def _nearest_node(points, surface, stride: tuple[int, int], rule: Rule):
    """The nearest of every `stride`-th node of the torus: (u, v)."""
    coarse = surface[:, :: stride[0], :: stride[1]]
    rows, columns = coarse.shape[1:]
    angles = rule.first_angle + rule.spacing[0] * stride[0] * jnp.arange(rows, dtype=float)
    period = rotate(coarse, angles, jnp).reshape(3, 1, -1)
    turns = equispaced(0.0, 2 * np.pi / rule.nfp, rule.nfp, jnp)
    torus = rotate(jnp.broadcast_to(period, (3, rule.nfp, rows * columns)), turns, jnp)
    torus = torus.reshape(3, -1)
    square = (torus**2).sum(axis=0)
    index = lax.map(lambda x: jnp.argmin(square - 2 * (x @ torus)), points, batch_size=_TILE)
    period, node = jnp.divmod(index, rows * columns)
    row, column = jnp.divmod(node, columns)
    u = period * rule.period_rows + row * stride[0]
    return u.astype(float), (column * stride[1]).astype(float)


def _newton_step(point, u, v, padded, rule: Rule):
    """Where (u, v) is, and the Gauss-Newton step from there."""
    count = rule.lagrange_count
    (i, a, a_slope), (j, b, b_slope) = (_lagrange(w, count) for w in (u, v))
    # The padded array starts `count` nodes before the first.
    first = i % rule.period_rows + count // 2 + 1, j % rule.quad_ntheta + count // 2 + 1
    stencil = lax.dynamic_slice(padded, (0, *first), (3, count, count))
    along = stencil @ b
    x, x_u, x_v = along @ a, along @ a_slope, (stencil @ b_slope) @ a
    # Co-rotating components: the frame turns with u.
    x_u = x_u + rule.spacing[0] * jnp.stack([-x[1], x[0], jnp.zeros_like(x[2])])
    turned = turn(point, -angle_of(u, rule))
    residual = turned - x
    E, F, G = x_u @ x_u, x_u @ x_v, x_v @ x_v
    s, t = x_u @ residual, x_v @ residual
    determinant = E * G - F * F
    here = Foot(u, v, jnp.sqrt(residual @ residual), jnp.sqrt(jnp.maximum(E, G)))
    return here, (G * s - F * t) / determinant, (E * t - F * s) / determinant


def angle_of(u, rule: Rule):
    """Toroidal angle of a row."""
    return rule.first_angle + rule.spacing[0] * u


def turn(vectors: Float[Array, "*n 3"], angles: Float[Array, "*n"]) -> Float[Array, "*n 3"]:
    """Rotate vectors about the z axis."""
    cosine, sine = jnp.cos(angles), jnp.sin(angles)
    x, y, z = jnp.moveaxis(vectors, -1, 0)
    return jnp.stack([cosine * x - sine * y, sine * x + cosine * y, z], axis=-1)


def _lagrange(position, count: int):
    """Node below a position, and the weights of the nodes around it with their derivatives."""
    node = jnp.floor(position)
    value, slope = jax.jvp(
        lambda f: lagrange_weights(f, count), (position - node,), (jnp.ones_like(position),)
    )
    return node.astype(int), value, slope


def lagrange_weights(fraction, count: int) -> Float[Array, " count"]:
    """Weights of the nodes 1 - count/2 .. count/2 in the interpolation at 0 <= fraction < 1."""
    nodes = equispaced(1.0 - count // 2, 1.0, count, jnp)
    same = jnp.eye(count, dtype=bool)
    apart = jnp.where(same, 1.0, nodes[:, None] - nodes)
    return jnp.prod(jnp.where(same, 1.0, (fraction - nodes) / apart), axis=1)
