"""Trigonometric resampling of symmetric toroidal data.

Cartesian components turn with the toroidal angle, so they are not periodic over a field period;
components in the frame that co-rotates with phi are. All resampling is therefore done on one field
period in the co-rotating frame, as two small dense products ``D_phi @ W @ D_theta.T``: exact for
band-limited data, linear, differentiable, and fast on any device.

Functions take the array namespace ``xp`` (``numpy`` on the host, ``jax.numpy`` under a trace), so
that the same formula serves both. Arrays are component-first, ``(3, nphi, ntheta)``, inside this
package.
"""

from functools import partial
from typing import Any

import jax
import numpy as np

POSITION_PARITY = (1.0, -1.0, -1.0)
"""Signs of (x, y, z) at (-phi, -theta) under stellarator symmetry."""
FIELD_PARITY = (-1.0, 1.0, 1.0)
"""Signs of (Bx, By, Bz) at (-phi, -theta) under stellarator symmetry."""


def rotate(values, angles, xp: Any = np, rank: int = 1):
    """Rotate values (3, n, ...) about the z axis, each row by its angle (n,).

    With `rank` 2 values are tensors (3, 3, n, ...), and both indices are rotated.
    """
    if rank == 2:
        by_column = jax.vmap(partial(rotate, angles=angles, xp=xp), in_axes=1, out_axes=1)
        return by_column(by_column(values).swapaxes(0, 1)).swapaxes(0, 1)
    shape = (-1,) + (1,) * (values.ndim - 2)
    cosine, sine = xp.cos(angles).reshape(shape), xp.sin(angles).reshape(shape)
    x, y, z = values
    return xp.stack([cosine * x - sine * y, sine * x + cosine * y, z])


def mirror(values, parity: tuple[float, float, float], xp: Any = np):
    """Return the stellarator image (3, nphi, ntheta): rows at -phi, increasing, from +phi."""
    image = xp.roll(values[:, ::-1, ::-1], 1, axis=2)
    return xp.stack([sign * component for sign, component in zip(parity, image, strict=True)])


def equispaced(start: float, step: float, count: int, xp: Any = np):
    """Return ``start + step k`` for k < count; under a trace computed, not embedded."""
    return start + step * xp.arange(count, dtype=np.float64)


def grid_angles(nphi: int, nfp: int, half_period: bool, xp: Any = np):
    """Return the toroidal angles (nphi,) of a grid over one full or half field period."""
    if half_period:
        return equispaced(0.5 * np.pi / (nfp * nphi), np.pi / (nfp * nphi), nphi, xp)
    return equispaced(0.0, 2 * np.pi / (nfp * nphi), nphi, xp)


@jax.named_scope("resample")
def field_period(B, nfp: int, half_period: bool, xp: Any = np):
    """Return one period of a field in the co-rotating frame.

    Parameters
    ----------
    B : (3, nphi, ntheta) Cartesian components on the full or half period grid.

    Returns
    -------
    (3, n, ntheta), co-rotating components at the angles of `field_angles`.
    """
    if half_period:
        B = xp.concatenate([mirror(B, FIELD_PARITY, xp), B], axis=1)
    start, step = field_angles(B.shape[1], nfp, half_period)
    return rotate(B, -equispaced(start, step, B.shape[1], xp), xp)


def field_angles(rows: int, nfp: int, half_period: bool) -> tuple[float, float]:
    """Return the first toroidal angle and the step of the rows of `field_period`."""
    step = 2 * np.pi / (nfp * rows)
    return (-0.5 * (rows - 1) * step if half_period else 0.0), step


