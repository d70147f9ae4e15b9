"""Trigonometric resampling of symmetric toroidal data.

Cartesian components turn with the toroidal angle, so they are not periodic over a field period;
components in the frame that co-rotates with phi are. All resampling is therefore done on one field
period in the co-rotating frame, as two small dense products ``D_phi @ W @ D_theta.T``: exact for
band-limited data, linear, differentiable, and fast on any device.

Programs resample with `resampled`, matrix products of matrices that are made on the host. Arrays
are component-first, ``(3, nphi, ntheta)``, inside this package.
"""

from typing import Any

import jax
import numpy as np

POSITION_PARITY = (1.0, -1.0, -1.0)
"""Signs of (x, y, z) at (-phi, -theta) under stellarator symmetry."""
FIELD_PARITY = (-1.0, 1.0, 1.0)
"""Signs of (Bx, By, Bz) at (-phi, -theta) under stellarator symmetry."""
_ONE_THREAD = 2**18
"""Multiplications up to which OpenBLAS takes one thread (its interface/gemm.c)."""


def rotate(values, angles, xp: Any = np):
    """Rotate values (3, n, ...) about the z axis, each row by its angle (n,)."""
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


def surface_period(X, nfp: int, half_period: bool):
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
        image = mirror(X, POSITION_PARITY)
        X = np.concatenate([X, rotate(image, np.full((nphi,), period))], axis=1)
    torus = np.concatenate(
        [rotate(X, np.full((X.shape[1],), k * period)) for k in range(nfp)], axis=1
    )
    rows = torus.shape[1]
    if half_period:
        modes = np.arange(rows)
        modes = np.where(modes > rows // 2, modes - rows, modes).astype(complex)
        phase = np.exp(modes * (-0.5j * np.pi / (nfp * nphi)))
        spectrum = np.fft.rfft2(torus, axes=(1, 2)) * phase[:, None]
        torus = np.fft.irfft2(spectrum, s=torus.shape[1:], axes=(1, 2))
    enlarged = _enlarge(torus, rows // nphi * (nphi + 1))
    count = enlarged.shape[1] // nfp
    return rotate(enlarged[:, :count], -equispaced(0.0, period / count, count))


def _enlarge(values, rows: int):
    """Interpolate (3, n, m) trigonometrically onto more rows, the Nyquist row split in halves."""
    n = values.shape[1]
    half = n // 2
    spectrum = np.fft.fft(values, axis=1)
    low, high = spectrum[:, : (n + 1) // 2], spectrum[:, n - (n - 1) // 2 :]
    middle = [0.5 * spectrum[:, half : half + 1]] if n % 2 == 0 else []
    gap = rows - low.shape[1] - high.shape[1] - 2 * len(middle)
    zeros = np.zeros((3, gap, values.shape[2]), dtype=spectrum.dtype)
    padded = np.concatenate([low, *middle, zeros, *middle, high], axis=1)
    return np.fft.ifft(padded, axis=1).real * (rows / n)


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


def interpolate(matrix_phi, samples, matrix_theta):
    """Return ``D_phi @ samples @ D_theta.T`` of each component: (3, n, m) -> (3, a, b)."""
    return matrix_phi @ (samples @ matrix_theta.T)


def tangents(samples, phi, theta):
    """Return points and tangents of a surface, co-rotating components.

    Parameters
    ----------
    samples : (3, n, m) co-rotating components of one period.
    phi, theta : pairs (value, derivative) of interpolation matrices.

    Returns
    -------
    x, x_phi, x_theta : (3, a, b) each. The frame turns, hence x_phi = dW/dphi + e_z x W.
    """
    w = interpolate(phi[0], samples, theta[0])
    w_phi = interpolate(phi[1], samples, theta[0])
    w_theta = interpolate(phi[0], samples, theta[1])
    return w, np.stack([w_phi[0] - w[1], w_phi[1] + w[0], w_phi[2]]), w_theta


def tangents_at(samples: np.ndarray, nfp: int, angles: np.ndarray, ntheta: int):
    """Return `tangents` of samples (3, n, m) at toroidal angles, on ``ntheta`` columns."""
    theta = equispaced(0.0, 2 * np.pi / ntheta, ntheta)
    phi_matrices = interpolation_matrices(samples.shape[1], 0.0, 2 * np.pi / nfp, angles)
    theta_matrices = interpolation_matrices(samples.shape[2], 0.0, 2 * np.pi, theta)
    return tangents(samples, phi_matrices, theta_matrices)


@jax.named_scope("resample")
def resampled(values: Any, phi: Any, theta: Any) -> Any:
    """Return laboratory components on the nodes of a period: two matrix products.

    The arrays are NumPy's or traced; so is the result. NumPy takes the products in the cheaper
    order.

    Parameters
    ----------
    values : (i, m) rows of samples, each a component of a vector field.
    phi : (3, a, i images), from the products of all rows and images to components.
    theta : (images, b, m), interpolation along theta of each image of a row.

    Returns
    -------
    (3, a, b)
    """
    rows, (images, columns, count) = phi.shape[1], theta.shape
    is_cheaper = images == 1 and 1 / columns + 1 / len(values) < 1 / count
    if is_cheaper and isinstance(values, np.ndarray):
        along_phi = _product(phi.reshape(3 * rows, -1), values)
        flat = _product(along_phi, theta[0].T)
    else:
        along_theta = _product(values, theta.reshape(-1, count).T)
        flat = _product(phi.reshape(3 * rows, -1), along_theta.reshape(-1, columns))
    return flat.reshape(3, rows, columns)


def _product(a: Any, b: Any) -> Any:
    """Return a @ b; of NumPy's arrays in blocks of rows for which OpenBLAS starts no threads.

    They would spin longer than they compute.
    """
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return a @ b
    found = np.empty((len(a), b.shape[1]))
    size = max(1, _ONE_THREAD // b.size)
    for first in range(0, len(a), size):
        np.matmul(a[first : first + size], b, out=found[first : first + size])
    return found


def as_rows(values: Any) -> Any:
    """Return (nphi, ntheta, 3) vectors as the rows (nphi 3, ntheta) of `resampled`."""
    return values.swapaxes(1, 2).reshape(-1, values.shape[1])


def rotation(angles: np.ndarray) -> np.ndarray:
    """Return the rotations (3, 3, ...) about the z axis by angles (...)."""
    cosine, sine = np.cos(angles), np.sin(angles)
    zero, one = np.zeros_like(cosine), np.ones_like(cosine)
    return np.array([[cosine, -sine, zero], [sine, cosine, zero], [zero, zero, one]])


def laboratory_matrices(value: np.ndarray, slope: np.ndarray, angles, given):
    """Return an interpolation along phi of co-rotating as one of laboratory components.

    Parameters
    ----------
    value, slope : (a, n) from `interpolation_matrices`.
    angles, given : (a,) and (n,) toroidal angles of the results; of the frame of each sample.

    Returns
    -------
    (3, a, n 3) each, for `resampled`.
    """
    turn, quarter = np.subtract.outer(angles, given), 0.5 * np.pi
    turned = rotation(turn)
    # The derivative of a rotation is a rotation by a quarter more, but for z.
    turning = rotation(turn + quarter) * np.array([1.0, 1.0, 0.0])[:, None, None, None]
    return tuple(
        matrix.transpose(0, 2, 3, 1).reshape(3, turn.shape[0], -1)
        for matrix in (turned * value, turned * slope + turning * value)
    )


def with_mirror(phi: np.ndarray, theta: np.ndarray, half_period: bool):
    """Return the matrices of `resampled` for a field's grid from those for one whole period.

    Parameters
    ----------
    phi, theta : (3, a, n 3), (b, m) of the rows and columns of `field_period`.

    Returns
    -------
    phi, theta : (3, a, k) and (images, b, m), of the rows of the full or half period.
    """
    if not half_period:
        return phi, theta[None]
    by_row = phi.reshape(*phi.shape[:2], -1, 3)
    rows = by_row.shape[2] // 2
    images = by_row[:, :, rows:], by_row[:, :, rows - 1 :: -1] * FIELD_PARITY
    mirrored = theta[:, -np.arange(theta.shape[1]) % theta.shape[1]]
    return np.stack(images, axis=-1).reshape(*phi.shape[:2], -1), np.stack([theta, mirrored])


def surface_period_matrices(
    nphi: int, ntheta: int, nfp: int, half_period: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Return `surface_period` as the matrices of `resampled`: (3, n, 3 nphi images) and theta's.

    It acts on each poloidal mode alone, and alike on all but the constant and the highest. Of a
    half period it mixes a row, its mirror image, and the Hilbert transforms of both, which the
    phase of the Nyquist row brings in. The coefficients are found from rows of a mode each.
    """
    count = 3 * nphi
    modes = np.arange(1, count + 1).reshape(3, nphi, 1)
    columns = 2 * count + 2
    # Reduced as integers, to a turn at most: exact to rounding.
    angles = 2 * np.pi / columns * (modes * np.arange(columns) % columns)

    def response(wave):
        samples = surface_period(wave(angles), nfp, half_period)
        spectrum = np.fft.rfft(samples, axis=2)[:, :, 1 : count + 1] / (count + 1)
        parts = spectrum.real, -spectrum.imag
        return [v.reshape(3, -1, 3, nphi).swapaxes(2, 3).reshape(3, -1, count) for v in parts]

    (c_of_c, s_of_c), (c_of_s, s_of_s) = response(np.cos), response(np.sin)
    identity = np.eye(ntheta)
    if not half_period:
        return 0.5 * (c_of_c + s_of_s), identity[None]
    at = np.arange(ntheta)
    mirror_image = identity[-at % ntheta]
    turns = 2 * np.pi / ntheta * (np.outer(np.arange(1, (ntheta + 1) // 2), at) % ntheta)
    hilbert = 2 / ntheta * (np.sin(turns).T @ np.cos(turns) - np.cos(turns).T @ np.sin(turns))
    phi = c_of_c + s_of_s, c_of_c - s_of_s, s_of_c - c_of_s, s_of_c + c_of_s
    theta = identity, mirror_image, hilbert, hilbert @ mirror_image
    return 0.5 * np.stack(phi, axis=-1).reshape(3, -1, 4 * count), np.stack(theta)
