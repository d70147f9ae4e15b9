"""Prepare sources and near weights, and apply the operator: the steps that casings share.

A casing is prepared once from a rule and a surface, and then evaluated for many fields. `Prepared`
has the attributes of every casing. `PreparedTargets` adds the near part of casings with targets on
the surface. The operators of fields and gradients differ only in their `Kernels`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh

from vcjax._annotations import Array, Float
from vcjax._checks import check_casing, check_jax, check_rule, check_vectors
from vcjax._data_checks.watch import check_evaluated
from vcjax._devices import divided, over_targets
from vcjax._errors import UnresolvedWarning, VcjaxError, warn
from vcjax._geometry.nodes import Rows, at_targets, one_period, target_rows
from vcjax._geometry.resample import as_rows, resampled
from vcjax._kernels.far import Kernel, far_sum
from vcjax._kernels.near import apply_weights, over_blocks, punctured_squares, target_spacing
from vcjax._options import NearOptions, Tiles, resolve_near, weights_bytes
from vcjax._programs.groups import RowGroups, by_rows, row_groups
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables


@dataclass(frozen=True, eq=False, kw_only=True)
class Prepared:
    """A surface prepared for evaluation; the base class of all casings.

    Attributes
    ----------
    rule : the rule with which the surface was prepared; static. It determines the sizes below.
    field_phi, field_theta : matrices that interpolate a field from its grid to the nodes.
    turns : rotations about the z axis by 0 .. nfp - 1 field periods.
    nodes : (6, row, column) points and outward normals at the continued nodes: the nodes of one
        period, and the rows and columns of ``rule.overlap`` on each side. All components are
        laboratory components. The length of a normal is the area that its node stands for.
    devices : the mesh over which targets (or points off the surface) are divided, or None; static.
    """

    rule: Rule = field(metadata={"static": True})
    field_phi: Float[Array, "3 row i"]
    field_theta: Float[Array, "images column j"]
    turns: Float[Array, "nfp 3 3"]
    nodes: Float[Array, "part row column"]
    devices: Mesh | None = field(default=None, metadata={"static": True})

    @property
    def sources(self) -> Float[Array, "3 row column"]:
        """Return the quadrature nodes of one period as points, in laboratory components."""
        return one_period(self.nodes[:3], self.rule)

    @property
    def area_normals(self) -> Float[Array, "3 row column"]:
        """Return outward normals at `sources`; the length of a normal is the area of its node."""
        return one_period(self.nodes[3:6], self.rule)


@dataclass(frozen=True, eq=False, kw_only=True)
class PreparedTargets(Prepared):
    """A prepared surface with targets on it; the base class of `Casing` and `GradientCasing`.

    Attributes
    ----------
    near_weights : (trg_nphi, trg_ntheta, k, patch) weights of the nodes around each target, which
        correct the far sum; k is 4 for the field and 8 for the gradient. None if the weights are
        recomputed at each evaluation. With several devices, copies of the last row are appended
        until the number of rows is a multiple of the number of devices. The rows are then divided
        among the devices.
    near_recipe : the tables from which weights are recomputed; empty if the weights are stored.
    near_block : largest number of targets whose near part is computed at once; static.
    """

    near_weights: Float[Array, "tphi ttheta k patch"] | None
    near_recipe: tuple = ()
    near_block: int = field(default=1, metadata={"static": True})


class Kernels(NamedTuple):
    """The attributes that distinguish the operator of fields from the operator of gradients.

    `far` is the kernel of the sum over all sources. `parts` is the number of near weights for each
    node of a patch. `weights_at` maps nodes and tables to a function that returns the near weights
    of targets. `combine` maps near weights and the field on patches to values at the targets.
    `puncture` maps a rule to the argument `puncture` of `vcjax._kernels.near.split_weights`.
    """

    far: Kernel
    parts: int
    weights_at: Callable
    combine: Callable
    puncture: Callable = lambda rule: 0.0


def check_preparation(call: str, rule, X, choose: str = "vcjax.choose") -> None:
    """Raise `VcjaxError` unless the rule and the surface given to a preparation are valid."""
    check_jax(call)
    check_rule(call, rule, choose)
    if bool(rule.core_count) != (choose == "vcjax.choose_off_surface"):
        where = "off" if rule.core_count else "on"
        raise VcjaxError(
            f"{call} got a rule for points {where} the surface; make the rule with {choose}."
        )
    check_vectors(call, "X", X, rule.surface_shape)


def warn_of_field_rule(call: str, rule: Rule, choose: str) -> None:
    """Warn if the rule was chosen for fields; the call computes gradients."""
    if not rule.gradient:
        warn(
            call,
            "got a rule chosen for fields; gradients will have fewer digits than the rule was "
            f"chosen for. Make the rule with {choose}(..., gradient=True).",
            UnresolvedWarning,
        )


def check_evaluation(call: str, casing, kind: type[Prepared], prepare: str, B) -> None:
    """Raise `VcjaxError` unless the casing and the field given to an evaluation are valid.

    Warn if the field will not give the requested digits on this casing.
    """
    check_jax(call)
    check_casing(call, casing, kind, prepare)
    check_vectors(call, "B", B, casing.rule.src_shape)
    check_evaluated(call, casing, B)


def source_fields(rule: Rule, devices: Mesh | None, constants: Tables, nodes) -> dict:
    """Return the values of the attributes of `Prepared`, by name."""
    return dict(
        rule=rule,
        field_phi=constants.field_phi,
        field_theta=constants.field_theta,
        turns=constants.turns,
        nodes=nodes,
        devices=devices,
    )


def near_options(
    call: str, kernels: Kernels, rule: Rule, mesh: Mesh | None, options: tuple, *values: Any
) -> tuple[RowGroups | None, NearOptions]:
    """Return the groups of target rows in which near weights are computed, and the near options.

    `options` are the arguments near_weights and near_block_size. See `row_groups` for `values`.
    """
    row_bytes = weights_bytes(rule, kernels.parts) // rule.trg_shape[0]
    groups = row_groups(rule, mesh, *values, row_bytes=row_bytes)
    share = dict(grouped=groups is not None, devices=1 if mesh is None else mesh.size)
    return groups, resolve_near(call, rule, kernels.parts, *options, **share)


def near_fields(
    kernels: Kernels,
    rule: Rule,
    near: NearOptions,
    groups: RowGroups | None,
    devices: Mesh | None,
    nodes,
    constants,
) -> dict:
    """Return the values of the attributes that `PreparedTargets` adds to `Prepared`, by name."""
    if near.streamed:
        return dict(near_weights=None, near_recipe=(constants,), near_block=near.block)
    stored = _stored(groups, kernels, rule, near, devices, nodes, constants)
    return dict(near_weights=stored, near_block=near.block)


@by_rows(static_argnums=(1, 2, 3, 4))
def _stored(
    rows: Rows, kernels: Kernels, rule: Rule, near: NearOptions, devices: Mesh | None, *recipe
):
    def weights(rows, *recipe):
        at = kernels.weights_at(*recipe, rule=rule)

        def one_block(row, columns):
            return at(row, columns).astype(near.dtype)

        with jax.named_scope("near_weights"):
            return over_blocks(one_block, rule, rows, near.block)

    return divided(weights, devices, target_rows(rule) if rows is None else rows, *recipe)


def on_nodes(casing: Prepared, B: Float[Array, "a b 3"]) -> Float[Array, "3 row column"]:
    """Interpolate B to the nodes of `casing.nodes`. The result has laboratory components."""
    return resampled(as_rows(B), casing.field_phi, casing.field_theta)


def apply_operator(
    kernels: Kernels,
    casing: PreparedTargets,
    B: Float[Array, "3 row column"],
    tiles: Tiles,
    rows: Rows = None,
) -> Float[Array, "*components tphi ttheta"]:
    """Apply an operator to a field; return laboratory components of the values at the targets.

    `B` is from `on_nodes`. If rows are given, the result has these rows only, and the casing must
    have no `devices`.
    """
    rule, rank = casing.rule, kernels.far.rank
    targets = at_targets(casing.nodes[:3], rule, rows).reshape(3, -1).T
    puncture, punctured = kernels.puncture(rule), None
    if puncture:
        punctured = punctured_squares(puncture, target_spacing(casing.nodes, rule, rows).ravel())

    def far_part(given, *sources):
        targets, punctured = given
        return far_sum(kernels.far, rule, tiles, targets, *sources, punctured=punctured)

    sources = casing.sources, casing.area_normals, one_period(B, rule), casing.turns
    given = targets, punctured
    far = over_targets(far_part, casing.devices, given, *sources, count=len(targets), axis=rank)

    def near_part(given, B, nodes, *recipe):
        rows, weights = given
        if recipe:
            weights = kernels.weights_at(nodes, *recipe, rule=rule)
        elif weights is None:
            weights = partial(_kept_weights, casing)
        return apply_weights(kernels.combine, B, weights, rule, rows, casing.near_block)

    given = (target_rows(rule), casing.near_weights) if rows is None else (rows, None)
    recipe = casing.nodes, *casing.near_recipe
    near = over_targets(near_part, casing.devices, given, B, *recipe, count=len(given[0]))
    near = jnp.moveaxis(near, (0, 1), (-2, -1))
    return far.reshape(near.shape) + near


def _kept_weights(casing: PreparedTargets, row, columns) -> Array:
    """Return the stored near weights (t, k, patch) of consecutive targets in one row."""
    weights = jnp.asarray(casing.near_weights)
    sizes = 1, len(columns), *weights.shape[2:]
    return lax.dynamic_slice(weights, (row, columns[0], 0, 0), sizes)[0].astype(float)
