"""Evaluate the external field at points inside a surface and the internal field at points outside.

    T[B](x) = B_ext(x) at x inside,   T[B](x) = -B_int(x) at x outside   (see `vcjax._casing`).

The field on the surface does not determine the external field at points outside, or the internal
field at points inside. These two fields depend on where the currents flow. The functions return NaN
for them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from vcjax._checks import check_constants, check_points
from vcjax._compiled import ONE_THREAD, compiled, is_tracing, operands
from vcjax._data_checks.watch import watch
from vcjax._devices import Devices, copied, device_mesh, over_targets
from vcjax._errors import errors_named
from vcjax._geometry import resample
from vcjax._geometry.foot import distance_from, filled_count, nearest
from vcjax._geometry.nodes import on_host, one_period, set_up, surface_nodes
from vcjax._groups import in_groups
from vcjax._kernels.off_surface import Nodes, known_field, transform_gradients, transforms
from vcjax._options import Tiles, resolve_tiles
from vcjax._prepared import (
    Prepared,
    check_evaluation,
    check_preparation,
    on_nodes,
    source_fields,
    warn_of_field_rule,
)
from vcjax._pytree import pytree
from vcjax._quadrature.choose import choose_off_surface
from vcjax._quadrature.missed import unresolved, unresolved_at
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import OffSurfaceTables, Tables, off_surface_tables

_OF_ANGLES = 0.01
"""Least estimated error of a field, divided by the requested error. The other estimates do not
contain the error that too few angles of the polar rule cause. Next to coils, this error was up to
0.014 times the requested error."""
_ROUNDING = 5 * float(np.finfo(float).eps)
"""Relative rounding error of X and B in the estimates of gradients. Next to coils, 4 times the
machine epsilon was measured."""


@pytree
@dataclass(frozen=True, eq=False, kw_only=True)
class OffSurfaceCasing(Prepared):
    """A surface prepared for evaluation at points off it; made by `prepare_off_surface`.

    It is an immutable pytree: pass it to jitted functions as an argument.

    Attributes
    ----------
    constants : ``off_surface_tables(rule)``.
    spacing : (2,) least and largest node spacing, in the unit of X. The spacing at a node is the
        larger of its distances to the next node along phi and along theta.
    rule, field_phi, field_theta, turns, nodes, devices : the attributes of a `Casing`.
    """

    constants: OffSurfaceTables
    spacing: Float[Array, " 2"]


def prepare_off_surface(
    rule: Rule,
    X: Float[Array | np.ndarray, "nphi ntheta 3"],
    *,
    constants: OffSurfaceTables | None = None,
    devices: Devices = None,
) -> OffSurfaceCasing:
    """Compute all quantities of a surface that depend neither on the field nor on the points.

    The result is differentiable in X. For use under an outer ``jit``, see `prepare`.

    Parameters
    ----------
    rule : made by `choose_off_surface`.
    X : (nphi, ntheta, 3) surface points, of the shape that the rule was chosen for; may be traced.
    constants : ``off_surface_tables(rule)``; computed here if None.
    devices : a mesh or a list of devices among which every evaluation divides its points; None for
        one device. See ``docs/devices.md``.

    Returns
    -------
    OffSurfaceCasing : for `field_at` and `gradient_at`.

    Raises
    ------
    VcjaxError : in any of these cases

        - The rule was not made by `choose_off_surface`.
        - X is not a finite float64 array of the rule's shape.
        - The devices cannot be used.
        - `constants` is invalid.
        - JAX runs in 32-bit mode.

    Warns
    -----
    UnresolvedWarning : if the rule was chosen for another surface, and is too coarse for X.
    """
    call = "prepare_off_surface"
    check_preparation(call, rule, X, "vcjax.choose_off_surface")
    mesh = device_mesh(call, devices)
    constants = off_surface_tables(rule) if constants is None else constants
    check_constants(call, constants, OffSurfaceTables, "vcjax.off_surface_tables")
    nodes, spacing = set_up(call, _nodes_and_spacing, rule, X, constants.field)
    nodes, spacing, kept = copied((nodes, spacing, constants), mesh)
    casing = OffSurfaceCasing(
        **source_fields(rule, mesh, kept.field, nodes),
        constants=kept,
        spacing=lax.stop_gradient(spacing),
    )
    watch(call, casing, X)
    return casing


def _nodes_and_spacing(rule: Rule, X, constants: Tables, xp: Any):
    nodes, *tangents = surface_nodes(rule, X, constants, xp)
    squares = [
        step**2 * (tangent**2).sum(axis=0)
        for step, tangent in zip(rule.spacing, tangents, strict=True)
    ]
    spacing = xp.maximum(*squares)
    return nodes, xp.sqrt(xp.stack([spacing.min(), spacing.max()]))


class OffSurface(NamedTuple):
    """The external and the internal field, or their gradients, at n points.

    A point is treated as on the surface if its distance is below 1e-10 of the patch radius. At such
    a point both fields are given, but gradients are NaN. Derivatives with respect to the point and
    to the surface are NaN, too. Use `external_gradient` and `internal_gradient` on the surface.

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


