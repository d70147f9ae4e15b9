"""Prepare once, evaluate often: the casing of a surface and the fields it separates.

Virtual casing (Shafranov and Zakharov 1972; Hanson 2015), with r = x - y and n the outward unit
normal at y:

    T[B](x) = 1/(4 pi) PV int { B x (n x r) - B (n.r) } / r^3 dA
    B_ext = B/2 + T[B],   B_int = B/2 - T[B]     on the surface.
"""

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Float

from vcjax._checks import check_constants, check_double, check_vectors, check_x64
from vcjax._chunks import resolve_chunks
from vcjax._devices import Devices, copied, device_mesh, divided, over_targets
from vcjax._errors import VcjaxError
from vcjax._geometry import resample
from vcjax._geometry.nodes import at_targets, row_angles, surface_nodes, target_angles, target_rows
from vcjax._kernels.far import far_field
from vcjax._kernels.near import apply_weights, combine_field, field_weights_at, stored_weights
from vcjax._memory import FIELD_PARTS
from vcjax._near_options import NearOptions, resolve_near
from vcjax._precision import resolve_far_dtype
from vcjax._pytree import pytree
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables, tables


@pytree
@dataclass(frozen=True, eq=False)
class Casing:
    """A surface made ready for evaluation: an immutable pytree, to be passed as an argument.

    Attributes
    ----------
    rule : static; the sizes of everything below.
    field_phi, field_theta : interpolation of a field from its grid to the quadrature grid of one
        period.
    sources, area_normals : (3, period_rows * quad_ntheta) laboratory points and outward normals; a
        normal's length is the area of its node.
    near_weights : (trg_nphi, trg_ntheta, 4, patch) correction of the punctured sum around each
        target; on many devices divided by rows, which are filled up until they can be.
    near_recipe : what weights are made of where they are streamed, otherwise empty.
    near_block : static; largest number of targets whose near part is treated at once.
    devices : static; the mesh over which targets are divided, or None.
    """

    rule: Rule = field(metadata={"static": True})
    field_phi: Float[Array, "row i"]
    field_theta: Float[Array, "column j"]
    sources: Float[Array, "3 n"]
    area_normals: Float[Array, "3 n"]
    near_weights: Float[Array, "tphi ttheta 4 patch"] | None
    near_recipe: tuple = ()
    near_block: int = field(default=1, metadata={"static": True})
    devices: Mesh | None = field(default=None, metadata={"static": True})


def prepare(
    rule: Rule,
    X: Float[Array | np.ndarray, "nphi ntheta 3"],
    *,
    constants: Tables | None = None,
    near_weights: str = "float64",
    near_block_size: int | str = "auto",
    devices: Devices = None,
) -> Casing:
    """Everything about a surface that does not depend on the field.

    Differentiable in X. Under an outer ``jit`` pass ``constants = vcjax.tables(rule)`` as an
    argument of the outer function: made inside it, they would be embedded in its program.

    Parameters
    ----------
    rule : from `choose`.
    X : (nphi, ntheta, 3) surface points, of the shape that the rule was chosen for; may be
        traced.
    constants : `tables` of the rule; made here unless given.
    near_weights : "float64" stores the weights of the near part; "float32" stores them in half the
        memory, an error of about 1e-7; "streamed" recomputes them at every evaluation, for many
        targets or a single one. See ``docs/parameters.md``.
    near_block_size : largest number of targets whose weights are made at once, or "auto"; a divisor
        of the number of columns of targets is taken.
    devices : a mesh or a list of devices among which the targets are divided, here and in every
        evaluation of the casing; None for one device. See ``docs/devices.md``.

    Returns
    -------
    Casing

    Raises
    ------
    VcjaxError : for a surface that does not fit the rule, NaN, devices that cannot be used, weights
        that do not fit into memory, or 32-bit mode.
    """
    check_x64("prepare")
    if not isinstance(rule, Rule):
        raise VcjaxError(
            f"prepare got a rule of type {type(rule).__name__}; make one with vcjax.choose."
        )
    check_vectors("prepare", "X", X, rule.surface_shape)
    mesh = device_mesh("prepare", devices, rule.trg_shape[0] * rule.trg_shape[1])
    near = resolve_near("prepare", rule, FIELD_PARTS, near_weights, near_block_size)
    constants = tables(rule) if constants is None else constants
    check_constants("prepare", constants, Tables, "vcjax.tables")
    return _prepare(rule, mesh, near, *copied((jnp.asarray(X), constants), mesh))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _prepare(rule: Rule, mesh: Mesh | None, near: NearOptions, X, constants: Tables) -> Casing:
    x, _, _, normals = surface_nodes(rule, X, constants)
    angles = row_angles(rule)

    recipe = x, normals, constants

    def weights(rows, *recipe):
        return stored_weights(
            field_weights_at(*recipe, rule=rule), rule, rows, near.block, near.dtype
        )

    return Casing(
        rule=rule,
        field_phi=constants.field_phi,
        field_theta=constants.field_theta,
        sources=resample.rotate(x, angles, jnp).reshape(3, -1),
        area_normals=resample.rotate(normals, angles, jnp).reshape(3, -1),
        near_weights=None if near.streamed else divided(weights, mesh, target_rows(rule), *recipe),
        near_recipe=recipe if near.streamed else (),
        near_block=near.block,
        devices=mesh,
    )


