"""How far to trust a result: the quadrature tested on fields with a known casing.

A uniform vertical field and the toroidal field e_phi/R have no current inside any torus around the
z axis. Hence T[b] = b/2 and, b being all external, FP grad T[b] = grad b / 2 exactly; the violation
is the error of the quadrature for fields that it resolves. The error of the grid of B adds to it.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vcjax._casing import Casing, casing_operator
from vcjax._checks import check_casing, check_concrete, check_jax
from vcjax._errors import VcjaxError
from vcjax._geometry import resample
from vcjax._geometry.nodes import at_targets, one_period
from vcjax._gradient import GradientCasing, gradient_operator, surface_gradient
from vcjax._options import Tiles, resolve_tiles
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.slopes import missed_slope
from vcjax._quadrature.spectrum import amplitudes, interpolation_error, midway, spectral_tail


def self_test(
    casing: Casing | GradientCasing,
    *,
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> Float[Array, "trg_nphi trg_ntheta"]:
    """Return the error of the quadrature at each target, from fields known to be external.

    Parameters
    ----------
    casing : from `prepare` or `prepare_gradient`.
    chunk_size, target_chunk_size : as for `external_field`.

    Returns
    -------
    (trg_nphi, trg_ntheta) the larger violation by the uniform and the toroidal field, each scaled
    to max |b| = 1. Of a `GradientCasing` it is the error of the gradient, per unit of length.

    Raises
    ------
    VcjaxError : without a casing, or in 32-bit mode.
    """
    call, sizes = "self_test", (chunk_size, target_chunk_size)
    check_jax(call)
    if isinstance(casing, GradientCasing):
        check_casing(call, casing, GradientCasing, "vcjax.prepare_gradient")
        return _test_gradient(casing, resolve_tiles(call, "GRADB", *sizes))
    check_casing(call, casing, Casing, "vcjax.prepare")
    return _test_field(casing, resolve_tiles(call, "B", *sizes))


def error_estimate(
    casing: Casing | GradientCasing, B: Float[Array | np.ndarray, "src_nphi src_ntheta 3"]
) -> float:
    """Estimate the error of `external_field` over max |B|, of a gradient over max |grad B|.

    It is the sum of three parts: the largest violation found by `self_test`; the error of the
    interpolation of B on the patches; and the `spectral_tail` of B, which its own grid misses. For
    a gradient the latter two refer to derivatives of B along the surface, where they are worst.
    Where the answer is known, the sum was at least 0.9 times the error, mostly 2 to 20 times
    (docs/accuracy.md).

    Parameters
    ----------
    casing : from `prepare` or `prepare_gradient`.
    B : (src_nphi, src_ntheta, 3) field on the grid that the rule was chosen for, any unit.

    Raises
    ------
    VcjaxError : for a field that cannot be used, or without a casing.
    """
    violation = float(self_test(casing).max())
    rule = casing.rule
    field = check_concrete("error_estimate", "B", B, rule.src_shape)
    samples = resample.field_period(field, rule.nfp, rule.half_period)
    if not field.any():
        raise VcjaxError("error_estimate got B that is zero everywhere; give a field.")
    largest = float(np.linalg.norm(samples, axis=0).max())
    if isinstance(casing, Casing):
        tail = spectral_tail(np.asarray(B), nfp=rule.nfp, half_period=rule.half_period)
        shares = _shares(samples, rule)
        missed = max(interpolation_error(*share, rule.lagrange_count) for share in shares)
        return violation + tail + midway(rule.lagrange_count) * float(missed) / largest
    steepest = float(np.abs(_total_gradient(casing, jnp.asarray(B))).max())
    lengths = np.linalg.norm(np.asarray(casing.dual_basis[:2]), axis=1)
    if steepest <= 1e-10 * largest * lengths.max(axis=(1, 2)).min():
        raise VcjaxError("error_estimate got a uniform B; its gradient is zero, use another field.")
    return (violation * largest + _missed_slopes(samples, lengths, rule)) / steepest


def _missed_slopes(samples: np.ndarray, lengths: np.ndarray, rule: Rule) -> float:
    """Return what the grid of a field and the patches miss of its derivatives along the surface.

    Parameters
    ----------
    lengths : (2, tphi, ttheta) of the dual tangents at the targets.
    """
    rows, columns = samples.shape[1:]
    start, step = resample.field_angles(rows, rule.nfp, rule.half_period)
    # At the nearest target, or its mirror image.
    trg_step = rule.spacing[0] * rule.stride_phi
    row = np.rint((start + step * np.arange(rows) - rule.first_angle) / trg_step).astype(int)
    column = np.rint(np.arange(columns) * rule.trg_shape[1] / columns).astype(int)
    if rule.half_period:
        column = np.where(row[:, None] < 0, -column, column)
        row = np.where(row < 0, -1 - row, row)
    at = row[:, None] % rule.trg_shape[0], column % rule.trg_shape[1]
    missed = 0.0
    for axis, periods, turns in ((1, rule.nfp, 1 / rule.period_rows), (2, 1, 1 / rule.quad_ntheta)):
        slope = missed_slope(samples, axis, turns, rule.lagrange_count, tail=True)
        missed += float((periods * lengths[axis - 1][at] * slope).max())
    return missed


def _shares(samples: np.ndarray, rule: Rule):
    """Return, along phi and theta, amplitudes by mode and the turns of mode 1 between nodes."""
    return (
        (amplitudes(samples, 1), 1 / rule.period_rows),
        (amplitudes(samples, 2), 1 / rule.quad_ntheta),
    )


_total_gradient = jax.jit(surface_gradient)


@partial(jax.jit, static_argnums=1)
def _test_field(casing: Casing, tiles: Tiles):
    violations = []
    for nodes in _external_fields(casing):
        here = at_targets(one_period(nodes, casing.rule), casing.rule)
        violation = casing_operator(casing, nodes, tiles) - 0.5 * here
        violations.append(jnp.linalg.norm(violation, axis=0))
    return jnp.maximum(*violations)


@partial(jax.jit, static_argnums=1)
def _test_gradient(casing: GradientCasing, tiles: Tiles):
    vertical, toroidal = _external_fields(casing)
    of_toroidal = gradient_operator(casing, toroidal, tiles) - 0.5 * _toroidal_gradient(casing)
    violations = gradient_operator(casing, vertical, tiles), of_toroidal
    return jnp.maximum(*(jnp.sqrt((v**2).sum(axis=(0, 1))) for v in violations))


def _external_fields(casing: Casing | GradientCasing):
    """Return e_z, and e_phi/R scaled to 1, on the continued nodes."""
    x, y, z = casing.nodes[:3]
    radius, zero = jnp.hypot(x, y), jnp.zeros_like(x)
    vertical = jnp.stack([zero, zero, jnp.ones_like(z)])
    return vertical, jnp.stack([-y, x, zero]) * (radius.min() / radius**2)


def _toroidal_gradient(casing: GradientCasing) -> Float[Array, "3 3 tphi ttheta"]:
    """Return [i, k] = d_i b_k of the scaled e_phi/R at the targets, laboratory components."""
    radius = jnp.hypot(casing.sources[0], casing.sources[1]).min()
    x, y, _ = at_targets(casing.sources, casing.rule)
    zero = jnp.zeros_like(x)
    along, across = 2 * x * y, (y - x) * (y + x)
    rows = [[along, across, zero], [across, -along, zero], [zero, zero, zero]]
    return jnp.array(rows) * (radius / (x**2 + y**2) ** 2)
