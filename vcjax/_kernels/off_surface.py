"""Apply the operator T (see `vcjax._casing`) at points off the surface.

T is applied to a field and to a test field (`known_field`). T is the sum of a far sum and a near
part on patches. The far sum at a point covers all nodes except the nodes next to this point. Points
that are too near to the surface for the far sum get a patch of their own (`vcjax._kernels.rays`).
Tiles in which no point needs a patch are skipped.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from vcjax._annotations import Array, Float
from vcjax._geometry.foot import Foot, Periods
from vcjax._geometry.jump import symmetric_traceless
from vcjax._geometry.nodes import one_period
from vcjax._geometry.patch import PatchInterpolation
from vcjax._kernels.far import FIELD, far_sum, images
from vcjax._kernels.gradient import gradient_puncture
from vcjax._kernels.rays import Transforms, near_part
from vcjax._options import Tiles
from vcjax._programs.loops import by_tiles
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import OffSurfaceTables

_PUNCTURE = 0.7
"""Distance from a point within which the far sum leaves out nodes, divided by the least node
spacing. For gradients of many digits, `gradient_puncture` takes its place."""
_TILE = 8
"""Number of points for which patches are computed at once. Values of `filled_count` above this
number are multiples of this number."""
_GROUPS = 5
"""Number of groups of polar nodes, sorted by radius, in the `PatchInterpolation`."""


class Nodes(NamedTuple):
    """The quadrature nodes of one period and its surroundings, and a field on them.

    The parts of `continued` are points, outward normals and the field on the continued nodes (see
    `vcjax._geometry.nodes`), in laboratory components. `points` are the same points again. Unlike
    `continued`, they have no derivative if only the field is differentiated. `spacing` is the least
    and the largest spacing of the nodes; see `OffSurfaceCasing`. `constants` are
    ``off_surface_tables(rule)``.
    """

    continued: Float[Array, "part row column"]
    points: Float[Array, "3 row column"]
    spacing: Float[Array, " 2"]
    constants: OffSurfaceTables

    @property
    def surface(self) -> Periods:
        """Return the points of the nodes, with the rotations by whole periods."""
        return Periods(self.points, self.turns)

    @property
    def turns(self) -> Float[Array, "nfp 3 3"]:
        """Return the rotations by 0 .. nfp - 1 periods."""
        return self.constants.field.turns


def transforms(
    rule: Rule, tiles: Tiles, nodes: Nodes, points: Float[Array, "n 3"], foot: Foot, used: Any
) -> Transforms:
    """Return the operator T, applied to the field on the nodes and to the test field, at n points.

    The points have laboratory components, and n is a value of `filled_count`. `used` is the number
    of points to evaluate, counted from the first; see `map_tiles`.
    """
    punctured = ((gradient_puncture(rule) or _PUNCTURE) * nodes.spacing[0]) ** 2
    sources, normals, field = jnp.split(one_period(nodes.continued[:9], rule), 3)
    test_field = partial(known_field, sources), partial(known_change, sources)

    def far(values):
        given = points, sources, normals, values, nodes.turns
        return far_sum(FIELD, rule, tiles, *given, punctured, used)

    needed = foot.nodes_away < reach_of_patches(rule)
    if used is not None:
        needed = needed & (jnp.arange(len(points)) < used)
    near = _near_parts(rule, nodes, points, foot, needed, test_field, punctured, used)
    both = jnp.stack([field, known_field(sources, sources)])
    values = jax.vmap(far)(both).transpose(2, 0, 1) + near.values
    return near._replace(values=values, on_surface=near.on_surface > 0)


def transform_gradients(
    rule: Rule, tiles: Tiles, nodes: Nodes, points: Float[Array, "n 3"], foot: Foot, used: Any
) -> tuple[Transforms, Float[Array, "n 3 2 3"]]:
    """Return the operator T and its gradient at n points.

    The parameters are as in `transforms`. In the gradient, [:, i] is d_i of the values of T. The
    gradient is symmetric and traceless, like all gradients of vacuum fields. The quadrature is
    differentiated with fixed nodes and feet.
    """

    def along(direction):
        directions = jnp.broadcast_to(direction, points.shape)
        (_, slopes, found) = jax.jvp(split, (points,), (directions,), has_aux=True)
        return slopes, found

    def split(x):
        found = transforms(rule, tiles, nodes, x, foot, used)
        return found.values, found

    slopes, found = jax.vmap(along, out_axes=(3, None))(jnp.eye(3))
    # Axes of `slopes`: point, field, component, direction.
    return found, symmetric_traceless(slopes.transpose(3, 2, 0, 1)).transpose(2, 0, 3, 1)


def reach_of_patches(rule: Rule) -> float:
    """Return the distance from the surface, in node spacings, below which a point has a patch.

    Let h be the spacing of the nodes, and s h the distance of a point from the surface. Without a
    patch, the error of the far sum is about exp(-2 pi s). The error of its gradient is 2 pi/h times
    this error. Outside a circular cross-section with n nodes, both errors decrease more slowly,
    like (1 + 2 pi s/n)^-n. For gradients, the result allows for this slower decrease.
    """
    if not rule.gradient:
        return (1.1 * rule.cutoff**2 + 4.0) / (2 * np.pi)
    nodes = rule.quad_ntheta
    return nodes / (2 * np.pi) * float(np.expm1((1.1 * rule.cutoff**2 + 7.0) / nodes))


def known_field(
    sources: Float[Array, "3 row column"], points: Float[Array, "3 ..."]
) -> Float[Array, "3 ..."]:
    """Return the test field, a weighted sum of e_z and e_phi/R, for which the operator T is known.

    The currents of the test field flow outside the torus. Therefore T of the test field is the test
    field itself at points inside and 0 at points outside. These values show whether a point is
    inside. Any deviation from these values is an error of the quadrature, and does not depend on B.
    The test field is at most 1 on the surface, and bounded near the z axis. `sources` are the nodes
    of the surface.
    """
    least = lax.stop_gradient((sources[:2] ** 2).sum(axis=0).min())
    x, y, z = points
    toroidal = jnp.sqrt(least) / jnp.maximum(x * x + y * y, 0.5 * least)
    return jnp.sqrt(0.5) * jnp.stack([-y * toroidal, x * toroidal, jnp.ones_like(z)])


def known_change(
    sources: Float[Array, "3 row column"],
    points: Float[Array, "3 ..."],
    offsets: Float[Array, "3 ..."],
) -> Float[Array, "3 ..."]:
    """Return the change of the test field from points to the points plus offsets.

    Let R be the least distance of a source from the z axis. The points, with and without the
    offsets, must be at least sqrt(1/2) R away from the z axis.
    """
    least = lax.stop_gradient((sources[:2] ** 2).sum(axis=0).min())
    (x, y, _), (dx, dy, dz) = points, offsets
    after = (x + dx) ** 2 + (y + dy) ** 2
    change = -(dx * (2 * x + dx) + dy * (2 * y + dy)) / ((x * x + y * y) * after)
    along_x, along_y = (a * change + da / after for a, da in ((x, dx), (y, dy)))
    return jnp.sqrt(0.5 * least) * jnp.stack([-along_y, along_x, jnp.zeros_like(dz)])


@jax.named_scope("near_field")
def _near_parts(
    rule: Rule, nodes: Nodes, points, foot: Foot, needed, test_field, punctured, used
) -> Transforms:
    """Return the near part at points (n, 3). Tiles in which no point needs a patch are skipped.

    `needed`, (n,), is True for points so near to the surface that they need a patch. If `used` is
    None, a derivative in reverse mode may be taken, and the loop covers all tiles. Otherwise the
    loop ends after the last tile with a point that needs a patch.
    """
    order = jnp.argsort(~needed)
    tile = min(_TILE, len(points))
    data = images(points, nodes.turns), foot, needed
    data = jax.tree.map(lambda v: v[order], data)
    interpolation = PatchInterpolation(nodes.constants.field, rule, _GROUPS)

    def patches(turned, foot):
        recipe = interpolation, nodes.constants, rule
        return near_part(turned, foot, nodes.continued, test_field, punctured, *recipe)

    def nothing(turned, _):
        # In `jax.shard_map`, the types of both branches must say that results differ by device.
        zero = lax.full_like(turned[0, 0, 0] + nodes.continued[0, 0, 0], 0)
        shapes = (tile, 2, 3), (tile, 3), (tile,)
        return Transforms(*(jnp.broadcast_to(zero, shape) for shape in shapes))

    @jax.checkpoint
    def one_tile(at):
        turned, foot, needed = at
        # If `used` is given, the loop contains only tiles with points that need a patch.
        if used is None:
            near = lax.cond(needed.any(), patches, nothing, turned, foot)
        else:
            near = patches(turned, foot)
        return jax.tree.map(
            lambda v: jnp.where(needed.reshape(-1, *(1,) * (v.ndim - 1)), v, 0.0), near
        )

    found = by_tiles(one_tile, data, tile, None if used is None else needed.sum())
    back = jnp.argsort(order)
    return jax.tree.map(lambda v: v[back], found)