def external_field(
    casing: Casing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
    far_dtype: str = "float64",
) -> Float[Array, "trg_nphi trg_ntheta 3"]:
    """The field of the currents outside: B_ext = B/2 + T[B] on the target grid.

    Linear in B, and differentiable in B and in the casing.

    Parameters
    ----------
    casing : from `prepare`.
    B : (src_nphi, src_ntheta, 3) total field on the grid that the rule was chosen for, any unit.
    chunk_size, target_chunk_size : largest number of sources and targets of a tile of the far
        field, or "auto". They change speed and memory, and the result by rounding only.
    far_dtype : in which the far field is summed: "float64", "float32" for a rule of at most 5
        digits (twice as fast on a CPU, adds about 3e-6 of max |B| at most), or "auto" for float32
        where it is allowed.

    Returns
    -------
    (trg_nphi, trg_ntheta, 3) Cartesian components, in the unit of B.

    Raises
    ------
    VcjaxError : for a field that does not fit the casing, NaN, or 32-bit mode.
    """
    sizes = chunk_size, target_chunk_size
    return _separate("external_field", casing, B, sizes, far_dtype, 1.0)


def internal_field(
    casing: Casing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
    far_dtype: str = "float64",
) -> Float[Array, "trg_nphi trg_ntheta 3"]:
    """The field of the plasma's own currents, B_int = B/2 - T[B]; see `external_field`."""
    sizes = chunk_size, target_chunk_size
    return _separate("internal_field", casing, B, sizes, far_dtype, -1.0)


def _separate(call, casing, B, sizes, far_dtype, sign):
    check_x64(call)
    check_casing(call, casing)
    check_vectors(call, "B", B, casing.rule.src_shape)
    tiles = *resolve_chunks(call, "B", *sizes), resolve_far_dtype(call, casing.rule, far_dtype)
    return _field(casing, copied(jnp.asarray(B), casing.devices), tiles, sign)


def check_casing(call: str, casing) -> None:
    """Refuse what `prepare` did not make."""
    if not isinstance(casing, Casing):
        raise VcjaxError(
            f"{call} got a casing of type {type(casing).__name__}; make one with vcjax.prepare."
        )
    check_double(call, casing)


@partial(jax.jit, static_argnums=(2, 3))
def _field(casing: Casing, B, tiles: tuple[int, int, str], sign: float):
    rule = casing.rule
    samples = resample.field_period(B.transpose(2, 0, 1), rule.nfp, rule.half_period, jnp)
    nodes = resample.interpolate(casing.field_phi, samples, casing.field_theta, jnp)
    total = 0.5 * at_targets(nodes, rule) + sign * casing_operator(casing, nodes, *tiles)
    return resample.rotate(total, target_angles(rule), jnp).transpose(1, 2, 0)


def casing_operator(
    casing: Casing,
    nodes: Float[Array, "3 row column"],
    chunk_size: int,
    target_chunk_size: int,
    far_dtype: str = "float64",
):
    """T of a field on the quadrature nodes; co-rotating components in and out."""
    rule = casing.rule
    sources = casing.sources.reshape(nodes.shape)
    targets = at_targets(sources, rule).reshape(3, -1).T
    normals = casing.area_normals.reshape(nodes.shape)
    laboratory = resample.rotate(nodes, row_angles(rule), jnp)

    def far_part(targets, sources, normals, laboratory):
        return far_field(
            targets,
            sources,
            normals,
            laboratory,
            nfp=rule.nfp,
            aspect=rule.patch_phi / rule.patch_theta,
            chunk_size=chunk_size,
            target_chunk_size=target_chunk_size,
            dtype=far_dtype,
        )

    def near_part(rows, nodes, *recipe):
        weights = field_weights_at(*recipe, rule=rule) if recipe else rows[1]
        return apply_weights(combine_field, nodes, weights, rule, rows[0], casing.near_block)

    everywhere, count = (sources, normals, laboratory), targets.shape[0]
    far = over_targets(far_part, casing.devices, targets, *everywhere, count=count, axis=1)
    far = resample.rotate(far.reshape(3, *rule.trg_shape), -target_angles(rule), jnp)
    rows, everywhere = (target_rows(rule), casing.near_weights), (nodes, *casing.near_recipe)
    near = over_targets(near_part, casing.devices, rows, *everywhere, count=rule.trg_shape[0])
    return far + near.transpose(2, 0, 1)
