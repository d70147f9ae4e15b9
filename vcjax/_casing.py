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
from jaxtyping import Array, Float

from vcjax import _resample
from vcjax._checks import check_concrete, check_vectors, check_x64
from vcjax._chunks import resolve_chunks
from vcjax._errors import VcjaxError
from vcjax._far import far_field
from vcjax._near import apply_near, near_weights
from vcjax._nodes import at_targets, row_angles, surface_nodes, target_angles
from vcjax._pytree import pytree
from vcjax._rule import Rule
from vcjax._spectrum import amplitudes, interpolation_error, spectral_tail
from vcjax._tables import Tables, tables


@pytree
@dataclass(frozen=True, eq=False)
class Casing:
    """A surface made ready for evaluation: an immutable pytree, to be passed as an argument.

    Attributes
    ----------
    rule : static; the sizes of everything below.
    field_phi, field_theta : interpolation of a field from its grid to the quadrature grid of one
    period.
    sources, area_normals : (3, period_rows * quad_ntheta) laboratory points and outward normals;
    a normal's
        length is the area of its node.
    near_weights : (trg_nphi, trg_ntheta, 4, patch) correction of the punctured sum around each
    target.
    """

    rule: Rule = field(metadata={"static": True})
    field_phi: Float[Array, "row i"]
    field_theta: Float[Array, "column j"]
    sources: Float[Array, "3 n"]
    area_normals: Float[Array, "3 n"]
    near_weights: Float[Array, "tphi ttheta 4 patch"]


def prepare(
    rule: Rule, X: Float[Array | np.ndarray, "nphi ntheta 3"], *, constants: Tables | None = None
) -> Casing:
    """Everything about a surface that does not depend on the field.

    Differentiable in X. Under an outer ``jit`` pass ``constants = vcjax.tables(rule)`` as an
    argument of the outer function: made inside it, they would be baked into its program.

    Parameters
    ----------
    rule : from `choose`.
    X : (nphi, ntheta, 3) surface points, of the shape that the rule was chosen for; may be
    traced.

    Returns
    -------
    Casing

    Raises
    ------
    VcjaxError : for a surface that does not fit the rule, NaN, or 32-bit mode.
    """
    check_x64("prepare")
    if not isinstance(rule, Rule):
        raise VcjaxError(
            f"prepare got a rule of type {type(rule).__name__}; make one with vcjax.choose."
        )
    check_vectors("prepare", "X", X, rule.surface_shape)
    return _prepare(rule, jnp.asarray(X), tables(rule) if constants is None else constants)


@partial(jax.jit, static_argnums=0)
def _prepare(rule: Rule, X, constants: Tables) -> Casing:
    x, _, _, normals = surface_nodes(rule, X, constants)
    angles = row_angles(rule)
    return Casing(
        rule=rule,
        field_phi=constants.field_phi,
        field_theta=constants.field_theta,
        sources=_resample.rotate(x, angles, jnp).reshape(3, -1),
        area_normals=_resample.rotate(normals, angles, jnp).reshape(3, -1),
        near_weights=near_weights(x, normals, constants, rule),
    )