def off_surface_field(
    X: Float[np.ndarray, "nphi ntheta 3"],
    B: Float[np.ndarray, "src_nphi src_ntheta 3"],
    points: Float[Array | np.ndarray, "n 3"],
    digits: int,
    *,
    nfp: int,
    half_period: bool = False,
) -> OffSurface:
    """Return the external field at points inside and the internal field at points outside.

    The function calls `choose_off_surface`, `prepare_off_surface` and `field_at`. For several
    fields or sets of points, call these three functions yourself and prepare the surface once.

    Parameters
    ----------
    X, B, digits, nfp, half_period : see `choose_off_surface`.
    points : (n, 3) Cartesian points, in the unit of X.

    Returns
    -------
    OffSurface : with fields (n, 3) in the unit of B.

    Raises
    ------
    VcjaxError : for the same reasons as `choose_off_surface` and `field_at`.

    Warns
    -----
    ContradictionWarning, UnresolvedWarning, NoiseWarning : see `choose_off_surface`.
    """
    with errors_named("off_surface_field"):
        rule = choose_off_surface(X, B, digits, nfp=nfp, half_period=half_period)
        return field_at(prepare_off_surface(rule, X), B, points)


def off_surface_gradient(
    X: Float[np.ndarray, "nphi ntheta 3"],
    B: Float[np.ndarray, "src_nphi src_ntheta 3"],
    points: Float[Array | np.ndarray, "n 3"],
    digits: int,
    *,
    nfp: int,
    half_period: bool = False,
) -> OffSurface:
    """Return the gradients of the fields that `off_surface_field` returns.

    The parameters, errors and warnings are the same as for `off_surface_field`. In addition, an
    `AccuracyWarning` is given if more than 11 digits are requested.

    Returns
    -------
    OffSurface : with gradients (n, 3, 3), see `gradient_at`.
    """
    with errors_named("off_surface_gradient"):
        rule = choose_off_surface(X, B, digits, nfp=nfp, half_period=half_period, gradient=True)
        return gradient_at(prepare_off_surface(rule, X), B, points)


