"""Transforms off the surface: T of fields, and its gradient, at any points.

T[B](x) = B_ext(x) at x inside,   T[B](x) = -B_int(x) at x outside   (see `vcjax._casing`).
"""

from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float

from vcjax._checks import check_constants, check_vectors, check_x64
from vcjax._devices import Devices, copied, device_mesh
from vcjax._errors import VcjaxError
from vcjax._geometry import resample
from vcjax._geometry.foot import Foot, nearest
from vcjax._geometry.nodes import row_angles, surface_nodes
from vcjax._kernels.far import far_field
from vcjax._kernels.off_surface import near_part
from vcjax._pytree import pytree
from vcjax._quadrature.off_surface_tables import OffSurfaceTables, off_surface_tables
from vcjax._quadrature.rule import Rule

_PUNCTURE = 0.7
"""Distance below which the far sum leaves nodes out, over their spacing."""


@pytree
@dataclass(frozen=True, eq=False)
class OffSurfaceCasing:
    """A surface made ready for points off it: an immutable pytree, to be passed as an argument.

    Attributes
    ----------
    rule : static; the sizes of everything below.
    constants : tables of the rule.
    sources, area_normals : (3, period_rows, quad_ntheta) co-rotating components of points and
        outward normals; a normal's length is the area of its node.
    spacing : (2,) least and largest distance of neighbouring nodes, each the larger of that along
        phi and that along theta.
    devices : static; the mesh over which points are divided, or None.
    """

    rule: Rule = field(metadata={"static": True})
    constants: OffSurfaceTables
    sources: Float[Array, "3 row column"]
    area_normals: Float[Array, "3 row column"]
    spacing: Float[Array, " 2"]
    devices: Mesh | None = field(default=None, metadata={"static": True})


def prepare_off_surface(
    rule: Rule,
    X: Float[Array | np.ndarray, "nphi ntheta 3"],
    *,
    constants: OffSurfaceTables | None = None,
    devices: Devices = None,
) -> OffSurfaceCasing:
    """Everything about a surface that depends on neither field nor points.

    Differentiable in X. Under an outer ``jit`` pass ``constants = vcjax.off_surface_tables(rule)``
    as an argument of the outer function: made inside it, they would be embedded in its program.

    Parameters
    ----------
    rule : from `choose_off_surface`.
    X : (nphi, ntheta, 3) surface points, of the shape that the rule was chosen for; may be traced.
    devices : a mesh or a list of devices among which every evaluation divides its points; None for
        one device. See ``docs/devices.md``.

    Raises
    ------
    VcjaxError : for a surface that does not fit the rule, NaN, devices that cannot be used, or
        32-bit mode.
    """
    check_x64("prepare_off_surface")
    if not isinstance(rule, Rule):
        raise VcjaxError(
            f"prepare_off_surface got a rule of type {type(rule).__name__}; "
            "make one with vcjax.choose_off_surface."
        )
    check_vectors("prepare_off_surface", "X", X, rule.surface_shape)
    mesh = device_mesh("prepare_off_surface", devices)
    constants = off_surface_tables(rule) if constants is None else constants
    check_constants("prepare_off_surface", constants, OffSurfaceTables, "vcjax.off_surface_tables")
    return _prepare(rule, mesh, *copied((jnp.asarray(X), constants), mesh))


@partial(jax.jit, static_argnums=(0, 1))
def _prepare(rule: Rule, mesh: Mesh | None, X, constants: OffSurfaceTables) -> OffSurfaceCasing:
    x, x_phi, x_theta, normals = surface_nodes(rule, X, constants.field)
    steps = [
        step * jnp.linalg.norm(tangent, axis=0)
        for step, tangent in zip(rule.spacing, (x_phi, x_theta), strict=True)
    ]
    spacing = lax.stop_gradient(jnp.maximum(*steps))
    spacing = jnp.stack([spacing.min(), spacing.max()])
    return OffSurfaceCasing(rule, constants, x, normals, spacing, mesh)


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


