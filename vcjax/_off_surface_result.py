"""Compute the results at points off the surface: fields or gradients, distances and errors."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from vcjax._annotations import Array, Bool, Float
from vcjax._geometry import symmetry
from vcjax._geometry.foot import Foot, distance_from, nearest
from vcjax._geometry.nodes import one_period
from vcjax._kernels.off_surface import Nodes, known_field, transform_gradients, transforms
from vcjax._options import Tiles
from vcjax._quadrature.missed import unresolved, unresolved_at
from vcjax._quadrature.rule import Rule

_OF_ANGLES = 0.01
"""Least estimated error of a field, divided by the requested error. It stands for the error of a
polar rule with too few angles, which the other estimates do not contain. Next to coils, an error of
up to 0.014 times the requested error was measured."""
_ROUNDING = 5 * float(np.finfo(float).eps)
"""Relative rounding error of X and B that `_gradient_errors` assumes. Next to coils, 4 times the
machine epsilon was measured."""


class OffSurface(NamedTuple):
    """The external and the internal field, or their gradients, at n points.

    A point counts as lying on the surface if its distance from the surface is below 1e-10 of the
    patch radius. At such a point both fields are given, but gradients are NaN. Derivatives with
    respect to the point and to the surface are NaN, too. Use `external_gradient` and
    `internal_gradient` on the surface.

    Attributes
    ----------
    external : (n, 3) field of the currents outside, or its gradient (n, 3, 3); NaN at points
        outside.
    internal : (n, 3) field of the currents inside, or its gradient (n, 3, 3); NaN at points inside.
    inside : (n,) whether a point is inside the surface; False on the surface.
    distance : (n,) distance from the surface, in the unit of X; 0 on the surface.
    error : (n,) estimated error of the result, relative to max |B|; not differentiated. The
        estimate for a field is at least 0.01 * 10^-digits. This minimum stands for an error that
        is not estimated: next to currents, the polar rule can have too few angles.
    """

    external: Float[Array, "n ... 3"]
    internal: Float[Array, "n ... 3"]
    inside: Bool[Array, " n"]
    distance: Float[Array, " n"]
    error: Float[Array, " n"]


def missed_parts(rule: Rule, B, xp: Any):
    """Call `unresolved` for a field B (nphi, ntheta, 3), and return its estimates.

    If `xp` is NumPy, the estimates are computed on the host. This is faster than compiling a
    program.
    """
    samples = symmetry.field_period(B.transpose(2, 0, 1), rule.nfp, rule.half_period, xp)
    return unresolved(samples, rule, xp)


def field_result(
    rule: Rule, tiles: Tiles, points: Float[Array, "n 3"], nodes: Nodes, missed, used: Any
) -> OffSurface:
    """Return the fields at n points. The points must fill whole tiles; see `filled_count`.

    `missed` is from `missed_parts`. The first `used` points are evaluated; `used` may be traced. If
    it is None, all points are evaluated.
    """
    foot = nearest(*lax.stop_gradient((points, nodes.surface)), rule, used)
    found = transforms(rule, tiles, nodes, points, foot, used)
    known = known_field(one_period(nodes.points, rule), points.T).T
    inside = _is_inside(found.values[:, 1], known)
    share = jnp.where(found.on_surface, 0.5, jnp.where(inside, 1.0, 0.0))
    violation = jnp.linalg.norm(found.values[:, 1] - share[:, None] * known, axis=1)
    on = found.on_surface[:, None]
    half, T = jnp.where(on, 0.5 * found.at_foot, 0.0), found.values[:, 0]
    zero = _no_slope(points, nodes.points, found.on_surface)
    T = T + zero[:, None]
    distance = distance_from(points, nodes.surface, foot, rule, used)
    of_grid, of_patches = unresolved_at(foot, missed, nodes.spacing[1], rule)
    of_angles = _OF_ANGLES * 10.0**-rule.digits
    return OffSurface(
        external=jnp.where(inside[:, None] | on, half + T, jnp.nan),
        internal=jnp.where(inside[:, None] & ~on, jnp.nan, half - T),
        inside=inside & ~found.on_surface,
        distance=jnp.where(found.on_surface, zero, distance),
        error=lax.stop_gradient(violation + of_grid.max(axis=1) + of_patches + of_angles),
    )


def gradient_result(
    rule: Rule, tiles: Tiles, points: Float[Array, "n 3"], nodes: Nodes, missed, used: Any
) -> OffSurface:
    """Return the gradients of the fields at n points; the parameters are as for `field_result`."""
    foot = nearest(*lax.stop_gradient((points, nodes.surface)), rule, used)
    found, slopes = transform_gradients(rule, tiles, nodes, points, foot, used)
    known_at = partial(known_field, one_period(nodes.points, rule))
    field = known_at(points.T).T
    inside = _is_inside(found.values[:, 1], field)[:, None, None]
    # The test field at a point depends only on this point, so it is differentiated point by point.
    known = jax.vmap(jax.jacfwd(known_at))(points).swapaxes(1, 2)
    violation = jnp.linalg.norm(slopes[:, :, 1] - jnp.where(inside, known, 0.0), axis=(1, 2))
    distance = distance_from(points, nodes.surface, foot, rule, used)
    on = found.on_surface[:, None, None]
    return OffSurface(
        external=jnp.where(inside & ~on, slopes[:, :, 0], jnp.nan),
        internal=jnp.where(inside | on, jnp.nan, -slopes[:, :, 0]),
        inside=inside[:, 0, 0] & ~found.on_surface,
        distance=jnp.where(found.on_surface, 0.0, distance),
        error=lax.stop_gradient(violation + _gradient_errors(foot, nodes, missed, rule)),
    )


def _gradient_errors(foot: Foot, nodes: Nodes, missed, rule: Rule) -> Float[Array, " n"]:
    """Estimate the errors of gradients that the test field (`known_field`) does not show.

    The causes are the grid of B, the interpolation on patches, and rounding of X and B. The errors
    are relative to max |B|.
    """
    # Each error of B is divided by the length over which the error varies. For the grid of B, this
    # length follows from the spacings of this grid; for the patches, from the spacing of the nodes.
    # Derivatives of interpolated fields jump at the grid lines through the foot. The effect of a
    # jump grows like log(1/d) at small distances d from the surface.
    spacing = nodes.spacing[1]
    tails, of_patches = unresolved_at(foot, missed, spacing, rule)
    source_grid = rule.src_shape[0] * rule.images, rule.src_shape[1]
    coarser = np.array([rule.quad_nphi, rule.quad_ntheta]) / source_grid
    lengths = spacing * coarser / np.pi
    tail = (tails / jnp.maximum(foot.distance[:, None], lengths)).max(axis=1)
    apart = jnp.where(foot.distance > 0, foot.distance, foot.spacing)
    jump = of_patches * np.pi / foot.spacing * (1.0 + jnp.log1p(foot.spacing / apart))
    shortest = jnp.maximum(foot.distance, lengths.min())
    rounding = _ROUNDING * (1.0 + _steepness(nodes)) / shortest
    return tail + jump + rounding


def _steepness(nodes: Nodes) -> Float[Array, ""]:
    """Return max |X| times the largest slope of B between neighbouring nodes, divided by max |B|.

    If X has an error of e max |X|, then B changes by up to this number times e max |B|.
    """
    points, _, field = jnp.split(lax.stop_gradient(nodes.continued), 3)

    def square(values):
        return (values**2).sum(axis=0)

    slopes = [
        (square(jnp.diff(field, axis=axis)) / square(jnp.diff(points, axis=axis))).max()
        for axis in (1, 2)
    ]
    # The field may be zero.
    largest = jnp.maximum(square(field).max(), np.finfo(float).tiny)
    return jnp.sqrt(square(points).max() * jnp.maximum(*slopes) / largest)


@jax.custom_jvp
def _no_slope(points, surface, on_surface) -> Float[Array, " n"]:
    """Return 0 at each point, with derivatives that are NaN at points on the surface.

    T[B] has different derivatives on the two sides of the surface, so no single value is right on
    the surface.
    """
    # In `jax.shard_map`, the types of result and derivative must agree.
    return lax.full_like(jnp.where(on_surface, points[:, 0], surface[0, 0, 0]), 0)


@_no_slope.defjvp
def _(primals, tangents):
    slope = jnp.where(primals[2], jnp.nan, 0.0)
    return _no_slope(*primals), slope * (tangents[0].sum(axis=1) + tangents[1].sum())


def _is_inside(transform, known) -> Bool[Array, " n"]:
    """Return whether each point is inside: `transform` is nearer to `known` than to 0.

    `known` is the test field, and `transform` is the operator T applied to the test field. If T had
    no errors, `transform` would be `known` at points inside and 0 at points outside.
    """
    return ((transform - 0.5 * known) * known).sum(axis=1) > 0
