"""Gradients on the surface of the fields that virtual casing separates.

The tangential derivatives of B jump across the surface as its own data say, and the field is
free of divergence and curl on either side; with e^a the dual tangents,

    D = sum_a e^a (x) d_a B + n (x) d,   d = sum_a e^a (n.d_a B) - n sum_a e^a.d_a B,
    grad B_ext = D/2 + FP grad T[B],   grad B_int = D/2 - FP grad T[B] = D - grad B_ext,

FP being Hadamard's finite part of the integral at points of the surface. Nothing is extrapolated
from points beside it.
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
from vcjax._kernels.gradient_far import far_gradient, rotate_tensor
from vcjax._kernels.gradient_near import combine_gradient, gradient_weights_at
from vcjax._kernels.near import apply_weights, stored_weights
from vcjax._memory import GRADIENT_PARTS
from vcjax._near_options import NearOptions, resolve_near
from vcjax._pytree import pytree
from vcjax._quadrature.gradient_tables import GradientTables, gradient_tables
from vcjax._quadrature.rule import Rule


@pytree
@dataclass(frozen=True, eq=False)
class GradientCasing:
    """A surface made ready for gradients: an immutable pytree, to be passed as an argument.

    Its weights take three times the memory of a `Casing`, and it likes a finer rule; therefore it
    is a thing of its own.

    Attributes
    ----------
    rule : static; the sizes of everything below.
    field_phi, field_theta : interpolation of a field from its grid to the quadrature grid of one
        period.
    field_phi_slope, field_theta_slope : derivatives of that interpolation at the targets.
    sources, area_normals : (3, period_rows, quad_ntheta) laboratory points and outward normals; a
        normal's length is the area of its node.
    dual_basis : (3, 3, trg_nphi, trg_ntheta) dual tangents of phi and theta and the unit normal,
        co-rotating components.
    near_weights : (trg_nphi, trg_ntheta, 12, patch) correction of the punctured sum around each
        target; on many devices divided by rows, which are filled up until they can be.
    near_recipe : what weights are made of where they are streamed, otherwise empty.
    near_block : static; largest number of targets whose near part is treated at once.
    devices : static; the mesh over which targets are divided, or None.
    """

    rule: Rule = field(metadata={"static": True})
    field_phi: Float[Array, "row i"]
    field_theta: Float[Array, "column j"]
    field_phi_slope: Float[Array, "tphi i"]
    field_theta_slope: Float[Array, "ttheta j"]
    sources: Float[Array, "3 row column"]
    area_normals: Float[Array, "3 row column"]
    dual_basis: Float[Array, "3 3 tphi ttheta"]
    near_weights: Float[Array, "tphi ttheta 12 patch"] | None
    near_recipe: tuple = ()
    near_block: int = field(default=1, metadata={"static": True})
    devices: Mesh | None = field(default=None, metadata={"static": True})


def prepare_gradient(
    rule: Rule,
    X: Float[Array | np.ndarray, "nphi ntheta 3"],
    *,
    constants: GradientTables | None = None,
    near_weights: str = "float64",
    near_block_size: int | str = "auto",
    devices: Devices = None,
) -> GradientCasing:
    """Everything about the gradients on a surface that does not depend on the field.

    Differentiable in X. Under an outer ``jit`` pass ``constants = vcjax.gradient_tables(rule)``
    as an argument of the outer function: made inside it, they would be embedded in its program.

    Parameters
    ----------
    rule : from ``choose(..., gradient=True)``; a rule chosen for the field loses a digit or two.
    X : (nphi, ntheta, 3) surface points, of the shape that the rule was chosen for; may be
        traced.
    constants : `gradient_tables` of the rule; made here unless given.
    near_weights, near_block_size : as for `vcjax.prepare`.
    devices : a mesh or a list of devices among which the targets are divided, here and in every
        evaluation of the casing; None for one device. See ``docs/devices.md``.

    Returns
    -------
    GradientCasing

    Raises
    ------
    VcjaxError : for a surface that does not fit the rule, NaN, devices that cannot be used, or
        32-bit mode.
    """
    check_x64("prepare_gradient")
    if not isinstance(rule, Rule):
        raise VcjaxError(
            f"prepare_gradient got a rule of type {type(rule).__name__}; "
            "make one with vcjax.choose(..., gradient=True)."
        )
    check_vectors("prepare_gradient", "X", X, rule.surface_shape)
    mesh = device_mesh("prepare_gradient", devices, rule.trg_shape[0] * rule.trg_shape[1])
    near = resolve_near("prepare_gradient", rule, GRADIENT_PARTS, near_weights, near_block_size)
    constants = gradient_tables(rule) if constants is None else constants
    check_constants("prepare_gradient", constants, GradientTables, "vcjax.gradient_tables")
    return _prepare(rule, mesh, near, *copied((jnp.asarray(X), constants), mesh))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _prepare(
    rule: Rule, mesh: Mesh | None, near: NearOptions, X, constants: GradientTables
) -> GradientCasing:
    x, x_phi, x_theta, normals = surface_nodes(rule, X, constants.field)
    angles = row_angles(rule)

    recipe = x, normals, constants

    def weights(rows, *recipe):
        at = gradient_weights_at(*recipe, rule=rule)
        return stored_weights(at, rule, rows, near.block, near.dtype)

    return GradientCasing(
        rule=rule,
        field_phi=constants.field.field_phi,
        field_theta=constants.field.field_theta,
        field_phi_slope=constants.field_phi_slope,
        field_theta_slope=constants.field_theta_slope,
        sources=resample.rotate(x, angles, jnp),
        area_normals=resample.rotate(normals, angles, jnp),
        dual_basis=_dual_basis(at_targets(x_phi, rule), at_targets(x_theta, rule)),
        near_weights=None if near.streamed else divided(weights, mesh, target_rows(rule), *recipe),
        near_recipe=recipe if near.streamed else (),
        near_block=near.block,
        devices=mesh,
    )


def external_gradient(
    casing: GradientCasing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> Float[Array, "trg_nphi trg_ntheta 3 3"]:
    """Gradient of the field of the currents outside, on the target grid.

    Linear in B, and differentiable in B and in the casing.

    Parameters
    ----------
    casing : from `prepare_gradient`.
    B : (src_nphi, src_ntheta, 3) total field on the grid that the rule was chosen for, any unit.
    chunk_size, target_chunk_size : largest number of sources and targets of a tile of the far
        field, or "auto". They change speed and memory, and the result by rounding only.

    Returns
    -------
    (trg_nphi, trg_ntheta, 3, 3) with [..., i, k] = d_i B_k in Cartesian components, in the unit
    of B over that of X.

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
    """Gradient of the field of the plasma's own currents; see `external_gradient`.

    It is taken on the vacuum side: the limit from outside the surface, where B_int is free of
    curl. That of B_ext is the same from either side.
    """
    return _separate("internal_gradient", casing, B, chunk_size, target_chunk_size, -1.0)