def field_at(
    casing: OffSurfaceCasing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    points: Float[Array | np.ndarray, "n 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> OffSurface:
    """Return the external field at points inside and the internal field at points outside.

    Points may be at any distance from the surface. The fields are linear in B. They are
    differentiable in B, in the casing, and in points off the surface.

    Parameters
    ----------
    casing : made by `prepare_off_surface`.
    B : (src_nphi, src_ntheta, 3) total field on the grid that the rule was chosen for, any unit.
    points : (n, 3) Cartesian points, in the unit of X.
    chunk_size, target_chunk_size : largest numbers of sources and of points in a tile, or "auto".
        A tile is the part of the sum over sources and points that is in memory at one time. The
        sizes change speed and memory. They change the result by rounding only.

    Returns
    -------
    OffSurface : with fields (n, 3) in the unit of B.

    Raises
    ------
    VcjaxError : in any of these cases

        - B is not a finite float64 array of the rule's shape.
        - `points` is not a finite float64 array (n, 3).
        - The casing was not made by `prepare_off_surface`.
        - An option is invalid.
        - JAX runs in 32-bit mode.

    Warns
    -----
    ContradictionWarning, UnresolvedWarning, NoiseWarning : see `external_field`.
    """
    return _evaluate("field_at", _field, casing, B, points, (chunk_size, target_chunk_size))


def gradient_at(
    casing: OffSurfaceCasing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    points: Float[Array | np.ndarray, "n 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> OffSurface:
    """Return the gradients of the fields that `field_at` returns, at points off the surface.

    The gradients are symmetric and traceless, because these fields have no currents at the points.
    If currents cross the surface, the derivatives of `field_at` also have an antisymmetric part,
    which is left out here. On the surface the gradients are NaN. Parameters, errors and warnings
    are those of `field_at`.

    Returns
    -------
    OffSurface : with gradients (n, 3, 3), [:, i, k] = d_i B_k, in the unit of B over the unit of X.
        Its `error`, relative to max |B|, has the unit of 1/X.

    Warns
    -----
    UnresolvedWarning : also if the rule was chosen for fields.
    """
    return _evaluate("gradient_at", _gradient, casing, B, points, (chunk_size, target_chunk_size))


def _evaluate(call: str, quantity: Callable, casing, B, points, sizes) -> OffSurface:
    check_evaluation(call, casing, OffSurfaceCasing, "vcjax.prepare_off_surface", B)
    check_points(call, points)
    tiles = resolve_tiles(call, "BOFF", *sizes)
    if quantity is _gradient:
        warn_of_field_rule(call, casing.rule, "vcjax.choose_off_surface")
    # NaN is the documented result where the data do not determine a field.
    with jax.debug_nans(False):
        # Inside a traced function, JAX must evaluate concrete arguments, too.
        if casing.devices is None and not is_tracing() and on_host(casing, B, points):
            missed = _missed(casing.rule, np.asarray(B), np)
            evaluate = partial(_at_points, quantity, tiles, casing, B, missed=missed)
            return in_groups(evaluate, np.asarray(points))
        everywhere = copied(operands((B, points)), casing.devices)
        return _at_points(quantity, tiles, casing, *everywhere)


@compiled(ONE_THREAD, static_argnums=(0, 1))
def _at_points(
    quantity: Callable, tiles: Tiles, casing: OffSurfaceCasing, B, points, *, used=None, missed=None
):
    rule = casing.rule
    missed = _missed(rule, B, jnp) if missed is None else missed
    continued = jnp.concatenate([casing.nodes, on_nodes(casing, B)])
    nodes = Nodes(continued, casing.spacing, casing.constants)
    everywhere = nodes, missed

    def at_share(points, *everywhere):
        count = len(points)
        fill = (0, filled_count(count) - count), (0, 0)
        filled = jnp.pad(points, fill, mode="edge")
        found = quantity(rule, tiles, filled, *everywhere, used)
        return jax.tree.map(lambda v: v[:count], found)

    return over_targets(at_share, casing.devices, points, *everywhere, count=len(points))


def _missed(rule: Rule, B, xp: Any):
    """Call `unresolved` for a field B (nphi, ntheta, 3), and return its estimates.

    If `xp` is NumPy, the estimates are computed on the host. This is faster than compiling a
    program.
    """
    samples = resample.field_period(B.transpose(2, 0, 1), rule.nfp, rule.half_period, xp)
    return unresolved(samples, rule, xp)


def _field(rule: Rule, tiles: Tiles, points, nodes: Nodes, unresolved, used) -> OffSurface:
    foot = nearest(*lax.stop_gradient((points, nodes.surface)), rule, used)
    found = transforms(rule, tiles, nodes, points, foot, used)
    known = known_field(one_period(nodes.continued[:3], rule), points.T).T
    inside = _is_inside(found.values[:, 1], known)
    share = jnp.where(found.on_surface, 0.5, jnp.where(inside, 1.0, 0.0))
    violation = jnp.linalg.norm(found.values[:, 1] - share[:, None] * known, axis=1)
    on = found.on_surface[:, None]
    half, T = jnp.where(on, 0.5 * found.at_foot, 0.0), found.values[:, 0]
    zero = _no_slope(points, nodes.surface.nodes, found.on_surface)
    T = T + zero[:, None]
    distance = distance_from(points, nodes.surface, foot, rule, used)
    of_grid, of_patches = unresolved_at(foot, unresolved, nodes.spacing[1], rule)
    of_angles = _OF_ANGLES * 10.0**-rule.digits
    return OffSurface(
        external=jnp.where(inside[:, None] | on, half + T, jnp.nan),
        internal=jnp.where(inside[:, None] & ~on, jnp.nan, half - T),
        inside=inside & ~found.on_surface,
        distance=jnp.where(found.on_surface, zero, distance),
        error=lax.stop_gradient(violation + of_grid.max(axis=1) + of_patches + of_angles),
    )


def _gradient(rule: Rule, tiles: Tiles, points, nodes: Nodes, unresolved, used) -> OffSurface:
    foot = nearest(*lax.stop_gradient((points, nodes.surface)), rule, used)
    found, slopes = transform_gradients(rule, tiles, nodes, points, foot, used)
    known_at = partial(known_field, one_period(nodes.continued[:3], rule))
    field = known_at(points.T).T
    inside = _is_inside(found.values[:, 1], field)
    # The test field at a point depends on this point only.
    known = jax.vmap(jax.jacfwd(known_at))(points).swapaxes(1, 2)
    share = jnp.where(inside, 1.0, 0.0)
    violation = jnp.linalg.norm(slopes[:, :, 1] - share[:, None, None] * known, axis=(1, 2))
    distance = distance_from(points, nodes.surface, foot, rule, used)
    inside, on = inside[:, None, None], found.on_surface[:, None, None]
    # The part of B that its grid misses varies over the spacing of this grid, which differs along
    # phi and theta. The part of B that the patches miss varies over the spacing of the nodes. On
    # the grid lines through the foot, derivatives of interpolated fields jump, and the effect of a
    # jump grows like log(1/distance).
    spacing = nodes.spacing[1]
    tails, missed = unresolved_at(foot, unresolved, spacing, rule)
    source_grid = rule.src_shape[0] * rule.images, rule.src_shape[1]
    coarser = np.array([rule.quad_nphi, rule.quad_ntheta]) / source_grid
    lengths = spacing * coarser / np.pi
    tail = (tails / jnp.maximum(foot.distance[:, None], lengths)).max(axis=1)
    apart = jnp.where(foot.distance > 0, foot.distance, foot.spacing)
    jump = missed * np.pi / foot.spacing * (1.0 + jnp.log1p(foot.spacing / apart))
    shortest = jnp.maximum(foot.distance, lengths.min())
    rounding = _ROUNDING * (1.0 + _steepness(nodes)) / shortest
    return OffSurface(
        external=jnp.where(inside & ~on, slopes[:, :, 0], jnp.nan),
        internal=jnp.where(inside | on, jnp.nan, -slopes[:, :, 0]),
        inside=inside[:, 0, 0] & ~found.on_surface,
        distance=jnp.where(found.on_surface, 0.0, distance),
        error=lax.stop_gradient(violation + tail + jump + rounding),
    )


def _steepness(nodes: Nodes) -> Float[Array, ""]:
    """Return max |X| times the largest slope of B between neighbouring nodes, over max |B|.

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
    """Return 0 at each point, with NaN derivatives on the surface.

    The two sides of the surface have different derivatives across it, so no single value is right
    on the surface.
    """
    return jnp.zeros(points.shape[0])


@_no_slope.defjvp
def _(primals, tangents):
    slope = jnp.where(primals[2], jnp.nan, 0.0)
    return _no_slope(*primals), slope * (tangents[0].sum(axis=1) + tangents[1].sum())


def _is_inside(transform, known) -> Bool[Array, " n"]:
    """Return whether each point is inside the surface.

    T of the test field (`known_field`) is the test field itself at points inside, and 0 at points
    outside.

    Parameters
    ----------
    transform, known : (n, 3) each; T of the test field, and the test field itself.
    """
    return ((transform - 0.5 * known) * known).sum(axis=1) > 0
