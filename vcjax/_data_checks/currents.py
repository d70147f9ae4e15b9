"""Measure the current and the magnetic flux through a surface: n . curl B and the flux of B.

Let n be the unit normal of the surface, and X_phi and X_theta the derivatives of its points X. Only
tangential derivatives of B enter n . curl B. With the covariant components B_phi = B . X_phi and
B_theta = B . X_theta, Stokes' theorem on a cell of the grid gives

    n . curl B |X_phi x X_theta| = +-(d B_theta / d phi - d B_phi / d theta).

The sign depends on the direction of n. On a surface that no current crosses, n . curl B vanishes,
whatever currents flow inside and outside. The net flux of B through a closed surface always
vanishes.
"""

from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from vcjax._annotations import Float
from vcjax._geometry import resample, symmetry

_RESOLVED = 1 / 3
"""The current is computed from the lowest modes along each angle. `_RESOLVED` is their share of all
modes. The derivatives of these modes have little aliasing."""


Tangents: TypeAlias = tuple[Float[np.ndarray, "3 n m"], Float[np.ndarray, "3 n m"]]
"""Derivatives of surface points along phi and along theta, in components that rotate with phi."""


class Crossing(NamedTuple):
    """The current and the flux through a surface, relative to the size of the field.

    `current` is the root mean square of n . curl B |X_phi x X_theta|, divided by max |B| and by the
    root mean square of |X_phi|. This ratio is about the root mean square of n . curl B, relative to
    max |B| / (minor radius). `flux` is the absolute net flux of B, divided by the integral of |B|.
    If the data cover half a period, the flux is 0 by symmetry.
    """

    current: float
    flux: float


def tangents_at_field(
    samples: Float[np.ndarray, "3 a b"], nfp: int, half_period: bool, shape: tuple[int, int]
) -> Tangents:
    """Return the tangents of a surface at the points of one period of a field.

    `samples` is one period of the surface, from `symmetry.surface_period`. `shape` is the
    (nphi, ntheta) of the field before `symmetry.field_period` is applied.
    """
    rows, columns = shape[0] * (2 if half_period else 1), shape[1]
    matrices = _onto_rows(samples.shape[1], nfp, half_period, rows)
    w, w_phi = np.fft.rfft(matrices @ samples)
    # Evaluate on more columns than the samples have; every `thinning`-th column is a column of B.
    # Matrix products would give the columns of B directly. But on a busy processor, waiting for the
    # threads of these products takes longer than the Fourier transforms below.
    count = samples.shape[2]
    thinning = count // columns + 1
    modes = np.arange(count // 2 + 1)
    scale = thinning * columns / count * np.where(2 * modes == count, 0.5, 1.0)

    # The frame rotates with phi: see `resample.tangents_at`.
    w_phi[0] -= w[1]
    w_phi[1] += w[0]
    spectra = scale * np.stack([w_phi, 1j * modes * w])
    fine = np.fft.irfft(spectra, thinning * columns)
    along_phi, along_theta = fine[..., ::thinning]
    return along_phi, along_theta


@lru_cache(maxsize=16)
def _onto_rows(count: int, nfp: int, half_period: bool, rows: int) -> np.ndarray:
    """Return matrices (2, 1, rows, count) that map samples along phi to values, and to slopes.

    The values and slopes are at the rows of `symmetry.field_period`.
    """
    angles = symmetry.equispaced(*symmetry.field_angles(rows, nfp, half_period), rows)
    matrices = resample.interpolation_matrices(count, 0.0, 2 * np.pi / nfp, angles)
    return np.stack(matrices)[:, None]


def crossing(
    field: Float[np.ndarray, "3 n m"], tangents: Tangents, nfp: int, half_period: bool
) -> Crossing:
    """Return the current and the flux through a surface.

    The current is computed from the lowest third of the Fourier modes along each angle; see
    `_resolved`. `field` is B at the points of the tangents, in components that rotate with phi.
    """
    _, n, m = field.shape
    covariant = np.stack([np.einsum("ijk,ijk->jk", field, v) for v in tangents])
    by_phi, by_theta = np.fft.rfft2(covariant) / (n * m)
    resolved, slope_phi, slope_theta, weight = _resolved(n, m)
    along_phi = nfp * slope_phi * by_theta[resolved]
    along_theta = slope_theta * by_phi[resolved]
    current = along_phi - along_theta
    size = float(np.sqrt(((current.real**2 + current.imag**2) * weight).sum()))
    strength = np.sqrt(np.einsum("ijk,ijk->jk", field, field))
    along = np.einsum("ijk,ijk->", tangents[0], tangents[0])
    return Crossing(
        size / (float(strength.max()) * float(np.sqrt(along / (n * m)))),
        0.0 if half_period else _net_flux(field, strength, tangents),
    )


@lru_cache(maxsize=32)
def _resolved(n: int, m: int) -> tuple[tuple, np.ndarray, np.ndarray, np.ndarray]:
    """Return the lowest third of the modes of an (n, m) grid along each angle.

    For 3 to 5 points along an angle, mode 1 is included, although it is above this third. The first
    result indexes the modes in a real Fourier transform. The next two results are the mode numbers
    along phi and along theta, times the imaginary unit. The last result is the weight of each mode
    in the power: 2 if the mode of the opposite sign is not stored, else 1.
    """
    modes_phi, modes_theta = np.fft.fftfreq(n, 1 / n), np.arange(m // 2 + 1)

    def lowest(modes, count: int):
        # If the count is even, the derivative of the highest mode is not known.
        size = np.abs(modes)
        return np.flatnonzero((size <= max(1, _RESOLVED * count / 2)) & (2 * size < count))

    rows, columns = lowest(modes_phi, n), lowest(modes_theta, m)
    slopes = 1j * modes_phi[rows, None], 1j * modes_theta[columns]
    return np.ix_(rows, columns), *slopes, np.where(columns == 0, 1.0, 2.0)


def _net_flux(field, strength, tangents: Tangents) -> float:
    """Return the absolute net flux of a field, relative to the integral of its strength."""
    normal = np.cross(*tangents, axis=0)
    area = np.sqrt(np.einsum("ijk,ijk->jk", normal, normal))
    return abs(float(np.einsum("ijk,ijk->", field, normal))) / float((strength * area).sum())