def feet(casing: OffSurfaceCasing, points: Float[Array, "n 3"]) -> Foot:
    """Nearest surface points; not differentiated."""
    return nearest(*lax.stop_gradient((points, casing.sources)), casing.rule)


def transforms(
    casing: OffSurfaceCasing,
    B: Float[Array, "3 row column"],
    points: Float[Array, "n 3"],
    foot: Foot,
    chunks: tuple[int, int],
) -> Transforms:
    """T of a field on the quadrature nodes, co-rotating components, and of the test field."""
    rule = casing.rule
    least, largest = casing.spacing
    punctured = (_PUNCTURE * least) ** 2
    angles = row_angles(rule)
    sources, normals, field = (
        resample.rotate(v, angles, jnp) for v in (casing.sources, casing.area_normals, B)
    )
    test_field = partial(known_field, casing)

    def far(values):
        return far_field(
            points,
            sources,
            normals,
            values,
            nfp=rule.nfp,
            aspect=rule.patch_phi / rule.patch_theta,
            chunk_size=chunks[0],
            target_chunk_size=chunks[1],
            punctured=punctured,
        )

    nodes = jnp.concatenate([casing.sources, casing.area_normals, B])
    # The trapezoidal rule alone errs by exp(-2 pi d/h) at distance d: nothing beyond this.
    needed = foot.distance < largest * (rule.cutoff**2 / np.pi)
    near = near_part(points, foot, needed, nodes, test_field, punctured, casing.constants, rule)
    both = jnp.stack([field, test_field(sources)])
    values = jax.vmap(far)(both).transpose(2, 0, 1) + near.fields
    return Transforms(values, near.at_foot, near.on_surface > 0)


def transform_gradients(
    casing: OffSurfaceCasing,
    B: Float[Array, "3 row column"],
    points: Float[Array, "n 3"],
    foot: Foot,
    chunks: tuple[int, int],
) -> tuple[Transforms, Float[Array, "n 3 2 3"]]:
    """T and [:, i] = d_i T: the derivative of the very quadrature, its nodes held in place."""

    def along(direction):
        directions = jnp.broadcast_to(direction, points.shape)
        # What is no T takes no part.
        (_, slopes, found) = jax.jvp(split, (points,), (directions,), has_aux=True)
        return slopes, found

    def split(x):
        found = transforms(casing, B, x, foot, chunks)
        return found.values, found

    slopes, found = jax.vmap(along, out_axes=(1, None))(jnp.eye(3))
    return found, slopes


def on_nodes(casing: OffSurfaceCasing, B: Float[Array, "a b 3"]) -> Float[Array, "3 row column"]:
    """B on the quadrature nodes, co-rotating components."""
    tables = casing.constants.field
    samples = field_samples(casing.rule, B)
    return resample.interpolate(tables.field_phi, samples, tables.field_theta, jnp)


def field_samples(rule: Rule, B: Float[Array, "a b 3"]) -> Float[Array, "3 n b"]:
    """One period of B in the co-rotating frame, on its own grid."""
    return resample.field_period(B.transpose(2, 0, 1), rule.nfp, rule.half_period, jnp)


def known_field(casing: OffSurfaceCasing, points: Float[Array, "3 ..."]) -> Float[Array, "3 ..."]:
    """A field with no current inside the torus: e_z plus e_phi/R, of size 1 at most on it.

    T of it is itself inside and 0 outside. That tells inside from outside, and how far the
    quadrature misses it is an error that does not depend on B. Near the z axis it is bounded.
    """
    least = lax.stop_gradient((casing.sources[:2] ** 2).sum(axis=0).min())
    x, y, z = points
    toroidal = jnp.sqrt(least) / jnp.maximum(x * x + y * y, 0.5 * least)
    return jnp.sqrt(0.5) * jnp.stack([-y * toroidal, x * toroidal, jnp.ones_like(z)])
