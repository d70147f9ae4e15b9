"""Compute the gradients of the external and the internal field on the surface.

Let a stand for phi and theta, d_a for the derivative along a, and e^a for the dual tangents. Let n
be the unit normal and T[B] as in `vcjax._casing`. The sign (x) denotes the tensor product. FP
denotes Hadamard's finite part of an integral at points of the surface.

The values of B on the surface give the tangential derivatives of B. The equations div B = 0 and
curl B = 0 on the vacuum side give d, the derivative of B along n. All these derivatives form the
matrix D. D and T[B] give both gradients:

    D = sum_a e^a (x) d_a B + n (x) d,   d = sum_a e^a (n.d_a B) - n sum_a e^a.d_a B,
    grad B_ext = D/2 + FP grad T[B],   grad B_int = D/2 - FP grad T[B] = D - grad B_ext.

Both gradients are symmetric matrices without trace, because both fields have neither curl nor
divergence on the vacuum side. Therefore only the symmetric traceless part of D and of the integral
is kept. If currents cross the surface, the integral also has an antisymmetric part, which is left
out.

Nothing is extrapolated from points off the surface.
"""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from vcjax._annotations import Array, Float
from vcjax._checks import check_constants
from vcjax._data_checks.watch import watch
from vcjax._devices import Devices, copied, device_mesh
from vcjax._geometry.jump import dual_basis, symmetric_traceless, total_gradient
from vcjax._geometry.nodes import Rows, at_targets, on_rows, set_up, surface_nodes
from vcjax._geometry.resample import as_rows, resampled
from vcjax._kernels.gradient import (
    GRADIENT,
    combine_gradient,
    gradient_puncture,
    gradient_weights_at,
)
from vcjax._options import Tiles, resolve_tiles
from vcjax._prepared import (
    Kernels,
    PreparedTargets,
    apply_operator,
    check_evaluation,
    check_preparation,
    near_fields,
    near_options,
    on_nodes,
    source_fields,
    warn_of_field_rule,
)
from vcjax._programs.compiled import operands
from vcjax._programs.groups import by_rows, row_groups
from vcjax._pytree import pytree
from vcjax._quadrature.rule import GRADIENT_PARTS, Rule
from vcjax._quadrature.tables import GradientTables, Tables, gradient_tables

_KERNELS = Kernels(
    GRADIENT, GRADIENT_PARTS, gradient_weights_at, combine_gradient, gradient_puncture
)