@jax.named_scope("resample")
def surface_period(X, nfp: int, half_period: bool, xp: Any = np):
    """Return one period of a surface in the co-rotating frame, its first row at phi = 0.

    A surface given on few points may carry weight at its Nyquist mode, where the interpolant is a
    matter of convention. This is the convention of the BIEST-based reference code: complete the
    full torus in Cartesian components, shift a half-period grid to phi = 0 by a Fourier phase
    whose Nyquist row counts as +N/2, then enlarge the toroidal grid by the factor (nphi + 1)/nphi
    with the Nyquist row split in halves. Afterwards the data are band-limited and every exact
    method agrees.

    Parameters
    ----------
    X : (3, nphi, ntheta) Cartesian points on the full or half period grid.

    Returns
    -------
    samples : (3, n, ntheta), co-rotating components at ``2 pi k / (nfp n)``,
        with n = nphi + 1 (full period) or 2 (nphi + 1) (half period).
    """
    nphi = X.shape[1]
    period = 2 * np.pi / nfp
    if half_period:
        image = mirror(X, POSITION_PARITY, xp)
        X = xp.concatenate([X, rotate(image, xp.full((nphi,), period), xp)], axis=1)
    torus = xp.concatenate(
        [rotate(X, xp.full((X.shape[1],), k * period), xp) for k in range(nfp)], axis=1
    )
    rows = torus.shape[1]
    if half_period:
        modes = xp.arange(rows)
        modes = xp.where(modes > rows // 2, modes - rows, modes).astype(complex)
        phase = xp.exp(modes * (-0.5j * np.pi / (nfp * nphi)))
        spectrum = xp.fft.rfft2(torus, axes=(1, 2)) * phase[:, None]
        torus = xp.fft.irfft2(spectrum, s=torus.shape[1:], axes=(1, 2))
    enlarged = _enlarge(torus, rows // nphi * (nphi + 1), xp)
    count = enlarged.shape[1] // nfp
    return rotate(enlarged[:, :count], -equispaced(0.0, period / count, count, xp), xp)


def _enlarge(values, rows: int, xp: Any):
    """Interpolate (3, n, m) trigonometrically onto more rows, the Nyquist row split in halves."""
    n = values.shape[1]
    half = n // 2
    spectrum = xp.fft.fft(values, axis=1)
    low, high = spectrum[:, : (n + 1) // 2], spectrum[:, n - (n - 1) // 2 :]
    middle = [0.5 * spectrum[:, half : half + 1]] if n % 2 == 0 else []
    gap = rows - low.shape[1] - high.shape[1] - 2 * len(middle)
    zeros = xp.zeros((3, gap, values.shape[2]), dtype=spectrum.dtype)
    padded = xp.concatenate([low, *middle, zeros, *middle, high], axis=1)
    return xp.fft.ifft(padded, axis=1).real * (rows / n)


def interpolation_matrices(count: int, start: float, period: float, points: np.ndarray):
    """Return trigonometric interpolation, from start + k period / count to points.

    Returns
    -------
    value, derivative : (len(points), count) each; for even counts the Nyquist mode is a cosine.
    """
    modes = np.arange((count - 1) // 2 + 1)
    scale = 2 * np.pi / period
    weights = np.where(modes == 0, 1.0, 2.0)
    if count % 2 == 0:
        modes, weights = np.append(modes, count // 2), np.append(weights, 1.0)
    at = np.outer(points - start, modes) * scale
    nodes = np.outer(np.arange(count), modes) * (2 * np.pi / count)
    cosine, sine = np.cos(nodes) * (weights / count), np.sin(nodes) * (weights / count)
    value = np.cos(at) @ cosine.T + np.sin(at) @ sine.T
    derivative = (np.cos(at) * modes) @ sine.T - (np.sin(at) * modes) @ cosine.T
    return value, derivative * scale


@jax.named_scope("resample")
def interpolate(matrix_phi, samples, matrix_theta, xp: Any = np):
    """Return ``D_phi @ samples @ D_theta.T`` of each component: (3, n, m) -> (3, a, b)."""
    return xp.matmul(matrix_phi, xp.matmul(samples, matrix_theta.T))


@jax.named_scope("resample")
def tangents(samples, phi, theta, xp: Any = np):
    """Return points and tangents of a surface, co-rotating components.

    Parameters
    ----------
    samples : (3, n, m) co-rotating components of one period.
    phi, theta : pairs (value, derivative) of interpolation matrices.

    Returns
    -------
    x, x_phi, x_theta : (3, a, b) each. The frame turns, hence x_phi = dW/dphi + e_z x W.
    """
    w = interpolate(phi[0], samples, theta[0], xp)
    w_phi = interpolate(phi[1], samples, theta[0], xp)
    w_theta = interpolate(phi[0], samples, theta[1], xp)
    return w, xp.stack([w_phi[0] - w[1], w_phi[1] + w[0], w_phi[2]]), w_theta


def tangents_at(samples: np.ndarray, nfp: int, angles: np.ndarray, ntheta: int):
    """Return `tangents` of samples (3, n, m) at toroidal angles, on ``ntheta`` columns."""
    theta = equispaced(0.0, 2 * np.pi / ntheta, ntheta)
    phi_matrices = interpolation_matrices(samples.shape[1], 0.0, 2 * np.pi / nfp, angles)
    theta_matrices = interpolation_matrices(samples.shape[2], 0.0, 2 * np.pi, theta)
    return tangents(samples, phi_matrices, theta_matrices)
