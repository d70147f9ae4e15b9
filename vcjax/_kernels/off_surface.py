"""T of a field and of a test field at points off the surface: far sum, patches, derivatives.

The sum over all nodes leaves out those next to a point. Points nearer than the range of the near
kernel get a patch of their own (`vcjax._kernels.rays`); tiles of points without any are skipped.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from vcjax._geometry.foot import Foot, Periods
from vcjax._geometry.nodes import one_period
from vcjax._geometry.patch import PatchInterpolation
from vcjax._kernels.far import FIELD, far_sum
from vcjax._kernels.rays import NearPart, near_part
from vcjax._loops import by_tiles
from vcjax._options import Tiles
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import OffSurfaceTables

_PUNCTURE = 0.7
"""Distance below which the far sum leaves nodes out, over their spacing."""
_TILE = 8
"""Points whose patches are made at once; `filled_count` is a multiple of it."""
_GROUPS = 5
"""Groups of polar nodes, by radius, for the `PatchInterpolation`."""


class Nodes(NamedTuple):
    """Quadrature nodes of one period with a field on them.

    Attributes
    ----------
    continued : (9, row, column) points, area normals and the field, laboratory components.
    spacing : (2,) least and largest distance of neighbouring nodes.
    constants : tables of the rule.
    """

    continued: Float[Array, "9 row column"]
    spacing: Float[Array, " 2"]
    constants: OffSurfaceTables

    @property
    def surface(self) -> Periods:
        """Points of the nodes."""
        return Periods(self.continued[:3], self.turns)

    @property
    def turns(self) -> Float[Array, "nfp 3 3"]:
        """Rotations by 0 .. nfp - 1 periods."""
        return self.constants.field.turns


class Transforms(NamedTuple):
    """T of B and of the test field at n points, laboratory components.

    Attributes
    ----------
    values : (n, 2, 3).
    at_foot : (n, 3) B where a point is on the surface.
    on_surface : (n,) whether it is.
    """

    values: Float[Array, "n 2 3"]
    at_foot: Float[Array, "n 3"]
    on_surface: Bool[Array, " n"]


def transforms(
    rule: Rule, tiles: Tiles, nodes: Nodes, points: Float[Array, "n 3"], foot: Foot, used: Any
) -> Transforms:
    """Return T of the field on the nodes, and of the test field, at points; `used` of them."""
    least, largest = nodes.spacing
    punctured = (_PUNCTURE * least) ** 2
    sources, normals, field = jnp.split(one_period(nodes.continued, rule), 3)
    test_field = partial(known_field, sources)

    def far(values):
        given = points, sources, normals, values, nodes.turns
        return far_sum(FIELD, rule, tiles, *given, punctured, used)

    # The trapezoidal rule alone errs by exp(-2 pi d/h) at distance d: nothing beyond this.
    needed = foot.distance < largest * (rule.cutoff**2 / np.pi)
    if used is not None:
        needed = needed & (jnp.arange(len(points)) < used)
    near = _near_parts(rule, nodes, points, foot, needed, test_field, punctured, used)
    both = jnp.stack([field, test_field(sources)])
    values = jax.vmap(far)(both).transpose(2, 0, 1) + near.fields
    return Transforms(values, near.at_foot, near.on_surface > 0)


def transform_gradients(
    rule: Rule, tiles: Tiles, nodes: Nodes, points: Float[Array, "n 3"], foot: Foot, used: Any
) -> tuple[Transforms, Float[Array, "n 3 2 3"]]:
    """Return T and [:, i] = d_i T, the derivative of the quadrature with its nodes held fixed."""

    def along(direction):
        directions = jnp.broadcast_to(direction, points.shape)
        (_, slopes, found) = jax.jvp(split, (points,), (directions,), has_aux=True)
        return slopes, found

    def split(x):
        found = transforms(rule, tiles, nodes, x, foot, used)
        return found.values, found

    slopes, found = jax.vmap(along, out_axes=(1, None))(jnp.eye(3))
    return found, slopes


def known_field(
    sources: Float[Array, "3 row column"], points: Float[Array, "3 ..."]
) -> Float[Array, "3 ..."]:
    """Return a field without current inside the torus: e_z plus e_phi/R, of size 1 at most on it.

    T of it is the field itself inside and 0 outside. This distinguishes inside from outside, and
    its error is an error of the quadrature that does not depend on B. It is bounded near the z
    axis.
    """
    least = lax.stop_gradient((sources[:2] ** 2).sum(axis=0).min())
    x, y, z = points
    toroidal = jnp.sqrt(least) / jnp.maximum(x * x + y * y, 0.5 * least)
    return jnp.sqrt(0.5) * jnp.stack([-y * toroidal, x * toroidal, jnp.ones_like(z)])


@jax.named_scope("near_field")
def _near_parts(
    rule: Rule, nodes: Nodes, points, foot: Foot, needed, test_field: Callable, punctured, used
) -> NearPart:
    """Return the near part at points (n, 3), tile by tile; skip tiles that need no patch.

    Parameters
    ----------
    needed : (n,) whether a point is so near that it needs a patch.
    """
    order = jnp.argsort(~needed)
    tile = min(_TILE, len(points))
    data = jax.tree.map(lambda v: v[order], (points, foot, needed))
    interpolation = PatchInterpolation(nodes.constants.field, rule, _GROUPS)

    def nothing(*_):
        return NearPart(jnp.zeros((tile, 2, 3)), jnp.zeros((tile, 3)), jnp.zeros(tile))

    def patches(x, foot):
        recipe = interpolation, nodes.constants, rule
        return near_part(x, foot, nodes.continued, nodes.turns, test_field, punctured, *recipe)

    @jax.checkpoint
    def one_tile(at):
        x, foot, needed = at
        # Without a derivative the loop ends with the points that need a patch.
        near = (
            patches(x, foot)
            if used is not None
            else lax.cond(needed.any(), patches, nothing, x, foot)
        )
        return jax.tree.map(lambda v: _where(needed, v), near)

    found = by_tiles(one_tile, data, tile, None if used is None else needed.sum())
    back = jnp.argsort(order)
    return jax.tree.map(lambda v: v[back], found)


def _where(needed, values):
    return jnp.where(needed.reshape(-1, *(1,) * (values.ndim - 1)), values, 0.0)
