"""The near part off the surface: the splitting of `_near`, on a patch for every point.

The patch is centred at the foot, the nearest point of the surface, wherever that lies between
nodes. Around it the grid is first shifted to the foot, then interpolated to the same polar nodes
for every point, and from these along each ray to nodes that crowd at the foot as the point nears
the surface: with d the distance and delta = d/R,

    rho = delta sinh(s asinh(1/delta)),   s in [0, 1],

which maps the kernel's singularity at rho = i delta to a distance from s in [0, 1] that shrinks
only like 1/log(1/delta): a fixed number of nodes serves every distance.

The sum over all nodes leaves out those next to the point, where it would lose digits. They get the
smooth far kernel, the other nodes of the patch the near kernel with a minus sign:

    T = (sum without the nodes next to x)
        + (polar integral of the near kernel) + (sum over the patch of far, or minus near, kernel).

A point on the surface is its own foot; there the polar integral is the principal value.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._near import field_split
from vcjax._offsurface_foot import Foot, angle_of, lagrange_weights, turn
from vcjax._offsurface_tables import OffSurfaceTables
from vcjax._patch import PatchInterpolation
from vcjax._resample import equispaced, rotate
from vcjax._rule import Rule
from vcjax._tables import CORE

CLOSEST = 1e-10
"""Nearer than this, in patch radii, a point counts as on the surface."""
_TILE = 16


class NearPart(NamedTuple):
    """What patches add, for k fields at n points; laboratory components; 0 where none was made.

    Attributes
    ----------
    field : (n, k, 3) correction of the punctured sum.
    at_foot : (n, k, 3) the fields on the surface.
    on_surface : (n,) 1 for points on it, else 0.
    """

    field: Float[Array, "n k 3"]
    at_foot: Float[Array, "n k 3"]
    on_surface: Float[Array, " n"]


@jax.named_scope("near_field")
def near_part(
    points, foot: Foot, needed, nodes, punctured, constants: OffSurfaceTables, rule: Rule
):
    """Near part at points, tile by tile; tiles in which no patch is needed are skipped.

    Parameters
    ----------
    points : (n, 3) laboratory components.
    needed : (n,) whether a point is so near that it needs a patch.
    nodes : (3 (2 + k), row, column) points, area normals and k fields, co-rotating components.
    punctured : square of the distance below which the far sum leaves nodes out.
    """
    order = jnp.argsort(~needed)
    n = points.shape[0]
    tile = min(_TILE, n)
    fill = -n % tile
    data = jax.tree.map(lambda v: _tiled(v[order], tile, fill), (points, foot, needed))
    padded = _padded(nodes, rule)
    interpolation = PatchInterpolation(constants.field, rule)
    kinds = nodes.shape[0] // 3 - 2

    def nothing(x, _):
        zero = jnp.zeros((tile, kinds, 3))
        return NearPart(zero, zero, jnp.zeros(tile))

    def patches(x, foot):
        return _patches(x, foot, padded, punctured, interpolation, constants, rule)

    @jax.checkpoint
    def one_tile(at):
        x, foot, needed = at
        near = lax.cond(needed.any(), patches, nothing, x, foot)
        return jax.tree.map(lambda v: _where(needed, v), near)

    tiles = lax.map(one_tile, data)
    back = jnp.argsort(order)
    return jax.tree.map(lambda v: v.reshape(-1, *v.shape[2:])[:n][back], tiles)


def _tiled(values, tile: int, fill: int):
    padded = jnp.pad(values, ((0, fill),) + ((0, 0),) * (values.ndim - 1), mode="edge")
    return padded.reshape(-1, tile, *values.shape[1:])


def _where(needed, values):
    return jnp.where(needed.reshape(-1, *(1,) * (values.ndim - 1)), values, 0.0)


def _window(rule: Rule) -> tuple[int, int]:
    """Nodes of a patch with all that the shift reads."""
    return 2 * rule.reach_phi + rule.lagrange_count, 2 * rule.reach_theta + rule.lagrange_count


def _padded(nodes, rule: Rule):
    """Nodes continued beyond their period, so that every window is a slice."""
    high, wide = _window(rule)
    return jnp.pad(nodes, ((0, 0), (0, high), (0, wide)), mode="wrap")


def _patches(x, foot: Foot, padded, punctured, interpolation, constants, rule: Rule) -> NearPart:
    count, half = x.shape[0], rule.lagrange_count // 2
    row, column = jnp.floor(foot.u), jnp.floor(foot.v)
    windows = jax.vmap(lambda i, j: _cut(padded, i, j, rule))(row, column)
    x = turn(x, -angle_of(row, rule))
    grid = _grid_sum(x, windows, half, rule)
    shifted = _shift(windows, foot.u - row, foot.v - column, rule)
    centre = shifted[:, :, rule.reach_phi, rule.reach_theta]
    offset = x - centre[:, :3]
    from_foot = shifted[:, :3] - centre[:, :3, None, None]
    shifted = jnp.concatenate([from_foot, shifted[:, 3:]], axis=1)
    rings = _rings(shifted, interpolation, constants)
    alpha, delta, on_surface = _scales(offset, foot.spacing, rings, constants, rule)
    offset = jnp.where(on_surface[:, None], 0.0, offset)
    total = _polar_sum(offset, rings, alpha, delta, constants, rule) + grid(alpha, punctured)
    back = angle_of(row, rule)[:, None]
    at_foot = centre[:, 6:].reshape(count, -1, 3)
    return NearPart(
        turn(total / (4 * np.pi), jnp.broadcast_to(back, total.shape[:2])),
        turn(at_foot, jnp.broadcast_to(back, at_foot.shape[:2])),
        on_surface.astype(x.dtype),
    )


def _cut(padded, row, column, rule: Rule):
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


def _shift(windows, du, dv, rule: Rule):
    """Values on the grid of a patch whose centre is the foot: (t, c, 2 reach + 1, 2 reach + 1)."""
    for axis, fraction, reach in ((2, du, rule.reach_phi), (3, dv, rule.reach_theta)):
        weights = jax.vmap(lambda f: lagrange_weights(f, rule.lagrange_count))(fraction)
        parts = [
            weights[:, k, None, None, None]
            * lax.slice_in_dim(windows, k, k + 2 * reach + 1, axis=axis)
            for k in range(rule.lagrange_count)
        ]
        windows = functools.reduce(jnp.add, parts)
    return windows


def _rings(shifted, interpolation, constants: OffSurfaceTables):
    """Values at the polar nodes: (quadrant, t, c, ring, angle); points divided by their radius.

    A point's offset from the foot vanishes with the radius; only its quotient keeps the relative
    accuracy that points close to the surface need.
    """
    t, c = shifted.shape[:2]
    polar = interpolation.to_nodes(shifted.reshape(t * c, *shifted.shape[2:]))
    polar = polar.at[:, :, constants.by_radius].get(unique_indices=True, mode="promise_in_bounds")
    polar = polar.reshape(4, t, c, constants.rings[0].size, -1)
    points = polar[:, :, :3] / constants.rings[0][:, None]
    return jnp.concatenate([points, polar[:, :, 3:]], axis=2)


def _scales(offset, spacing, rings, constants: OffSurfaceTables, rule: Rule):
    """Cut-off rate alpha, delta of the rays, and whether the point is on the surface.

    None of them is differentiated: the result depends on them only through the discretisation
    error.
    """
    offset, spacing, rings = lax.stop_gradient((offset, spacing, rings))
    rim = rings[:, :, :3, -1] * constants.rings[0][-1]
    radius = jnp.sqrt(((offset[:, :, None] - rim) ** 2).sum(axis=2).min(axis=(0, 2)))
    # The rule for the far kernel errs by exp(-(pi/(alpha h))^2 - (alpha d)^2), the near kernel cut
    # off at the rim by exp(-(alpha R)^2): alike, if the cut-off wanted is out of reach.
    height = (offset**2).sum(axis=1)
    chord = jnp.sqrt(jnp.maximum(radius**2 - height, (0.1 * radius) ** 2))
    alpha = jnp.minimum(rule.cutoff / radius, jnp.sqrt(np.pi / (spacing * chord)))
    square = (rings[:, :, :3, 0] ** 2).sum(axis=2)
    unit = (square.min(axis=(0, 2)) * square.max(axis=(0, 2))) ** 0.25
    delta = jnp.sqrt(height) / unit
    return alpha, jnp.maximum(delta, CLOSEST), delta < CLOSEST


def _polar_sum(offset, rings, alpha, delta, constants: OffSurfaceTables, rule: Rule):
    """Polar integral of the near kernel, (t, k, 3)."""
    rho, weights, values = _along_rays(rings, delta[:, None], constants, rule)
    step = 2 * np.pi / rule.angular_count * rule.patch_phi * rule.patch_theta
    weights = (step * weights * rho)[:, :, None]
    r = offset[:, :, None, None] - rho[:, None, :, None] * values[:, :, :3]
    normal, fields = values[:, :, 3:6], values[:, :, 6:]
    square = (r**2).sum(axis=2)
    distance = jnp.sqrt(square)
    factor = weights * field_split(alpha[:, None, None] * distance) / (square * distance)
    curl = jnp.cross(normal, r, axis=2) * factor[:, :, None]
    flux = (normal * r).sum(axis=2) * factor
    return _combined(fields.reshape(*fields.shape[:2], -1, 3, *fields.shape[3:]), curl, flux)


def _along_rays(rings, delta, constants: OffSurfaceTables, rule: Rule):
    """Radii (t, node), weights (t, node) and values (q, t, c, node, angle): the rings themselves
    outside the core, inside it nodes of each point's own."""
    width = jnp.arcsinh(CORE / delta)
    s = width * constants.core_nodes
    core = delta * jnp.sinh(s)
    core_weights = constants.core_weights * delta * width * jnp.cosh(s)
    count = rule.core_count
    interpolation = _legendre(2 * core / CORE - 1, count) @ constants.core_modes
    inner = jnp.einsum("tsr,qtcra->qtcsa", interpolation, rings[:, :, :, :count])
    outer = (jnp.broadcast_to(v[count:], (delta.shape[0], v.size - count)) for v in constants.rings)
    return (
        *(jnp.concatenate(pair, axis=1) for pair in zip((core, core_weights), outer, strict=True)),
        jnp.concatenate([inner, rings[:, :, :, count:]], axis=3),
    )


