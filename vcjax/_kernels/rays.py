"""Compute the near part for points off the surface: integrate the near kernel along rays.

The foot of a point is the nearest point of the surface. It may lie between nodes, and is the centre
of the point's patch. The rays start at the foot. Values at the nodes are first interpolated to a
grid around the foot that has the same spacing as the nodes, and then to polar nodes. Relative to
the foot and in node spacings, the polar nodes have the same positions for every point. In the core
of the patch, the values at the polar nodes are interpolated along each ray to a second set of
nodes. The closer a point is to the surface, the closer the nodes of this second set are to its
foot. Let R be the radius of the patch, c R the radius of its core (c = `CORE`), and delta R the
distance of the point from the surface. In units of R, the radii of the second set are

    rho = delta sinh(s asinh(c/delta)),   s in [0, 1].

Because delta is at least `CLOSEST`, a fixed number of nodes is enough (P. R. Johnston, D. Elliott,
Int. J. Numer. Methods Eng. 62 (2005) 564; docs/equations.md, "Off the surface").

The far sum leaves out the nodes next to the point x, because it would lose digits there. In the sum
over the patch, these nodes get the far kernel, which is smooth. The other nodes inside the rim of
the patch get minus the near kernel:

    T = (sum without the nodes next to x)
        + (polar integral of the near kernel)
        + (sum over the patch of the far kernel, or of minus the near kernel).

A point on the surface is its own foot, and its polar integral is the principal value.

Derivatives of the polar integral would have large errors next to the surface. The field B is
therefore written as its value at the foot plus the change from this value. The change is
interpolated with small relative errors. For the constant value, the derivative of the integral is
known (`vcjax._kernels.gradient`).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from vcjax._annotations import Array, Bool, Float
from vcjax._geometry.foot import Foot, place
from vcjax._geometry.patch import PatchInterpolation, cut, shift
from vcjax._kernels.gradient import gradient_puncture
from vcjax._kernels.near import square_radii
from vcjax._kernels.split import far_split, near_split
from vcjax._quadrature.polar import CORE
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import OffSurfaceTables

CLOSEST = 1e-10
"""Distance, in patch radii, below which a point counts as lying on the surface."""
_SERIES = 18
"""Number of terms of the series in `far_split`; enough for t up to 1.2."""
_LONG_SERIES = 30
"""Number of terms of the series in `far_split` for gradients of many digits; enough for t up to
2.3. For these gradients, the far sum leaves out more nodes."""


class Transforms(NamedTuple):
    """The operator T (see `vcjax._casing`), applied to a field B and to the test field at n points.

    The test field is `vcjax._kernels.off_surface.known_field`; its T is known everywhere.
    The near part of T, which corrects the far sums, is also a `Transforms`. For points without a
    patch, it contains zeros only.

    Attributes
    ----------
    values : T of B, then T of the test field, in laboratory components.
    at_foot : B at the foot of each point that has a patch, else 0.
    on_surface : True for points on the surface. In a near part, this is a float: 1.0 for points on
        the surface, else 0.0.
    """

    values: Float[Array, "n 2 3"]
    at_foot: Float[Array, "n 3"]
    on_surface: Bool[Array, " n"] | Float[Array, " n"]


def near_part(
    images,
    foot: Foot,
    continued,
    test_field: tuple[Callable, Callable],
    punctured,
    interpolation: PatchInterpolation,
    constants: OffSurfaceTables,
    rule: Rule,
) -> Transforms:
    """Return the near part of the operator T at t points, each with a patch of its own.

    `images`, (t, 3, nfp), are the points from `vcjax._kernels.far.images`. `continued` is as in
    `vcjax._kernels.off_surface.Nodes`. `test_field` is a field that is symmetric about the z axis,
    given by two functions. The first returns the field at points (3, ...). The second takes points
    and offsets (3, ...), and returns the change of the field from the points to the points plus
    offsets. The change must have a small relative rounding error. The far sum leaves out the nodes
    whose squared distance from the point is at most `punctured`.
    """
    known_field, known_change = test_field
    period, row, column = place(foot.u, foot.v, rule)
    turn = constants.field.turns[period]
    windows = cut(continued, row, column, rule)
    # Subtract the position and the field of a node next to the foot: larger numbers have larger
    # rounding errors.
    below = tuple(n // 2 - 1 for n in windows.shape[2:])
    is_normal = np.arange(9)[:, None, None] // 3 == 1
    base = jnp.where(is_normal, 0.0, windows[:, :, below[0], below[1], None, None])
    windows = windows - base
    origin, B_below = base[:, :3], base[:, 6:]
    x = jnp.take_along_axis(images, period[:, None, None], axis=2)[:, :, 0] - origin[..., 0, 0]

    def test_field_at(points):
        return _by_component(known_field, points + origin)

    def test_change(points, offsets):
        return _by_component(known_change, points + origin, offsets)

    du, dv = (w - jnp.floor(w) for w in (foot.u, foot.v))
    shifted, centre = shift(windows, du, dv, rule)
    centre = centre[:, :, None, None]
    # Set the offset of the foot from itself to exactly 0. A rounding error of this offset would be
    # divided by small radii.
    p, q = (jnp.arange(n) - n // 2 for n in shifted.shape[2:])
    is_foot = (p[:, None] == 0) & (q == 0)
    from_foot = jnp.where(is_normal, shifted, jnp.where(is_foot, 0.0, shifted - centre))
    rings = _rings(from_foot, interpolation, constants)
    x_foot = centre[:, :3, 0, 0]
    alpha, delta, on_surface = _scales(x - x_foot, foot.spacing, rings, constants, rule)
    # A point on the surface is its own foot.
    x = jnp.where(on_surface[:, None], x_foot, x)
    B_foot = (centre[:, 6:] + B_below)[..., 0, 0]
    fields_foot = jnp.stack([B_foot, test_field_at(centre[:, :3])[..., 0, 0]], axis=1)
    given = x, x_foot, fields_foot, rings, alpha, delta
    polar = _polar_sum(*given, test_change, constants, rule)
    windows = jnp.concatenate([windows[:, :6], windows[:, 6:] + B_below], axis=1)
    total = polar + _grid_sum(x, windows, (du, dv), alpha, test_field_at, punctured, rule)
    return Transforms(
        jnp.einsum("tij,tkj->tki", turn, total / (4 * np.pi), precision="highest"),
        jnp.einsum("tij,tj->ti", turn, B_foot, precision="highest"),
        on_surface.astype(x.dtype),
    )


def _by_component(function: Callable, *points):
    """Apply a function of arrays (3, t, ...) to arrays (t, 3, ...), and return (t, 3, ...)."""
    return jnp.moveaxis(function(*(jnp.moveaxis(v, 1, 0) for v in points)), 0, 1)


def _rings(from_foot, interpolation, constants: OffSurfaceTables):
    """Return the values at the polar nodes, by ring. All nodes of a ring have the same radius.

    `from_foot`, (t, 9, p, q), are values on the grids around the feet: offsets from the foot,
    normals, and changes of the field from its value at the foot. The result is (t, 9, ring, node).

    Offsets and changes of the field vanish with the radius, and are divided by the radius of their
    ring. Interpolation between rings then keeps their relative accuracy, which points close to the
    surface need.
    """
    t, c = from_foot.shape[:2]
    radii = constants.rings[0]
    polar = interpolation.to_nodes(from_foot)
    polar = polar.reshape(4, t, c, radii.size, -1).transpose(1, 2, 3, 0, 4)
    divisor = jnp.where(np.arange(c)[:, None] // 3 == 1, 1.0, radii)
    return polar.reshape(t, c, radii.size, -1) / divisor[:, :, None]


def _scales(offset, spacing, rings, constants: OffSurfaceTables, rule: Rule):
    """Return the scales (t,) that the near kernel and the rays of each point depend on.

    The results are the cut-off rate alpha, the ratio delta, and whether the point is treated as a
    point on the surface. The ratio delta is the distance of the point from its foot over the radius
    of the patch, but at least `CLOSEST`. The results are not differentiated, because fields depend
    on them only through the discretisation error. `offset`, (t, 3), leads from the foot to the
    point.
    """
    offset, spacing, rings = lax.stop_gradient((offset, spacing, rings))
    rim = rings[:, :3, -1] * constants.rings[0][-1]
    radius = jnp.sqrt(((offset[:, :, None] - rim) ** 2).sum(axis=1).min(axis=1))
    # Let d and R be the distances of the point from its foot and from the rim of its patch, and h
    # the spacing. The far sum has the error exp(-(pi/(alpha h))^2 - (alpha d)^2). The near kernel
    # ends at the rim, which causes the error exp(-(alpha R)^2). Both errors are equal for
    # alpha^2 = pi / (h sqrt(R^2 - d^2)). Here the root is set to at least R/10, and alpha to at
    # most the rule's cut-off divided by R.
    height = (offset**2).sum(axis=1)
    chord = jnp.sqrt(jnp.maximum(radius**2 - height, (0.1 * radius) ** 2))
    alpha = jnp.minimum(rule.cutoff / radius, jnp.sqrt(np.pi / (spacing * chord)))
    square = (rings[:, :3, 0] ** 2).sum(axis=1)
    unit = (square.min(axis=1) * square.max(axis=1)) ** 0.25
    delta = jnp.sqrt(height) / unit
    return alpha, jnp.maximum(delta, CLOSEST), delta < CLOSEST


def _polar_sum(
    x, foot, fields_foot, rings, alpha, delta, test_change, constants: OffSurfaceTables, rule: Rule
):
    """Return the polar integrals of the near kernel with the field and the test field, (t, 2, 3).

    Each field is the sum of its value at the foot, in `fields_foot` (t, 2, 3), and of its change
    from this value. `test_change` returns the change of the test field from points (t, 3, ...) to
    the points plus offsets. `x` and `foot` (t, 3) are the points and their feet.
    """
    rho, weights, values = _along_rays(rings, delta[:, None], constants, rule)
    step = 2 * np.pi / rule.angular_count * rule.patch_phi * rule.patch_theta
    from_foot, normals, change = jnp.split(values, 3, axis=1)
    from_foot, change = (rho[:, None, :, None] * v for v in (from_foot, change))
    area = (step * weights * rho)[:, :, None]
    normals = normals * area[:, None]

    def near(x):
        r = (x - foot)[:, :, None, None] - from_foot
        rate = alpha[:, None, None]
        return r, rate**3 * near_split(rate * jnp.sqrt((r**2).sum(axis=1)))

    tested = test_change(foot[:, :, None, None], from_foot)
    of_changes = _combined(jnp.concatenate([normals, change], axis=1), tested, *near(x))
    r, factor = near(lax.stop_gradient(x))
    curl = (jnp.cross(normals, r, axis=1) * factor[:, None]).sum(axis=(2, 3))
    flux = ((normals * r).sum(axis=1) * factor).sum(axis=(1, 2))
    flux = flux + _slope_of_flux(x, foot, from_foot, normals, alpha)
    return of_changes + jnp.cross(fields_foot, curl[:, None]) - flux[:, None, None] * fields_foot


@jax.custom_jvp
def _slope_of_flux(x, foot, from_foot, normals, alpha):
    """Return zeros (t,); JAX's derivative of them in x is the derivative of the near kernel's flux.

    The flux is the integral of n.r N1(alpha r) / r^3 over a patch. Its derivative is minus the
    integral of n lap(g), where lap(g) is smooth (`vcjax._kernels.gradient` defines the symbols). If
    the sum over nodes were differentiated instead, rounding errors would be divided by the distance
    from the surface. The derivative of the integral of n x r N1(alpha r) / r^3 is 0. In both
    derivatives, integrals along the rim of the patch are neglected.

    `from_foot`, the offsets of the nodes from the foot, and `normals` are (t, 3, s, node). The
    length of a normal is the weight of its node.
    """
    # In `jax.shard_map`, the types of result and derivative must agree.
    return lax.full_like(x[:, 0] + normals[:, 0, 0, 0], 0)


@_slope_of_flux.defjvp
def _(primals, tangents):
    x, foot, from_foot, normals, alpha = primals
    r = (x - foot)[:, :, None, None] - from_foot
    gauss = jnp.exp(-(alpha[:, None, None] ** 2) * (r**2).sum(axis=1))
    total = (normals * gauss[:, None]).sum(axis=(2, 3))
    slope = (-4 / np.sqrt(np.pi)) * alpha**3 * (total * tangents[0]).sum(axis=1)
    return _slope_of_flux(*primals), slope


def _along_rays(rings, delta, constants: OffSurfaceTables, rule: Rule):
    """Return the nodes along the rays of each point, with their weights and values.

    Outside the core of the patch (radii above `CORE`), the nodes lie on the rings from `_rings`.
    Inside the core, the radii of the nodes depend on the distance of the point from the surface.
    The values at these nodes are interpolated from the rings of the core. Radii and weights
    are (t, s), values (t, c, s, node).
    """
    # asinh and sinh are written out for positive arguments. JAX's functions take several times as
    # many instructions.
    ratio = CORE / delta
    width = jnp.log(ratio + jnp.sqrt(ratio * ratio + 1.0))
    growth = jnp.expm1(width * constants.core_nodes)
    sinh = 0.5 * (growth + growth / (growth + 1.0))
    core = delta * sinh
    core_weights = constants.core_weights * delta * width * jnp.sqrt(sinh * sinh + 1.0)
    count = rule.core_count
    interpolation = _legendre(2 * core / CORE - 1, count) @ constants.core_modes
    inner = jnp.einsum("tsr,tcrn->tcsn", interpolation, rings[:, :, :count])
    outer = (jnp.broadcast_to(v[count:], (delta.shape[0], v.size - count)) for v in constants.rings)
    return (
        *(jnp.concatenate(pair, axis=1) for pair in zip((core, core_weights), outer, strict=True)),
        jnp.concatenate([inner, rings[:, :, count:]], axis=2),
    )


def _combined(values, tested, r, factor):
    """Return the sums over nodes of {B x (n x r) - B (n.r)} times a factor, for two fields B.

    The sums are (t, 2, 3). `values`, (t, 6, ...), are area normals n, then the first field.
    `tested`, (t, 3, ...), is the second field. The vectors r, (t, 3, ...), lead from the nodes to
    the points.
    """
    t, normal = values.shape[0], values[:, :3]
    curl = jnp.cross(normal, r, axis=1) * factor[:, None]
    flux = (normal * r).sum(axis=1, keepdims=True) * factor[:, None]
    kernel = jnp.concatenate([curl, flux], axis=1).reshape(t, 4, -1)
    fields = jnp.concatenate([values[:, 3:], tested], axis=1).reshape(t, 6, -1)
    moment = jnp.einsum("tin,tjn->tij", fields, kernel).reshape(t, 2, 3, 4)
    crossed = [moment[:, :, i, j] - moment[:, :, j, i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return jnp.stack(crossed, axis=2) - moment[..., 3]


def _legendre(z, count: int):
    """Return the Legendre polynomials of degrees 0 .. count - 1 at z, along a new last axis."""
    values = [jnp.ones_like(z), z]
    for n in range(2, count):
        values.append(((2 * n - 1) * z * values[-1] - (n - 1) * values[-2]) / n)
    return jnp.stack(values[:count], axis=-1)


def _grid_sum(x, windows, offsets, alpha, test_field_at, punctured, rule: Rule):
    """Return the sums of the far kernel and of minus the near kernel over each patch, (t, 2, 3).

    The sum over a patch has the far kernel at the nodes that the far sum leaves out, and minus the
    near kernel at the other nodes inside the rim. The second axis of the result is for the field
    and the test field. `windows`, (t, 9, p, q), are from `cut`. `offsets` are the fractional parts
    of the positions of the feet along phi and theta, in node spacings, (t,) each. `test_field_at`
    returns the test field at points (t, 3, ...).
    """
    # Cut out the nodes of the patch ellipse. Along each axis, the foot (the centre of the ellipse)
    # lies between the two middle nodes.
    first = rule.margin + rule.lagrange_count // 2 - 1
    size = 2 * rule.patch_phi + 2, 2 * rule.patch_theta + 2
    part = windows[:, :, first : first + size[0], first : first + size[1]]
    r = x[:, :, None, None] - part[:, :3]
    alpha = alpha[:, None, None]
    square = (r**2).sum(axis=1)
    left_out = square <= punctured  # as in the far sum
    apart = jnp.where(left_out, punctured, square)
    near = alpha**3 * near_split(alpha * jnp.sqrt(apart))
    u, v = (
        jnp.arange(n, dtype=x.dtype) - (n // 2 - 1) - offset[:, None]
        for n, offset in zip(size, offsets, strict=True)
    )
    near = jnp.where(square_radii(u, v, rule) <= 1.0, near, 0.0)
    terms = _LONG_SERIES if gradient_puncture(rule) else _SERIES
    factor = jnp.where(left_out, alpha**3 * far_split(alpha**2 * square, terms), -near)
    return _combined(part[:, 3:], test_field_at(part[:, :3]), r, factor)
