"""Whether currents or flux leave through the surface: n . curl B and the flux of B.

Only tangential derivatives of B enter n . curl B. With the covariant components B_phi = B . X_phi
and B_theta = B . X_theta, Stokes' theorem on a cell of the grid gives

    n . curl B |X_phi x X_theta| = +-(d B_theta / d phi - d B_phi / d theta).

On a surface that no current crosses it vanishes, whatever flows inside and outside, and the flux of
B through a closed surface always does.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from vcjax._geometry import resample

_RESOLVED = 1 / 3
"""Share of the modes of a grid whose derivatives are hardly aliased."""


class Frame(NamedTuple):
    """Tangents of a surface at the points of a field, co-rotating components.

    Attributes
    ----------
    along_phi, along_theta : (3, n, m).
    nfp : number of field periods.
    half_period : whether one half of the points are the images of the other.
    """

    along_phi: Float[np.ndarray, "3 n m"]
    along_theta: Float[np.ndarray, "3 n m"]
    nfp: int
    half_period: bool

    @property
    def tangents(self) -> tuple[Float[np.ndarray, "3 n m"], Float[np.ndarray, "3 n m"]]:
        """Return both tangents."""
        return self.along_phi, self.along_theta


class Crossing(NamedTuple):
    """How much crosses a surface.

    Attributes
    ----------
    current : root mean square of n . curl B, over max |B| / (minor radius).
    flux : net flux over the integral of |B|; 0 by the symmetry of half periods.
    """

    current: float
    flux: float


def surface_frame(
    samples: Float[np.ndarray, "3 a b"], nfp: int, half_period: bool, shape: tuple[int, int]
) -> Frame:
    """Return the tangents of `resample.surface_period` at the points of a field (nphi, ntheta).

    The points are those of `resample.field_period`: a whole period.
    """
    rows, columns = shape[0] * (2 if half_period else 1), shape[1]
    matrices = _onto_rows(samples.shape[1], nfp, half_period, rows)
    w, w_phi = np.fft.rfft(matrices @ samples)
    # On a grid finer than that of the samples, of which every `thinning`-th column is one of B.
    # No matrix product: threads that wait for a busy processor would take most of the time.
    count = samples.shape[2]
    thinning = count // columns + 1
    modes = np.arange(count // 2 + 1)
    scale = thinning * columns / count * np.where(2 * modes == count, 0.5, 1.0)

    # The frame turns: see `resample.tangents`.
    w_phi[0] -= w[1]
    w_phi[1] += w[0]
    spectra = scale * np.stack([w_phi, 1j * modes * w])
    fine = np.fft.irfft(spectra, thinning * columns)
    along_phi, along_theta = fine[..., ::thinning]
    return Frame(along_phi, along_theta, nfp, half_period)


@lru_cache(maxsize=16)
def _onto_rows(count: int, nfp: int, half_period: bool, rows: int) -> np.ndarray:
    """Return interpolation along phi to the rows of a field, and its derivative: (2, 1, row, n)."""
    angles = resample.equispaced(*resample.field_angles(rows, nfp, half_period), rows)
    matrices = resample.interpolation_matrices(count, 0.0, 2 * np.pi / nfp, angles)
    return np.stack(matrices)[:, None]


def crossing(field: Float[np.ndarray, "3 n m"], frame: Frame) -> Crossing:
    """Return how much current and flux cross a surface, from the co-rotating field on it.

    Derivatives are spectral, and of their modes the lowest third counts.
    """
    _, n, m = field.shape
    covariant = np.stack([np.einsum("ijk,ijk->jk", field, v) for v in frame.tangents])
    by_phi, by_theta = np.fft.rfft2(covariant) / (n * m)
    resolved, slope_phi, slope_theta, weight = _resolved(n, m)
    along_phi = frame.nfp * slope_phi * by_theta[resolved]
    along_theta = slope_theta * by_phi[resolved]
    current = along_phi - along_theta
    size = float(np.sqrt(((current.real**2 + current.imag**2) * weight).sum()))
    strength = np.sqrt(np.einsum("ijk,ijk->jk", field, field))
    along = np.einsum("ijk,ijk->", frame.along_phi, frame.along_phi)
    return Crossing(
        size / (float(strength.max()) * float(np.sqrt(along / (n * m)))),
        0.0 if frame.half_period else _net_flux(field, strength, frame),
    )


@lru_cache(maxsize=32)
def _resolved(n: int, m: int) -> tuple[tuple, np.ndarray, np.ndarray, np.ndarray]:
    """Return the indices of the lowest third of modes, factors of derivatives, and weights."""
    modes_phi, modes_theta = np.fft.fftfreq(n, 1 / n), np.arange(m // 2 + 1)

    def lowest(modes, count: int):
        # A highest mode of an even count has no derivative.
        size = np.abs(modes)
        return np.flatnonzero((size <= max(1, _RESOLVED * count / 2)) & (2 * size < count))

    rows, columns = lowest(modes_phi, n), lowest(modes_theta, m)
    slopes = 1j * modes_phi[rows, None], 1j * modes_theta[columns]
    return np.ix_(rows, columns), *slopes, np.where(columns == 0, 1.0, 2.0)


def _net_flux(field, strength, frame: Frame) -> float:
    """Return the flux of a field over that of its strength."""
    (a, b, c), (d, e, f) = frame.tangents
    normal = np.stack([b * f - c * e, c * d - a * f, a * e - b * d])
    area = np.sqrt(np.einsum("ijk,ijk->jk", normal, normal))
    return abs(float(np.einsum("ijk,ijk->", field, normal))) / float((strength * area).sum())