def _combined(fields, curl, flux):
    """Sum of B x V - s B over all but points and fields.

    Parameters
    ----------
    fields : (q, t, k, 3, ...); curl : (q, t, 3, ...); flux : (q, t, ...).
    """
    moment = jnp.einsum("qtkisa,qtjsa->tkij", fields, curl)
    crossed = [moment[:, :, i, j] - moment[:, :, j, i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return jnp.stack(crossed, axis=2) - jnp.einsum("qtkisa,qtsa->tki", fields, flux)


def _legendre(z, count: int):
    """Legendre polynomials of degrees 0 .. count - 1 along a last axis."""
    values = [jnp.ones_like(z), z]
    for n in range(2, count):
        values.append(((2 * n - 1) * z * values[-1] - (n - 1) * values[-2]) / n)
    return jnp.stack(values[:count], axis=-1)


def _grid_sum(x, windows, half: int, rule: Rule):
    """Far kernel on punctured nodes, minus the near kernel on the others; a function of alpha."""
    # The nodes of the ellipse around the foot, which lies less than a node after the middle one.
    first = rule.margin + half - 1
    size = 2 * rule.patch_phi + 2, 2 * rule.patch_theta + 2
    part = windows[:, :, first : first + size[0], first : first + size[1]]
    r = x[:, :, None, None] - part[:, :3]
    normal, fields = part[:, 3:6], part[:, 6:]
    fields = fields.reshape(fields.shape[0], -1, 3, *size)

    def total(alpha, punctured):
        alpha = alpha[:, None, None]
        square = (r**2).sum(axis=1)
        left_out = square < punctured
        apart = jnp.where(left_out, punctured, square)
        distance = jnp.sqrt(apart)
        near = field_split(alpha * distance) / (apart * distance)
        factor = jnp.where(left_out, alpha**3 * _far_split(alpha**2 * square), -near)
        curl = jnp.cross(normal, r, axis=1) * factor[:, None]
        flux = (normal * r).sum(axis=1) * factor
        return _combined(fields[None], curl[None], flux[None])

    return total


def _far_split(square):
    """(1 - N1(t))/t^3 as a function of t^2, for t up to about 1.

    Its series 4/sqrt(pi) sum_k (-t^2)^k / (k! (2k + 3)), from the derivative of 1 - N1, which is
    4/sqrt(pi) t^2 exp(-t^2).
    """
    total, power = jnp.zeros_like(square), jnp.ones_like(square)
    for k in range(_SERIES):
        total = total + power / (2 * k + 3)
        power = -power * square / (k + 1)
    return (4 / np.sqrt(np.pi)) * total


_SERIES = 18
