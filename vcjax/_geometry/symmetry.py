"""Continue toroidal data by symmetry: field periods and stellarator symmetry.

From one field period to the next, vectors are rotated about the z axis. If there are several
periods, the x and y components therefore differ from period to period. The components W in the
co-rotating frame, which rotates with phi, are periodic. `field_period` and `surface_period` return
one period in this frame.

Inside vcjax, most vectors on grids are component-first, ``(3, nphi, ntheta)``. Cartesian components
in the fixed frame are called laboratory components.
"""

from typing import Any

import jax
import numpy as np

POSITION_PARITY = (1.0, -1.0, -1.0)
"""Factors by which stellarator symmetry changes (x, y, z) from (phi, theta) to (-phi, -theta)."""
FIELD_PARITY = (-1.0, 1.0, 1.0)
"""Factors by which stellarator symmetry changes (Bx, By, Bz) from (phi, theta) to
(-phi, -theta)."""


def rotate(values, angles, xp: Any = np):
    """Rotate vectors (3, n, ...) about the z axis.

    The vectors with index k along the second axis are rotated by ``angles[k]``. A single angle
    rotates all vectors.
    """
    shape = (-1,) + (1,) * (values.ndim - 2)
    cosine, sine = xp.cos(angles).reshape(shape), xp.sin(angles).reshape(shape)
    x, y, z = values
    return xp.stack([cosine * x - sine * y, sine * x + cosine * y, z])


def mirror(values, parity: tuple[float, float, float], xp: Any = np):
    """Return the stellarator-symmetric image (3, nphi, ntheta) of vectors on a grid.

    The vector at (phi, theta) becomes the vector at (-phi, -theta), with its components multiplied
    by `parity`. The rows of the image are in the order of increasing toroidal angle.
    """
    image = xp.roll(values[:, ::-1, ::-1], 1, axis=2)
    return xp.stack([sign * component for sign, component in zip(parity, image, strict=True)])


def equispaced(start: float, step: float, count: int, xp: Any = np):
    """Return ``start + step * k`` for k from 0 to count - 1.

    With ``jax.numpy`` in a traced function, the program computes the values; they are not embedded
    as a constant.
    """
    return start + step * xp.arange(count, dtype=np.float64)


def grid_angles(nphi: int, nfp: int, half_period: bool):
    """Return the toroidal angles (nphi,) of a grid over one full or half field period."""
    if half_period:
        return equispaced(0.5 * np.pi / (nfp * nphi), np.pi / (nfp * nphi), nphi)
    return equispaced(0.0, 2 * np.pi / (nfp * nphi), nphi)


def without_images(angles: np.ndarray) -> np.ndarray:
    """Return the `grid_angles` of a full period that are not mirror images of earlier angles.

    In a stellarator-symmetric configuration, the cross-section at -phi is the mirror image of the
    cross-section at phi.
    """
    return angles[: len(angles) // 2 + 1]


@jax.named_scope("resample")
def field_period(
    B,
    nfp: int,
    half_period: bool,
    xp: Any = np,
    *,
    parity: tuple[float, float, float] = FIELD_PARITY,
):
    """Return one period (3, n, ntheta) of a field in the co-rotating frame.

    B, (3, nphi, ntheta), has Cartesian components, on a grid over a full or half period. If B
    covers half a period, the other half follows by symmetry, with the signs in `parity`
    (`POSITION_PARITY` for positions). The rows of the result are at the angles that `field_angles`
    gives.
    """
    if half_period:
        B = xp.concatenate([mirror(B, parity, xp), B], axis=1)
    start, step = field_angles(B.shape[1], nfp, half_period)
    return rotate(B, -equispaced(start, step, B.shape[1], xp), xp)


def field_angles(rows: int, nfp: int, half_period: bool) -> tuple[float, float]:
    """Return the first toroidal angle, and the angular step, of the rows of `field_period`."""
    step = 2 * np.pi / (nfp * rows)
    return (-0.5 * (rows - 1) * step if half_period else 0.0), step


def surface_period(X, nfp: int, half_period: bool):
    """Return one period of a surface in the co-rotating frame, with the first row at phi = 0.

    If a surface is given on few points, its Nyquist mode may not vanish. The interpolant of this
    mode is a matter of convention. This function follows the convention of the C++ package
    `virtual_casing`:

    1. Complete the full torus in Cartesian components.
    2. Shift a half-period grid to phi = 0 by a Fourier phase. In this phase, the Nyquist mode has
       the number +N/2, where N is the number of rows of the torus.
    3. Enlarge the toroidal grid by the factor (nphi + 1)/nphi. The Nyquist mode is split into two
       halves.

    After these steps the Cartesian components are band-limited along phi, and all exact methods
    give the same interpolant along phi.

    X, (3, nphi, ntheta), has Cartesian components, on a grid over a full or half period. The result
    has co-rotating components (3, n, ntheta) at phi = 2 pi k / (nfp n). For a full period
    n = nphi + 1, and for a half period n = 2 (nphi + 1).
    """
    nphi = X.shape[1]
    period = 2 * np.pi / nfp
    if half_period:
        image = mirror(X, POSITION_PARITY)
        X = np.concatenate([X, rotate(image, period)], axis=1)
    torus = np.concatenate([rotate(X, k * period) for k in range(nfp)], axis=1)
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
    """Interpolate values (3, n, m) trigonometrically onto more rows, (3, rows, m).

    For even n the Nyquist mode is split into halves, at +n/2 and -n/2.
    """
    n = values.shape[1]
    spectrum = np.fft.rfft(values, axis=1)
    if n % 2 == 0:
        spectrum[:, -1] *= 0.5
    return np.fft.irfft(spectrum, rows, axis=1) * (rows / n)


def rotation(angles: np.ndarray) -> np.ndarray:
    """Return the matrices (3, 3, ...) of rotations about the z axis by angles (...)."""
    cosine, sine = np.cos(angles), np.sin(angles)
    zero, one = np.zeros_like(cosine), np.ones_like(cosine)
    return np.array([[cosine, -sine, zero], [sine, cosine, zero], [zero, zero, one]])


def with_mirror(phi: np.ndarray, theta: np.ndarray, half_period: bool):
    """Convert matrices for fields on a whole period to matrices for `resampled`.

    `phi`, (3, a, 3 n), and `theta`, (b, m), are for the n rows and m columns of a whole period. The
    results, (3, a, 3 n) and (images, b, m), are for fields on a half period if `half_period` is
    True, else on a whole period. A half period has two images of each row: the row itself and its
    stellarator-symmetric image.
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
    """Return the linear map of `surface_period` as two matrices for `resampled`.

    The map acts on each poloidal mode separately, and in the same way on all modes except the
    constant and the Nyquist mode. For a half period, the map mixes a row, its mirror image, and the
    Hilbert transforms of row and image. The Hilbert transforms come from the phase of the toroidal
    Nyquist mode. To find the coefficients of the map, this function applies the map to a surface
    in which each component of each row is a different poloidal mode.

    The matrices are (3, n, 3 * nphi * images), with n rows as in `surface_period`, and
    (images, ntheta, ntheta). A row has 1 image for a full period, and 4 images for a half period.
    """
    count = 3 * nphi
    modes = np.arange(1, count + 1).reshape(3, nphi, 1)
    columns = 2 * count + 2
    # Integer multiples of the angle step are reduced to one turn before they are multiplied by the
    # step. Rounding errors then do not grow with the mode number.
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