def _separate(call, casing, B, chunk_size, target_chunk_size, sign):
    check_x64(call)
    check_gradient_casing(call, casing)
    check_vectors(call, "B", B, casing.rule.src_shape)
    chunks = resolve_chunks(call, "GRADB", chunk_size, target_chunk_size)
    return _gradient(casing, copied(jnp.asarray(B), casing.devices), chunks, sign)


def check_gradient_casing(call: str, casing) -> None:
    """Refuse what `prepare_gradient` did not make."""
    if not isinstance(casing, GradientCasing):
        raise VcjaxError(
            f"{call} got a casing of type {type(casing).__name__}; "
            "make one with vcjax.prepare_gradient."
        )
    check_double(call, casing)


@partial(jax.jit, static_argnums=(2, 3))
def _gradient(casing: GradientCasing, B, chunks: tuple[int, int], sign: float):
    rule = casing.rule
    samples = resample.field_period(B.transpose(2, 0, 1), rule.nfp, rule.half_period, jnp)
    nodes = resample.interpolate(casing.field_phi, samples, casing.field_theta, jnp)
    jump = rotate_tensor(surface_gradient(casing, samples), target_angles(rule))
    total = 0.5 * jump + sign * gradient_operator(casing, nodes, chunks)
    return total.transpose(2, 3, 0, 1)


def gradient_operator(
    casing: GradientCasing, nodes: Float[Array, "3 row column"], chunks: tuple[int, int]
) -> Float[Array, "3 3 tphi ttheta"]:
    """FP grad T of a field on the quadrature nodes; co-rotating components in, laboratory out."""
    rule = casing.rule
    targets = at_targets(casing.sources, rule).reshape(3, -1).T
    laboratory = resample.rotate(nodes, row_angles(rule), jnp)

    def far_part(targets, sources, normals, laboratory):
        return far_gradient(
            targets,
            sources,
            normals,
            laboratory,
            nfp=rule.nfp,
            aspect=rule.patch_phi / rule.patch_theta,
            chunk_size=chunks[0],
            target_chunk_size=chunks[1],
        )

    def near_part(rows, nodes, *recipe):
        weights = gradient_weights_at(*recipe, rule=rule) if recipe else rows[1]
        return apply_weights(combine_gradient, nodes, weights, rule, rows[0], casing.near_block)

    everywhere, count = (casing.sources, casing.area_normals, laboratory), targets.shape[0]
    far = over_targets(far_part, casing.devices, targets, *everywhere, count=count, axis=2)
    rows, everywhere = (target_rows(rule), casing.near_weights), (nodes, *casing.near_recipe)
    near = over_targets(near_part, casing.devices, rows, *everywhere, count=rule.trg_shape[0])
    near = near.transpose(2, 3, 0, 1)
    return rotate_tensor(near, target_angles(rule)) + far.reshape(near.shape)


def _dual_basis(x_phi, x_theta) -> Float[Array, "3 3 tphi ttheta"]:
    """Dual tangents of phi and theta, and the unit normal."""
    normal = jnp.cross(x_phi, x_theta, axis=0)
    square = (normal**2).sum(axis=0)
    along_phi, along_theta = jnp.cross(x_theta, normal, axis=0), jnp.cross(normal, x_phi, axis=0)
    return jnp.stack([along_phi / square, along_theta / square, normal / jnp.sqrt(square)])


@jax.named_scope("surface_gradient")
def surface_gradient(casing: GradientCasing, samples) -> Float[Array, "3 3 tphi ttheta"]:
    """D of the module's first lines; unchanged if the normal turns round."""
    rule = casing.rule
    phi = casing.field_phi[: rule.trg_shape[0] * rule.stride_phi : rule.stride_phi]
    theta = casing.field_theta[:: rule.stride_theta]
    _, *slopes = resample.tangents(
        samples,
        (phi, casing.field_phi_slope),
        (theta, casing.field_theta_slope),
        jnp.zeros(rule.trg_shape[0]),
        jnp,
    )
    *dual, normal = casing.dual_basis
    D = sum(e[:, None] * slope for e, slope in zip(dual, slopes, strict=True))
    across = sum(
        e * (normal * slope).sum(axis=0) - normal * (e * slope).sum(axis=0)
        for e, slope in zip(dual, slopes, strict=True)
    )
    return D + normal[:, None] * across