def external_field(
    casing: Casing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> Float[Array, "trg_nphi trg_ntheta 3"]:
    """The field of the currents outside: B_ext = B/2 + T[B] on the target grid.

    Linear in B, and differentiable in B and in the casing.

    Parameters
    ----------
    casing : from `prepare`.
    B : (src_nphi, src_ntheta, 3) total field on the grid that the rule was chosen for, any unit.
    chunk_size, target_chunk_size : largest number of sources and targets of a tile of the far
    field,
        or "auto". They change speed and memory, and the result by rounding only.

    Returns
    -------
    (trg_nphi, trg_ntheta, 3) Cartesian components, in the unit of B.

    Raises
    ------
    VcjaxError : for a field that does not fit the casing, NaN, or 32-bit mode.
    """
    return _separate("external_field", casing, B, chunk_size, target_chunk_size, 1.0)


def internal_field(
    casing: Casing,
    B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"],
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> Float[Array, "trg_nphi trg_ntheta 3"]:
    """The field of the plasma's own currents, B_int = B/2 - T[B]; see `external_field`."""
    return _separate("internal_field", casing, B, chunk_size, target_chunk_size, -1.0)


def self_test(
    casing: Casing, *, chunk_size: int | str = "auto", target_chunk_size: int | str = "auto"
) -> Float[Array, "trg_nphi trg_ntheta"]:
    """Error of the quadrature at each target, from fields known to be external.

    A uniform vertical field and the toroidal field e_phi/R have no current inside any torus
    around the z axis, so that T[b] = b/2 exactly; how far the quadrature misses that is its error
    for fields it resolves. What the grid of a field B leaves out comes on top: see
    `error_estimate`.

    Returns
    -------
    (trg_nphi, trg_ntheta) the larger violation by the two fields, scaled to max |b| = 1.

    Raises
    ------
    VcjaxError : for what is no casing, or 32-bit mode.
    """
    check_x64("self_test")
    _check_casing("self_test", casing)
    return _self_test(casing, resolve_chunks("self_test", chunk_size, target_chunk_size))


def error_estimate(casing: Casing, B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"]) -> float:
    """Estimated error of `external_field`, relative to max |B|.

    The sum of three parts: the largest violation found by `self_test`; what the interpolation on
    the patches misses of B; and the `spectral_tail` of B, what its own grid misses. On the problems
    with known answers it was an upper bound, 3 to 50 times the error.

    Raises
    ------
    VcjaxError : for a field that cannot be used.
    """
    _check_casing("error_estimate", casing)
    rule = casing.rule
    field = check_concrete("error_estimate", "B", B)
    tail = spectral_tail(np.asarray(B), nfp=rule.nfp, half_period=rule.half_period)
    samples = _resample.field_period(field, rule.nfp, rule.half_period)
    missed = [
        interpolation_error(amplitudes(samples, axis), turns, rule.lagrange_count)
        for axis, turns in ((1, 1 / rule.period_rows), (2, 1 / rule.quad_ntheta))
    ]
    largest = np.linalg.norm(samples, axis=0).max()
    return float(self_test(casing).max()) + tail + max(missed) / float(largest)


def _separate(call, casing, B, chunk_size, target_chunk_size, sign):
    check_x64(call)
    _check_casing(call, casing)
    check_vectors(call, "B", B, casing.rule.src_shape)
    return _field(casing, jnp.asarray(B), resolve_chunks(call, chunk_size, target_chunk_size), sign)


def _check_casing(call: str, casing) -> None:
    if not isinstance(casing, Casing):
        raise VcjaxError(
            f"{call} got a casing of type {type(casing).__name__}; make one with vcjax.prepare."
        )
    if casing.sources.dtype != np.float64:
        raise VcjaxError(
            f"{call} got a casing of dtype {casing.sources.dtype}; keep the float64 arrays that "
            "vcjax.prepare made."
        )


@partial(jax.jit, static_argnums=(2, 3))
def _field(casing: Casing, B, chunks: tuple[int, int], sign: float):
    rule = casing.rule
    samples = _resample.field_period(B.transpose(2, 0, 1), rule.nfp, rule.half_period, jnp)
    nodes = _resample.interpolate(casing.field_phi, samples, casing.field_theta, jnp)
    total = 0.5 * at_targets(nodes, rule) + sign * _casing_operator(casing, nodes, chunks)
    return _resample.rotate(total, target_angles(rule), jnp).transpose(1, 2, 0)


@partial(jax.jit, static_argnums=1)
def _self_test(casing: Casing, chunks: tuple[int, int]):
    rule = casing.rule
    grid = casing.sources.reshape(3, rule.period_rows, rule.quad_ntheta)
    x, y, z = _resample.rotate(grid, -row_angles(rule), jnp)
    radius, zero = jnp.hypot(x, y), jnp.zeros_like(x)
    vertical = jnp.stack([zero, zero, jnp.ones_like(z)])
    toroidal = jnp.stack([-y, x, zero]) * (radius.min() / radius**2)
    violations = []
    for nodes in (vertical, toroidal):
        violation = _casing_operator(casing, nodes, chunks) - 0.5 * at_targets(nodes, rule)
        violations.append(jnp.linalg.norm(violation, axis=0))
    return jnp.maximum(*violations)


def _casing_operator(casing: Casing, nodes: Float[Array, "3 row column"], chunks: tuple[int, int]):
    """T of a field on the quadrature nodes; co-rotating components in and out."""
    rule = casing.rule
    targets = at_targets(casing.sources.reshape(nodes.shape), rule).reshape(3, -1).T
    laboratory = _resample.rotate(nodes, row_angles(rule), jnp).reshape(3, -1)
    far = far_field(
        targets,
        casing.sources,
        casing.area_normals,
        laboratory,
        nfp=rule.nfp,
        chunk_size=chunks[0],
        target_chunk_size=chunks[1],
    )
    far = far.T.reshape(3, *rule.trg_shape)
    far = _resample.rotate(far, -target_angles(rule), jnp)
    return far + apply_near(nodes, casing.near_weights, rule)
