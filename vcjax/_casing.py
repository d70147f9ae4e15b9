"""Separate the field on the surface: prepare the surface once, then evaluate any number of fields.

Let x be a target, y a point of the surface, and r = x - y. Let n be the outward unit normal at y,
and PV the principal value. By the virtual casing principle (Shafranov and Zakharov 1972; Hanson
2015), a field B on the surface separates into

    B_ext = B/2 + T[B],   B_int = B/2 - T[B],   with
    T[B](x) = 1/(4 pi) PV int { B x (n x r) - B (n.r) } / r^3 dA.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from vcjax._annotations import Array, Float
from vcjax._checks import check_constants
from vcjax._data_checks.watch import watch
from vcjax._devices import Devices, copied, device_mesh
from vcjax._geometry.nodes import Rows, at_targets, set_up, surface_nodes
from vcjax._kernels.far import FIELD
from vcjax._kernels.near import combine_field, field_weights_at
from vcjax._options import Tiles, resolve_far_dtype, resolve_tiles
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
)
from vcjax._programs.compiled import operands
from vcjax._programs.groups import by_rows, row_groups
from vcjax._pytree import pytree
from vcjax._quadrature.rule import FIELD_PARTS, Rule
from vcjax._quadrature.tables import Tables, tables

_KERNELS = Kernels(FIELD, FIELD_PARTS, field_weights_at, combine_field)
casing_operator = partial(apply_operator, _KERNELS)
"""Function that returns T[B] at the targets, (3, trg_nphi, trg_ntheta); see `apply_operator`."""


@pytree
@dataclass(frozen=True, eq=False, kw_only=True)
class Casing(PreparedTargets):
    """A surface prepared for evaluating fields on it; made by `prepare`.

    It is an immutable pytree: pass it to jitted functions as an argument. The classes `Prepared`
    and `PreparedTargets` in `vcjax._prepared` document its attributes.
    """


def prepare(
    rule: Rule,
    X: Float[Array | np.ndarray, "nphi ntheta 3"],
    *,
    constants: Tables | None = None,
    near_weights: str = "float64",
    near_block_size: int | str = "auto",
    devices: Devices = None,
) -> Casing:
    """Prepare a surface: compute the quantities that do not depend on the field.

    The result is differentiable in X. If you call `prepare` in a function under ``jit``, compute
    ``constants = vcjax.tables(rule)`` outside this function. Pass the tables to the function as an
    argument. Tables computed inside the function would be embedded in its program.

    Parameters
    ----------
    rule : made by `choose`.
    X : (nphi, ntheta, 3) surface points, of the shape that the rule was chosen for; may be
        traced.
    constants : ``tables(rule)``; computed here if None.
    near_weights : storage of the near weights. They correct the sum over sources, because the
        kernel is singular at the target. "float64" and "float32" store the weights. "float32" takes
        half the memory, and keeps 7 digits of fields and 4 digits of gradients. "streamed"
        recomputes the weights at every evaluation; use it for many targets or a single evaluation.
        See ``docs/parameters.md``.
    near_block_size : largest number of targets whose weights are computed at once, or "auto". The
        block size is the largest divisor of `trg_ntheta` that is within this limit.
    devices : a mesh or a list of devices among which the targets are divided, here and in every
        evaluation of the casing; None for one device. See ``docs/devices.md``.

    Returns
    -------
    Casing : for `external_field`, `internal_field`, `dense_operator`, `self_test` and
        `error_estimate`.

    Raises
    ------
    VcjaxError : in any of these cases

        - The rule was not made by `choose`.
        - X is not a finite float64 array of the rule's shape, or nearly touches itself.
        - The devices cannot be used.
        - An option or `constants` is invalid.
        - The weights do not fit into memory.
        - JAX runs in 32-bit mode, or in a process forked after JAX started.

    Warns
    -----
    UnresolvedWarning : if the rule was chosen for another surface, and is too coarse for X.
    AccuracyWarning : if weights in "float32" do not keep the digits of the rule.
    """
    check_preparation("prepare", rule, X)
    mesh = device_mesh("prepare", devices, rule.target_count)
    constants = tables(rule) if constants is None else constants
    options = near_weights, near_block_size
    groups, near = near_options("prepare", _KERNELS, rule, mesh, options, X, constants)
    check_constants("prepare", constants, Tables, "vcjax.tables")
    nodes, *_ = set_up("prepare", surface_nodes, rule, X, constants)
    nodes, kept = copied((nodes, constants), mesh)
    casing = Casing(
        **source_fields(rule, mesh, kept, nodes),
        **near_fields(_KERNELS, rule, near, groups, mesh, nodes, kept),
    )
    watch("prepare", casing, X)
    return casing


def external_field(
    casing: Casing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
    far_dtype: str = "float64",
) -> Float[Array, "trg_nphi trg_ntheta 3"]:
    """Return the field of the currents outside the surface, B_ext = B/2 + T[B], at the targets.

    The field is linear in B, and differentiable in B and in the casing. See `vcjax._casing` for T.

    Parameters
    ----------
    casing : made by `prepare`.
    B : (src_nphi, src_ntheta, 3) total field on the grid that the rule was chosen for, any unit.
    chunk_size, target_chunk_size : largest numbers of sources and of targets in a tile, or "auto".
        A tile is a part of the sum over sources and targets that is in memory at one time. The
        sizes change speed and memory. They change the result by rounding only.
    far_dtype : precision of the sum over sources and targets. "float32" is allowed for a rule
        chosen for fields of at most 5 digits. On a CPU it takes half the time of "float64". It adds
        an error of up to 3e-6 of max |B| (W7-X). "auto" means "float32" if the rule allows it, else
        "float64".

    Returns
    -------
    (trg_nphi, trg_ntheta, 3) Cartesian components, in the unit of B.

    Raises
    ------
    VcjaxError : in any of these cases

        - B is not a finite float64 array of the rule's shape.
        - The casing was not made by `prepare`.
        - An option is invalid.
        - JAX runs in 32-bit mode, or in a process forked after JAX started.

    Warns
    -----
    ContradictionWarning, UnresolvedWarning, NoiseWarning : if B cannot give the digits of the rule;
        see ``docs/data.md``.
    """
    return _separate("external_field", casing, B, (chunk_size, target_chunk_size), far_dtype, 1.0)


def internal_field(
    casing: Casing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
    far_dtype: str = "float64",
) -> Float[Array, "trg_nphi trg_ntheta 3"]:
    """Return the field of the currents inside the surface, B_int = B/2 - T[B], at the targets.

    Parameters, shapes, units, errors and warnings are the same as for `external_field`.
    """
    return _separate("internal_field", casing, B, (chunk_size, target_chunk_size), far_dtype, -1.0)


def _separate(call, casing, B, sizes, far_dtype, sign):
    check_evaluation(call, casing, Casing, "vcjax.prepare", B)
    dtype = resolve_far_dtype(call, casing.rule, far_dtype)
    groups = row_groups(casing.rule, casing.devices, casing, B)
    tiles = resolve_tiles(call, "B", *sizes, dtype=dtype, grouped=bool(groups))
    return _field(groups, casing, copied(operands(B), casing.devices), tiles, sign)


@by_rows(static_argnums=(3, 4))
def _field(rows: Rows, casing: Casing, B, tiles: Tiles, sign: float):
    nodes = on_nodes(casing, B)
    here = at_targets(nodes, casing.rule, rows)
    total = 0.5 * here + sign * casing_operator(casing, nodes, tiles, rows)
    return total.transpose(1, 2, 0)