@pytree
@dataclass(frozen=True, eq=False, kw_only=True)
class GradientCasing(PreparedTargets):
    """A surface prepared for evaluating gradients on it; made by `prepare_gradient`.

    It is an immutable pytree: pass it to jitted functions as an argument. With the same rule, its
    near weights take twice the memory of the weights of a `Casing`. A gradient needs a finer rule
    than a field.

    Attributes
    ----------
    field_phi_slope, field_theta_slope : matrices from a field to its derivatives along phi and
        along theta at the targets.
    dual_basis : (3, 3, trg_nphi, trg_ntheta) dual tangents of phi and theta and the unit normal at
        the targets, in laboratory components.
    rule, field_phi, field_theta, turns, nodes, near_weights, near_recipe, near_block, devices :
        the attributes of a `Casing`.
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
    """Prepare a surface for gradients: compute the quantities that do not depend on the field.

    The result is differentiable in X. For use under an outer ``jit``, see `prepare`.

    Parameters
    ----------
    rule : made by ``choose(..., gradient=True)``. With a rule chosen for fields, gradients lose one
        to three digits.
    X : (nphi, ntheta, 3) surface points, of the shape that the rule was chosen for; may be
        traced.
    constants : ``gradient_tables(rule)``; computed here if None.
    near_weights, near_block_size, devices : see `prepare`.

    Returns
    -------
    GradientCasing : for `external_gradient`, `internal_gradient`, `self_test` and `error_estimate`.

    Raises
    ------
    VcjaxError : for the same reasons as `prepare`.

    Warns
    -----
    UnresolvedWarning : if the rule was chosen for fields, or if it was chosen for another surface
        and is too coarse for X.
    AccuracyWarning : if weights in "float32" do not keep the digits of the rule.
    """
    call = "prepare_gradient"
    check_preparation(call, rule, X, "vcjax.choose(..., gradient=True)")
    mesh = device_mesh(call, devices, rule.target_count)
    constants = gradient_tables(rule) if constants is None else constants
    options = near_weights, near_block_size
    groups, near = near_options(call, _KERNELS, rule, mesh, options, X, constants)
    check_constants(call, constants, GradientTables, "vcjax.gradient_tables")
    warn_of_field_rule(call, rule, "vcjax.choose")
    nodes, dual_basis = set_up(call, _nodes_and_basis, rule, X, constants.field)
    nodes, dual_basis, kept = copied((nodes, dual_basis, constants), mesh)
    casing = GradientCasing(
        **source_fields(rule, mesh, kept.field, nodes),
        **near_fields(_KERNELS, rule, near, groups, mesh, nodes, kept),
        field_phi_slope=kept.field_phi_slope,
        field_theta_slope=kept.field_theta_slope,
        dual_basis=dual_basis,
    )
    watch(call, casing, X)
    return casing


def _nodes_and_basis(rule: Rule, X, constants: Tables, xp: Any):
    nodes, *tangents = surface_nodes(rule, X, constants, xp)
    x_phi, x_theta = (at_targets(v, rule) for v in tangents)
    return nodes, dual_basis(x_phi, x_theta, xp)


def external_gradient(
    casing: GradientCasing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> Float[Array, "trg_nphi trg_ntheta 3 3"]:
    """Return the gradient of the field of the currents outside the surface, at the targets.

    The gradient is linear in B, and differentiable in B and in the casing. It is symmetric and
    traceless. See `vcjax._gradient` for the equations.

    Parameters
    ----------
    casing : made by `prepare_gradient`.
    B : (src_nphi, src_ntheta, 3) total field on the grid that the rule was chosen for, any unit.
    chunk_size, target_chunk_size : see `external_field`. A tile has at most 1024 sources, because
        rounding errors grow with the number of sources.

    Returns
    -------
    (trg_nphi, trg_ntheta, 3, 3) with [..., i, k] = d_i B_k in Cartesian components, in the unit
    of B over the unit of X.

    Raises
    ------
    VcjaxError : in any of these cases

        - B is not a finite float64 array of the rule's shape.
        - The casing was not made by `prepare_gradient`.
        - An option is invalid.
        - JAX runs in 32-bit mode, or in a process forked after JAX started.

    Warns
    -----
    ContradictionWarning, UnresolvedWarning, NoiseWarning : see `external_field`.
    """
    return _separate("external_gradient", casing, B, chunk_size, target_chunk_size, 1.0)


def internal_gradient(
    casing: GradientCasing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> Float[Array, "trg_nphi trg_ntheta 3 3"]:
    """Return the gradient of the field of the currents inside the surface, at the targets.

    The result is the limit from outside the surface, the vacuum side, where B_int is free of curl.
    (The gradient of B_ext has the same limit from either side.) Parameters, shapes, units,
    errors and warnings are the same as for `external_gradient`.
    """
    return _separate("internal_gradient", casing, B, chunk_size, target_chunk_size, -1.0)


def _separate(call, casing, B, chunk_size, target_chunk_size, sign):
    check_evaluation(call, casing, GradientCasing, "vcjax.prepare_gradient", B)
    groups = row_groups(casing.rule, casing.devices, casing, B)
    tiles = resolve_tiles(call, "GRADB", chunk_size, target_chunk_size, grouped=bool(groups))
    return _gradient(groups, casing, copied(operands(B), casing.devices), tiles, sign)


@by_rows(static_argnums=(3, 4))
def _gradient(rows: Rows, casing: GradientCasing, B, tiles: Tiles, sign: float):
    jump = surface_gradient(casing, B, rows)
    total = 0.5 * jump + sign * gradient_operator(casing, on_nodes(casing, B), tiles, rows)
    return total.transpose(2, 3, 0, 1)


def gradient_operator(
    casing: GradientCasing, nodes: Float[Array, "3 row column"], tiles: Tiles, rows: Rows = None
) -> Float[Array, "3 3 tphi ttheta"]:
    """Return the symmetric traceless part of the integral FP grad T[B] at the targets.

    The module's docstring defines the integral. `nodes` is the field B on the continued nodes, as
    `on_nodes` returns it. The result has laboratory components. If rows are given, the result has
    these rows only.
    """
    return symmetric_traceless(apply_operator(_KERNELS, casing, nodes, tiles, rows))


@jax.named_scope("surface_gradient")
def surface_gradient(
    casing: GradientCasing, B: Float[Array, "a b 3"], rows: Rows = None
) -> Float[Array, "3 3 tphi ttheta"]:
    """Return the symmetric traceless part of D at the targets in the given rows; all rows if None.

    The docstring of the module defines D. The sign of the normal has no effect on D.
    """
    (i, j), (a, b) = casing.rule.overlap, casing.rule.trg_shape
    phi = casing.field_phi[:, i:][:, : a * casing.rule.stride_phi : casing.rule.stride_phi]
    theta = casing.field_theta[:, j:][:, : b * casing.rule.stride_theta : casing.rule.stride_theta]
    slopes = (
        resampled(as_rows(B), casing.field_phi_slope, theta),
        resampled(as_rows(B), phi, casing.field_theta_slope),
    )
    slopes = [on_rows(slope, rows) for slope in slopes]
    basis = casing.dual_basis if rows is None else casing.dual_basis[:, :, rows]
    return total_gradient(basis, slopes)
