"""Gradients on the surface of the separated fields.

The data determine how the tangential derivatives of B jump across the surface, and the field is
free of divergence and curl on either side; with e^a the dual tangents,

    D = sum_a e^a (x) d_a B + n (x) d,   d = sum_a e^a (n.d_a B) - n sum_a e^a.d_a B,
    grad B_ext = D/2 + FP grad T[B],   grad B_int = D/2 - FP grad T[B] = D - grad B_ext,

where FP is Hadamard's finite part of the integral at points of the surface. Nothing is extrapolated
from points off the surface.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vcjax._checks import check_constants
from vcjax._data_checks.watch import watch
from vcjax._devices import Devices, copied, device_mesh
from vcjax._geometry.jump import dual_basis, total_gradient
from vcjax._geometry.nodes import at_targets, one_period, set_up, surface_nodes
from vcjax._geometry.resample import as_rows, resampled
from vcjax._kernels.gradient import GRADIENT, combine_gradient, gradient_weights_at
from vcjax._options import GRADIENT_PARTS, Tiles, resolve_near, resolve_tiles
from vcjax._prepared import (
    Kernels,
    PreparedTargets,
    apply_operator,
    check_evaluation,
    check_preparation,
    near_fields,
    on_nodes,
    source_fields,
)
from vcjax._pytree import pytree
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import GradientTables, Tables, gradient_tables

_KERNELS = Kernels(GRADIENT, gradient_weights_at, combine_gradient)


@pytree
@dataclass(frozen=True, eq=False, kw_only=True)
class GradientCasing(PreparedTargets):
    """A surface prepared for gradients: an immutable pytree, to be passed as an argument.

    Its weights take three times the memory of those of a `Casing`, and it needs a finer rule.

    Attributes
    ----------
    field_phi_slope, field_theta_slope : derivatives of the interpolation of a field at the targets.
    dual_basis : (3, 3, trg_nphi, trg_ntheta) dual tangents of phi and theta and the unit normal,
        laboratory components.
    rule, field_phi, field_theta, turns, nodes, near_weights, near_recipe, near_block, devices :
        as of a `Casing`.
    """

    field_phi_slope: Float[Array, "3 tphi i"]
    field_theta_slope: Float[Array, "images ttheta j"]
    dual_basis: Float[Array, "3 3 tphi ttheta"]


def prepare_gradient(
    rule: Rule,
    X: Float[Array | np.ndarray, "nphi ntheta 3"],
    *,
    constants: GradientTables | None = None,
    near_weights: str = "float64",
    near_block_size: int | str = "auto",
    devices: Devices = None,
) -> GradientCasing:
    """Compute everything about the gradients on a surface that does not depend on the field.

    Differentiable in X. For use under an outer ``jit`` see `prepare`.

    Parameters
    ----------
    rule : from ``choose(..., gradient=True)``; a rule chosen for the field loses
        one to three digits, without a warning.
    X : (nphi, ntheta, 3) surface points, of the shape that the rule was chosen for; may be
        traced.
    constants : `gradient_tables` of the rule; made here unless given.
    near_weights, near_block_size, devices : as for `prepare`.

    Returns
    -------
    GradientCasing

    Raises
    ------
    VcjaxError : as for `prepare`.
    """
    call = "prepare_gradient"
    check_preparation(call, rule, X, "vcjax.choose(..., gradient=True)")
    mesh = device_mesh(call, devices, rule.target_count)
    near = resolve_near(call, rule, GRADIENT_PARTS, near_weights, near_block_size)
    constants = gradient_tables(rule) if constants is None else constants
    check_constants(call, constants, GradientTables, "vcjax.gradient_tables")
    nodes, dual_basis = set_up(_nodes_and_basis, rule, X, constants.field)
    nodes, dual_basis, kept = copied((nodes, dual_basis, constants), mesh)
    casing = GradientCasing(
        **source_fields(rule, mesh, kept.field, nodes),
        **near_fields(_KERNELS, rule, near, mesh, nodes, kept),
        field_phi_slope=kept.field_phi_slope,
        field_theta_slope=kept.field_theta_slope,
        dual_basis=dual_basis,
    )
    watch("prepare_gradient", casing, X)
    return casing


def _nodes_and_basis(rule: Rule, X, constants: Tables, xp: Any):
    nodes, *tangents = surface_nodes(rule, X, constants, xp)
    x_phi, x_theta = (at_targets(one_period(v, rule), rule) for v in tangents)
    return nodes, dual_basis(x_phi, x_theta, xp)


def external_gradient(
    casing: GradientCasing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> Float[Array, "trg_nphi trg_ntheta 3 3"]:
    """Return the gradient of the field of the currents outside, on the target grid.

    Linear in B, and differentiable in B and in the casing.

    Parameters
    ----------
    casing : from `prepare_gradient`.
    B : (src_nphi, src_ntheta, 3) total field on the grid that the rule was chosen for, any unit.
    chunk_size, target_chunk_size : as for `external_field`.

    Returns
    -------
    (trg_nphi, trg_ntheta, 3, 3) with [..., i, k] = d_i B_k in Cartesian components, in the unit
    of B over the unit of X.

    Raises
    ------
    VcjaxError : for a field that does not fit the casing, NaN, or 32-bit mode.
    """
    return _separate("external_gradient", casing, B, chunk_size, target_chunk_size, 1.0)


def internal_gradient(
    casing: GradientCasing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> Float[Array, "trg_nphi trg_ntheta 3 3"]:
    """Return the gradient of the field of the plasma's own currents; see `external_gradient`.

    It is the limit from outside the surface, the vacuum side, where B_int is free of curl. The
    gradient of B_ext is the same from either side.
    """
    return _separate("internal_gradient", casing, B, chunk_size, target_chunk_size, -1.0)


def _separate(call, casing, B, chunk_size, target_chunk_size, sign):
    check_evaluation(call, casing, GradientCasing, "vcjax.prepare_gradient", B)
    tiles = resolve_tiles(call, "GRADB", chunk_size, target_chunk_size)
    return _gradient(casing, copied(jnp.asarray(B), casing.devices), tiles, sign)


@partial(jax.jit, static_argnums=(2, 3))
def _gradient(casing: GradientCasing, B, tiles: Tiles, sign: float):
    jump = surface_gradient(casing, B)
    total = 0.5 * jump + sign * gradient_operator(casing, on_nodes(casing, B), tiles)
    return total.transpose(2, 3, 0, 1)


def gradient_operator(
    casing: GradientCasing, nodes: Float[Array, "3 row column"], tiles: Tiles
) -> Float[Array, "3 3 tphi ttheta"]:
    """Return FP grad T of a field on the continued nodes, laboratory components."""
    return apply_operator(_KERNELS, casing, nodes, tiles)


@jax.named_scope("surface_gradient")
def surface_gradient(
    casing: GradientCasing, B: Float[Array, "a b 3"]
) -> Float[Array, "3 3 tphi ttheta"]:
    """Return D of the module's first lines, which does not depend on the sign of the normal."""
    (i, j), (a, b) = casing.rule.overlap, casing.rule.trg_shape
    phi = casing.field_phi[:, i:][:, : a * casing.rule.stride_phi : casing.rule.stride_phi]
    theta = casing.field_theta[:, j:][:, : b * casing.rule.stride_theta : casing.rule.stride_theta]
    slopes = (
        resampled(as_rows(B), casing.field_phi_slope, theta),
        resampled(as_rows(B), phi, casing.field_theta_slope),
    )
    return total_gradient(casing.dual_basis, slopes)
