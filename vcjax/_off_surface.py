"""Evaluate the external field at points inside a surface and the internal field at points outside.

    T[B](x) = B_ext(x) at x inside,   T[B](x) = -B_int(x) at x outside   (see `vcjax._casing`).

The field on the surface does not determine the external field at points outside, or the internal
field at points inside. These two fields depend on where the currents flow. The functions return NaN
for them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from vcjax._annotations import Array, Float
from vcjax._checks import check_constants, check_points
from vcjax._data_checks.watch import watch
from vcjax._devices import Devices, copied, device_mesh, over_targets
from vcjax._errors import errors_named
from vcjax._geometry.foot import filled_count
from vcjax._geometry.nodes import on_host, set_up, surface_nodes
from vcjax._kernels.off_surface import Nodes
from vcjax._off_surface_result import OffSurface, field_result, gradient_result, missed_parts
from vcjax._options import Tiles, resolve_tiles
from vcjax._prepared import (
    Prepared,
    check_evaluation,
    check_preparation,
    on_nodes,
    source_fields,
    warn_of_field_rule,
)
from vcjax._programs.compiled import ONE_THREAD, compiled, is_tracing, operands
from vcjax._programs.groups import in_groups
from vcjax._pytree import pytree
from vcjax._quadrature.choose import choose_off_surface
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import OffSurfaceTables, Tables, off_surface_tables


@pytree
@dataclass(frozen=True, eq=False, kw_only=True)
class OffSurfaceCasing(Prepared):
    """A surface prepared for evaluation at points off it; made by `prepare_off_surface`.

    It is an immutable pytree: pass it to jitted functions as an argument.

    Attributes
    ----------
    constants : ``off_surface_tables(rule)``.
    spacing : (2,) least and largest node spacing, in the unit of X. The spacing at a node is the
        larger of |dX/dphi| and |dX/dtheta|, each times the step of its angle.
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
    """Prepare a surface: compute the quantities that depend neither on the field nor on the points.

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
        - X is not a finite float64 array of the rule's shape, or nearly touches itself.
        - The devices cannot be used.
        - `constants` is invalid.
        - JAX runs in 32-bit mode, or in a process forked after JAX started.

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
    larger = xp.maximum(*squares)
    return nodes, xp.sqrt(xp.stack([larger.min(), larger.max()]))


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

    The parameters, errors and warnings are the same as for `off_surface_field`.

    Returns
    -------
    OffSurface : with gradients (n, 3, 3); see `gradient_at`.

    Warns
    -----
    AccuracyWarning : in addition, if more than 11 digits are requested.
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
        A tile is a part of the sum over sources and points that is in memory at one time. The
        sizes change speed and memory. They change the result by rounding only.

    Returns
    -------
    OffSurface : with fields (n, 3) in the unit of B.

    Raises
    ------
    VcjaxError : in any of these cases

        - B is not a finite float64 array of the rule's shape.
        - `points` is not a finite float64 array (n, 3) of at least one point.
        - The casing was not made by `prepare_off_surface`.
        - An option is invalid.
        - JAX runs in 32-bit mode, or in a process forked after JAX started.

    Warns
    -----
    ContradictionWarning, UnresolvedWarning, NoiseWarning : see `external_field`.
    """
    return _evaluate("field_at", field_result, casing, B, points, (chunk_size, target_chunk_size))


def gradient_at(
    casing: OffSurfaceCasing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    points: Float[Array | np.ndarray, "n 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> OffSurface:
    """Return the gradients of the fields that `field_at` returns, at points off the surface.

    The gradients are symmetric and traceless, because the currents of these fields flow elsewhere.
    If currents cross the surface, the derivatives of `field_at` also have an antisymmetric part,
    which is left out here. On the surface the gradients are NaN. Parameters, errors and warnings
    are the same as for `field_at`.

    Returns
    -------
    OffSurface : with gradients (n, 3, 3), [:, i, k] = d_i B_k, in the unit of B over the unit of X.
        The attribute `error` is relative to max |B|, and has the unit of 1/X.

    Warns
    -----
    UnresolvedWarning : also if the rule was chosen for fields.
    """
    sizes = chunk_size, target_chunk_size
    return _evaluate("gradient_at", gradient_result, casing, B, points, sizes)


def _evaluate(call: str, quantity: Callable, casing, B, points, sizes) -> OffSurface:
    check_evaluation(call, casing, OffSurfaceCasing, "vcjax.prepare_off_surface", B)
    check_points(call, points)
    tiles = resolve_tiles(call, "BOFF", *sizes)
    if quantity is gradient_result:
        warn_of_field_rule(call, casing.rule, "vcjax.choose_off_surface")
    # NaN is the documented result where the data do not determine a field.
    with jax.debug_nans(False):
        # Groups of points cannot run in a traced function: JAX then traces even operations on
        # concrete arrays.
        if casing.devices is None and not is_tracing() and on_host(casing, B, points):
            B, missed = operands((B, missed_parts(casing.rule, np.asarray(B), np)))
            evaluate = partial(_at_points, quantity, tiles, casing, B, missed=missed)
            return in_groups(evaluate, np.asarray(points))
        everywhere = copied(operands((B, points)), casing.devices)
        return _at_points(quantity, tiles, casing, *everywhere)


@compiled(ONE_THREAD, static_argnums=(0, 1))
def _at_points(
    quantity: Callable, tiles: Tiles, casing: OffSurfaceCasing, B, points, *, used=None, missed=None
):
    rule = casing.rule
    missed = missed_parts(rule, B, jnp) if missed is None else missed
    continued = jnp.concatenate([casing.nodes, on_nodes(casing, B)])
    nodes = Nodes(continued, casing.nodes[:3], casing.spacing, casing.constants)

    def at_share(points, nodes, missed):
        count = len(points)
        fill = (0, filled_count(count) - count), (0, 0)
        filled = jnp.pad(points, fill, mode="edge")
        found = quantity(rule, tiles, filled, nodes, missed, used)
        return jax.tree.map(lambda v: v[:count], found)

    return over_targets(at_share, casing.devices, points, nodes, missed, count=len(points))
