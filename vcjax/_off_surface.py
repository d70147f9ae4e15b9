"""Off the surface: the external field inside it, the internal field outside, at any points.

The data on the surface say no more: the external field outside and the internal field inside
depend on where the currents flow. There results are NaN, never a number of another meaning.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from vcjax._checks import check_double, check_integer, check_points, check_vectors, check_x64
from vcjax._chunks import resolve_chunks
from vcjax._devices import copied, over_targets
from vcjax._errors import VcjaxError
from vcjax._geometry.foot import distance_from
from vcjax._off_surface_transform import (
    OffSurfaceCasing,
    feet,
    field_samples,
    known_field,
    on_nodes,
    transform_gradients,
    transforms,
)
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.spectrum import amplitudes


class OffSurface(NamedTuple):
    """What the principle says at n points, of fields (n, 3) or gradients (n, 3, 3).

    Attributes
    ----------
    external : of the currents outside; NaN at points outside.
    internal : of the currents inside; NaN at points inside.
    inside : (n,) whether a point is inside the surface; False on it.
    distance : (n,) from the surface, in the unit of X; 0 for points on it, that is nearer than
        about 1e-10 of the minor radius. There both fields are given, but both gradients are NaN,
        and so are derivatives in points and surface: see `external_gradient`.
    error : (n,) estimated error of what is given, over max |B|; not differentiated.
    """

    external: Float[Array, "n ... 3"]
    internal: Float[Array, "n ... 3"]
    inside: Bool[Array, " n"]
    distance: Float[Array, " n"]
    error: Float[Array, " n"]


def field_at(
    casing: OffSurfaceCasing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    points: Float[Array | np.ndarray, "n 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
    count_multiple: int = 1,
) -> OffSurface:
    """The separated fields at any points, however near to the surface.

    Differentiable in B (they are linear in it), in the casing and in points off the surface.

    Parameters
    ----------
    casing : from `prepare_off_surface`.
    B : (src_nphi, src_ntheta, 3) total field on the grid that the rule was chosen for, any unit.
    points : (n, 3) Cartesian, in the unit of X.
    chunk_size, target_chunk_size : largest number of sources and points of a tile of the far
        field, or "auto". They change speed and memory, and the result by rounding only.
    count_multiple : points are filled up to a multiple of it with copies of the last. Each number
        of points that is evaluated is a program to compile: calls with changing numbers share one
        for each multiple.

    Returns
    -------
    OffSurface, fields (n, 3) in the unit of B.

    Raises
    ------
    VcjaxError : for a field or points that do not fit, NaN, or 32-bit mode.
    """
    sizes = chunk_size, target_chunk_size
    return _evaluate("field_at", _field, casing, B, points, sizes, count_multiple)


def gradient_at(
    casing: OffSurfaceCasing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    points: Float[Array | np.ndarray, "n 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
    count_multiple: int = 1,
) -> OffSurface:
    """Gradients of the separated fields at any points off the surface; see `field_at`.

    Returns
    -------
    OffSurface, gradients (n, 3, 3) with [:, i, k] = d_i B_k in the unit of B over that of X; their
    error over max |B| has the unit of 1/X.
    """
    sizes = chunk_size, target_chunk_size
    return _evaluate("gradient_at", _gradient, casing, B, points, sizes, count_multiple)


def _evaluate(call: str, quantity: Callable, casing, B, points, sizes, multiple) -> OffSurface:
    _check(call, casing, B, points)
    chunks = resolve_chunks(call, "BOFF", *sizes)
    count, multiple = len(points), check_integer(call, "count_multiple", multiple, 1, 2**31 - 1)
    points = jnp.asarray(points)
    if count % multiple:
        points = jnp.pad(points, ((0, -count % multiple), (0, 0)), mode="edge")
    found = _at_points(quantity, casing, *copied((jnp.asarray(B), points), casing.devices), chunks)
    return found if len(points) == count else jax.tree.map(lambda v: v[:count], found)


def _check(call: str, casing, B, points) -> None:
    check_x64(call)
    if not isinstance(casing, OffSurfaceCasing):
        raise VcjaxError(
            f"{call} got a casing of type {type(casing).__name__}; "
            "make one with vcjax.prepare_off_surface."
        )
    check_double(call, casing)
    check_vectors(call, "B", B, casing.rule.src_shape)
    check_points(call, points)


@partial(jax.jit, static_argnums=(0, 4))
def _at_points(quantity: Callable, casing: OffSurfaceCasing, B, points, chunks: tuple[int, int]):
    def of_share(points, casing, nodes, unresolved):
        return quantity(casing, nodes, unresolved, points, chunks)

    everywhere = casing, on_nodes(casing, B), _unresolved(casing, B)
    return over_targets(of_share, casing.devices, points, *everywhere, count=points.shape[0])


def _field(casing: OffSurfaceCasing, nodes, unresolved, points, chunks) -> OffSurface:
    foot = feet(casing, points)
    found = transforms(casing, nodes, points, foot, chunks)
    known = known_field(casing, points.T).T
    inside = _is_inside(found.values[:, 1], known)
    share = jnp.where(found.on_surface, 0.5, jnp.where(inside, 1.0, 0.0))
    violation = jnp.linalg.norm(found.values[:, 1] - share[:, None] * known, axis=1)
    on = found.on_surface[:, None]
    half, T = jnp.where(on, 0.5 * found.at_foot, 0.0), found.values[:, 0]
    beside = _no_slope(points, casing.sources, found.on_surface)
    T = T + beside[:, None]
    distance = distance_from(points, casing.sources, foot, casing.rule)
    distance = jnp.where(found.on_surface, beside, distance)
    return OffSurface(
        external=jnp.where(inside[:, None] | on, half + T, jnp.nan),
        internal=jnp.where(inside[:, None] & ~on, jnp.nan, half - T),
        inside=inside & ~found.on_surface,
        distance=distance,
        error=lax.stop_gradient(violation + sum(unresolved)),
    )


def _gradient(casing: OffSurfaceCasing, nodes, unresolved, points, chunks) -> OffSurface:
    foot = feet(casing, points)
    found, slopes = transform_gradients(casing, nodes, points, foot, chunks)
    field = known_field(casing, points.T).T
    inside = _is_inside(found.values[:, 1], field)
    # Each point's field depends on that point alone.
    known = jax.vmap(jax.jacfwd(lambda x: known_field(casing, x)))(points).swapaxes(1, 2)
    share = jnp.where(inside, 1.0, 0.0)
    violation = jnp.linalg.norm(slopes[:, :, 1] - share[:, None, None] * known, axis=(1, 2))
    # Beside the surface it is the field's error over the distance.
    of_field = jnp.linalg.norm(found.values[:, 1] - share[:, None] * field, axis=1)
    violation = violation + of_field / jnp.where(foot.distance > 0, foot.distance, 1.0)
    distance = distance_from(points, casing.sources, foot, casing.rule)
    inside, on = inside[:, None, None], found.on_surface[:, None, None]
    # A field that its grid or the patches miss varies from node to node of that grid.
    tail, missed = unresolved
    rule, spacing = casing.rule, casing.spacing[1]
    coarser = max(np.array([rule.quad_nphi, rule.quad_ntheta]) / _source_grid(rule))
    of_B = tail / jnp.maximum(foot.distance, spacing * coarser / np.pi) + missed * np.pi / spacing
    return OffSurface(
        external=jnp.where(inside & ~on, slopes[:, :, 0], jnp.nan),
        internal=jnp.where(inside | on, jnp.nan, -slopes[:, :, 0]),
        inside=inside[:, 0, 0] & ~found.on_surface,
        distance=jnp.where(found.on_surface, 0.0, distance),
        error=lax.stop_gradient(violation + of_B),
    )


@jax.custom_jvp
def _no_slope(points, surface, on_surface) -> Float[Array, " n"]:
    """0 at each point; on the surface, where fields have a slope on either side, NaN is its own."""
    return jnp.zeros(points.shape[0])


@_no_slope.defjvp
def _(primals, tangents):
    slope = jnp.where(primals[2], jnp.nan, 0.0)
    return _no_slope(*primals), slope * (tangents[0].sum(axis=1) + tangents[1].sum())


def _is_inside(transform, known) -> Bool[Array, " n"]:
    """T of the test field is the field itself inside, and 0 outside."""
    return ((transform - 0.5 * known) * known).sum(axis=1) > 0


def _source_grid(rule: Rule) -> tuple[int, int]:
    return rule.src_shape[0] * rule.images, rule.src_shape[1]


def _unresolved(casing: OffSurfaceCasing, B):
    """What B's own grid misses of it, and what interpolation on patches misses, over max |B|.

    Patches are interpolated twice. See `spectral_tail`, `interpolation_error`.
    """
    rule = casing.rule
    samples = lax.stop_gradient(field_samples(rule, B))
    largest = jnp.sqrt((samples**2).sum(axis=0).max())
    largest = jnp.where(largest > 0, largest, 1.0)
    tails, missed = [], []
    for axis, nodes in ((1, rule.period_rows), (2, rule.quad_ntheta)):
        share = amplitudes(samples, axis, jnp)
        tails.append(share[-2:].sum())
        turns = jnp.minimum(jnp.arange(share.size, dtype=float) / nodes, 0.5)
        missed.append(share @ jnp.sin(np.pi * turns) ** rule.lagrange_count)
    return jnp.maximum(*tails) / largest, 2 * jnp.maximum(*missed) / largest
