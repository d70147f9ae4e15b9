"""Estimate the error of a result, by evaluating fields whose external part is known.

A uniform vertical field and the toroidal field e_phi/R have no currents inside any torus around the
z axis. Such a field b is therefore entirely external: T[b] = b/2 and FP grad T[b] = grad b / 2,
with T and FP as in `vcjax._gradient`. Any difference from these values is the error of the
quadrature. The part of the user's field that its grid misses is estimated separately.
"""

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vcjax._annotations import Array, Float
from vcjax._casing import Casing, casing_operator
from vcjax._checks import check_casing, check_concrete, check_jax
from vcjax._errors import VcjaxError, errors_named
from vcjax._geometry import symmetry
from vcjax._geometry.nodes import Rows, at_targets
from vcjax._gradient import GradientCasing, gradient_operator, surface_gradient
from vcjax._options import Tiles, resolve_tiles
from vcjax._programs.compiled import QUICK, compiled, operands
from vcjax._programs.groups import by_rows, row_groups
from vcjax._quadrature.missed import unresolved
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.slopes import missed_slope


def self_test(
    casing: Casing | GradientCasing,
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> Float[Array, "trg_nphi trg_ntheta"]:
    """Return the error of the quadrature at each target, measured on fields known to be external.

    Parameters
    ----------
    casing : made by `prepare` or `prepare_gradient`.
    chunk_size, target_chunk_size : see `external_field`.

    Returns
    -------
    (trg_nphi, trg_ntheta) errors: the larger of the errors for a uniform vertical field and for the
    toroidal field e_phi/R. Both fields are scaled to a maximum of 1. For a `GradientCasing`, the
    result contains errors of the gradient, in the unit of 1/X.

    Raises
    ------
    VcjaxError : in any of these cases

        - The argument is not a casing with targets on the surface.
        - An option is invalid.
        - JAX runs in 32-bit mode, or in a process forked after JAX started.
    """
    call, sizes = "self_test", (chunk_size, target_chunk_size)
    check_jax(call)
    if isinstance(casing, GradientCasing):
        check_casing(call, casing, GradientCasing, "vcjax.prepare_gradient")
        operator, test = "GRADB", _test_gradient
    else:
        check_casing(call, casing, Casing, "vcjax.prepare")
        operator, test = "B", _test_field
    groups = row_groups(casing.rule, casing.devices, casing)
    return test(groups, casing, resolve_tiles(call, operator, *sizes, grouped=bool(groups)))


def error_estimate(
    casing: Casing | GradientCasing, B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"]
) -> float:
    """Estimate the error of `external_field`, or of `external_gradient` for a `GradientCasing`.

    The estimate is the sum of three parts: the largest error that `self_test` finds, the error of
    interpolating B on the patches, and the `spectral_tail` of B. The `spectral_tail` estimates the
    part of B that its grid misses. For a gradient, the last two parts are estimated for the
    derivatives of B along the surface, instead of B. On problems with a known answer, the estimate
    was at least 0.83 times the error, and usually 1 to 20 times the error (docs/accuracy.md). If
    the spectrum of B decays slowly, because currents are very close to the surface, the error may
    be several times the estimate.

    Parameters
    ----------
    casing : made by `prepare` or `prepare_gradient`.
    B : (src_nphi, src_ntheta, 3) field on the grid that the rule was chosen for, any unit.

    Returns
    -------
    float : estimated error relative to max |B|; for a `GradientCasing`, relative to max |grad B|.

    Raises
    ------
    VcjaxError : in any of these cases

        - The first argument is not a casing with targets on the surface.
        - B is invalid or zero everywhere.
        - B is uniform, and the casing is a `GradientCasing`.
        - A value is traced, because the call is inside ``jit``, ``grad`` or ``vmap``.
        - JAX runs in 32-bit mode, or in a process forked after JAX started.
    """
    with errors_named("error_estimate"):
        violation = self_test(casing).max()
    if isinstance(violation, Tracer):
        raise VcjaxError(
            "error_estimate was called inside jit, grad or vmap, but must return a number. Call it "
            "outside. Inside, vcjax.self_test returns the error of the quadrature."
        )
    violation = float(violation)
    rule = casing.rule
    field = check_concrete("error_estimate", "B", B, rule.src_shape)
    samples = symmetry.field_period(field, rule.nfp, rule.half_period)
    if not field.any():
        raise VcjaxError("error_estimate got B that is zero everywhere; give a nonzero field.")
    if isinstance(casing, Casing):
        tails, missed = unresolved(samples, rule, np)
        return violation + float(tails.max() + missed.max())
    largest = float(np.linalg.norm(samples, axis=0).max())
    steepest = float(np.abs(_total_gradient(casing, operands(B))).max())
    lengths = np.linalg.norm(np.asarray(casing.dual_basis)[:2], axis=1)
    if steepest <= 1e-10 * largest * lengths.max(axis=(1, 2)).min():
        raise VcjaxError("error_estimate got a uniform B, which has no gradient; give another B.")
    return (violation * largest + _missed_slopes(samples, lengths, rule)) / steepest


def _missed_slopes(samples: np.ndarray, lengths: np.ndarray, rule: Rule) -> float:
    """Estimate the largest error of a field's derivatives, in the unit of B over the unit of X.

    The derivatives are taken along the surface. Their errors are due to the modes that the source
    grid does not resolve, and to interpolation on patches. `samples` is one period of the field, in
    components that rotate with phi. `lengths`, (2, tphi, ttheta), are the lengths of the surface
    gradients of phi and theta at the targets.
    """
    rows, columns = samples.shape[1:]
    start, step = symmetry.field_angles(rows, rule.nfp, rule.half_period)
    # Indices of the target nearest to each sample, or to the mirror image of the sample.
    trg_step = rule.spacing[0] * rule.stride_phi
    row = np.rint((start + step * np.arange(rows) - rule.first_angle) / trg_step).astype(int)
    column = np.rint(np.arange(columns) * rule.trg_shape[1] / columns).astype(int)
    if rule.half_period:
        column = np.where(row[:, None] < 0, -column, column)
        row = np.where(row < 0, -1 - row, row)
    at = row[:, None] % rule.trg_shape[0], column % rule.trg_shape[1]
    missed = 0.0
    nodes = (1, rule.nfp, rule.period_rows), (2, 1, rule.quad_ntheta)
    for (axis, periods, each), count in zip(nodes, rule.stencil_counts, strict=True):
        slope = missed_slope(samples, axis, 1 / each, count, tail=True)
        missed += float((periods * lengths[axis - 1][at] * slope).max())
    return missed


_total_gradient = compiled(QUICK)(surface_gradient)


@by_rows(static_argnums=(2,))
def _test_field(rows: Rows, casing: Casing, tiles: Tiles):
    violations = []
    for nodes in _external_fields(casing):
        here = at_targets(nodes, casing.rule, rows)
        violation = casing_operator(casing, nodes, tiles, rows) - 0.5 * here
        violations.append(jnp.linalg.norm(violation, axis=0))
    return jnp.maximum(*violations)


@by_rows(static_argnums=(2,))
def _test_gradient(rows: Rows, casing: GradientCasing, tiles: Tiles):
    vertical, toroidal = _external_fields(casing)
    known = 0.5 * _toroidal_gradient(casing, rows)
    of_toroidal = gradient_operator(casing, toroidal, tiles, rows) - known
    violations = gradient_operator(casing, vertical, tiles, rows), of_toroidal
    return jnp.maximum(*(jnp.sqrt((v**2).sum(axis=(0, 1))) for v in violations))


def _external_fields(casing: Casing | GradientCasing):
    """Return e_z and e_phi/R, scaled to maximum 1, at the nodes of one period and its overlap.

    Each field has the shape (3, row, column).
    """
    x, y, z = casing.nodes[:3]
    radius, zero = jnp.hypot(x, y), jnp.zeros_like(x)
    vertical = jnp.stack([zero, zero, jnp.ones_like(z)])
    return vertical, jnp.stack([-y, x, zero]) * (radius.min() / radius**2)


def _toroidal_gradient(casing: GradientCasing, rows: Rows) -> Float[Array, "3 3 tphi ttheta"]:
    """Return [i, k] = d_i b_k of the toroidal field b of `_external_fields`, at the targets."""
    radius = jnp.hypot(casing.sources[0], casing.sources[1]).min()
    x, y, _ = at_targets(casing.nodes[:3], casing.rule, rows)
    zero = jnp.zeros_like(x)
    along, across = 2 * x * y, (y - x) * (y + x)
    slopes = [[along, across, zero], [across, -along, zero], [zero, zero, zero]]
    return jnp.array(slopes) * (radius / (x**2 + y**2) ** 2)
