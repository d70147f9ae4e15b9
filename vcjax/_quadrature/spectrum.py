"""Estimate from Fourier spectra how well grids resolve fields and surfaces.

`axis` is 1 for phi or 2 for theta, and `xp` is ``numpy`` or ``jax.numpy``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from vcjax._annotations import Float
from vcjax._checks import check_concrete, check_symmetry
from vcjax._data_checks.spectrum import Spectrum, folded
from vcjax._errors import VcjaxError
from vcjax._geometry import resample, symmetry

_NODES_PER_MODE = 2.8
"""Quadrature nodes for each wavelength of the highest mode that must be resolved."""
_MISSED_AT_NODES = 3.0
"""Largest allowed ratio of `missed_values` to the requested error, for targets on the surface.
These targets are nodes, where the interpolation is exact. From 8 digits on, errors at targets were
0.2 to 0.35 times `missed_values`. For fewer digits, they were up to 0.6 times `missed_values`, but
the limit rarely matters there."""
BETWEEN_NODES = 1.4
"""Largest error at points next to the surface, divided by `missed_values`. Next to coils, errors
were 1.14 to 1.39 times `missed_values`."""
_LEAST_NODES = 24.0


def spectral_tail(B: Float[np.ndarray, "nphi ntheta 3"], *, nfp: int, half_period: bool) -> float:
    """Return the amplitude of the highest modes of a field on its grid, relative to max |B|.

    This number estimates the part of the field that its grid does not resolve, and that no
    quadrature can recover. For an accuracy of d digits the number should be below about 10^-d. If
    the spectrum decays slowly, the unresolved part may be ten times as large as the number.

    Parameters
    ----------
    B : (nphi, ntheta, 3) field on a grid over a full or half period, in any unit.
    nfp : number of field periods.
    half_period : whether the grid covers half a period; see `choose`.

    Returns
    -------
    Sum of the Fourier amplitudes of the last two modes along phi or along theta, whichever is
    larger, divided by max |B|. The mean is not counted.

    Raises
    ------
    VcjaxError : in any of these cases

        - B is traced, or is not a finite float64 array (nphi, ntheta, 3).
        - B is zero everywhere, or has fewer than 4 poloidal points.
        - `nfp` or `half_period` is invalid.
    """
    nfp, half_period = check_symmetry("spectral_tail", nfp, half_period)
    values = check_concrete("spectral_tail", "B", B)
    if values.shape[2] < 4 or not values.any():
        raise VcjaxError(
            f"spectral_tail got B of shape {B.shape} with the largest value "
            f"{np.abs(values).max(initial=0.0):.3g}; give a field that does not vanish, on at "
            "least 4 poloidal points."
        )
    samples = symmetry.field_period(values, nfp, half_period)
    largest = np.linalg.norm(values, axis=0).max()
    return float(max(map(last_modes, amplitudes(samples))) / largest)


def last_modes(share):
    """Return the sum of the amplitudes of the last two modes.

    `share`, (k,), contains the amplitudes of the modes 0 .. k - 1. Mode 0, the mean, is never
    counted, because every grid resolves it.
    """
    return share[max(1, share.size - 2) :].sum()


def amplitudes(samples, xp: Any = np) -> tuple[Any, Any]:
    """Return the Fourier amplitudes of the modes 0 .. n // 2 along phi and 0 .. m // 2 along theta.

    The samples (3, n, m) are periodic along both axes. Amplitudes are summed over both signs of the
    mode number, over the components, and over the modes along the other axis.
    """
    n, m = samples.shape[1:]
    theta_modes = np.arange(m // 2 + 1)
    # For a real array, `rfft2` gives only one of the modes (k, l) and (-k, -l), unless l is 0 or
    # m / 2.
    twice = np.where((theta_modes == 0) | (2 * theta_modes == m), 1.0, 2.0)
    spectrum = xp.abs(xp.fft.rfft2(samples, axes=(1, 2))).sum(axis=0) * (twice / (n * m))
    return folded(spectrum.sum(axis=1), xp), spectrum.sum(axis=0)


def nodes_for_field(spectrum: Spectrum, digits: float, nfp: int) -> np.ndarray:
    """Return the two numbers of nodes that resolve a field, along phi (whole torus) and theta."""
    tolerance = 10.0**-digits * spectrum.largest
    # The tail of a mode is the sum of its amplitude and the amplitudes of all higher modes. The
    # highest mode with a tail above the tolerance must be resolved.
    tails = (np.cumsum(share[::-1])[::-1] for share in amplitudes(spectrum.values))
    modes = [np.flatnonzero(tail > tolerance).max(initial=0) for tail in tails]
    return np.maximum(_NODES_PER_MODE * np.array([modes[0] * nfp, modes[1]]), _LEAST_NODES)


@dataclass(frozen=True, eq=False)
class Values:
    """The values of a field on its own grid, and the errors of interpolating them on patches.

    Errors and sizes have the unit of the field. `Slopes` has the same methods for derivatives.
    """

    spectrum: Spectrum
    nfp: int
    off_surface: bool  # whether fields are evaluated at points off the surface

    @cached_property
    def scale(self) -> float:
        """Size to which the requested error is relative: max |B|."""
        return self.spectrum.largest

    def misses(self, limit: float, axis: int, turns: float, count: int) -> bool:
        """Return whether `missed_values` for an axis is above a limit at any point of the grid."""
        weights = missed_weights(self.spectrum.values.shape[axis], turns, count)
        return self.is_larger(limit, axis, weights)

    def tolerance(self, digits: int) -> float:
        """Return the limit of `misses` for a number of digits."""
        allowed = 1 / BETWEEN_NODES if self.off_surface else _MISSED_AT_NODES
        return allowed * 10.0**-digits * self.scale

    def is_larger(self, limit: float, axis: int, factors: np.ndarray) -> bool:
        """Return whether the size of the field (see `signal`) is above a limit at any grid point.

        The modes 0 .. k - 1 of the field along the axis are first scaled by the factors (k,).
        """
        # The sum of the amplitudes is never below the size, and is usually close to it.
        weights = np.abs(one_sided(self.spectrum.values.shape[axis], factors))
        sums = np.einsum("ijk,j->ik", self._amplitudes[axis - 1], weights)
        bound = np.expand_dims(np.linalg.norm(sums, axis=0), axis - 1)
        if self._largest(axis, bound) <= limit:
            return False
        return bool(self._largest(axis, signal(self.spectrum.values, axis, factors)) > limit)

    @cached_property
    def _amplitudes(self) -> list[np.ndarray]:
        """Return the amplitudes of the modes along phi, (3, k, m), and along theta, (3, l, n)."""
        along = self.spectrum.values, self.spectrum.values.swapaxes(1, 2)
        return [np.abs(np.fft.rfft(values, axis=1, norm="forward")) for values in along]

    def _largest(self, axis: int, size: np.ndarray) -> float:
        return float(size.max())

    def nodes(self, least: np.ndarray, digits: int, count: int) -> np.ndarray:
        """Return the two numbers of nodes for an accurate interpolation on patches.

        The first is counted along phi around the whole torus, the second along theta; `least` are
        their least values. `count` is the number of points of the Lagrange interpolation. A field
        with strong highest modes can need more nodes than `nodes_for_field` gives.
        """
        misses = partial(self.misses, self.tolerance(digits), count=count)
        return enough_nodes(misses, least, self.nfp)


def enough_nodes(misses: Callable[[int, float], bool], least: np.ndarray, nfp: int) -> np.ndarray:
    """Return the two numbers of nodes with which an interpolation is accurate enough.

    The first is counted along phi around the whole torus, the second along theta; `least` are their
    least values. `misses` is a function of an axis and a fraction of a turn. It returns whether the
    error is too large, if mode 1 of a period advances by this fraction from node to node along the
    axis.
    """
    counts = []
    for axis, periods, nodes in zip((1, 2), (nfp, 1), least, strict=True):
        while misses(axis, periods / nodes):
            nodes *= 1.05
        counts.append(nodes)
    return np.array(counts)


def nodes_for_surface(samples: np.ndarray, nfp: int, epsilon: float, count: int) -> np.ndarray:
    """Return the two numbers of nodes for an accurate interpolation of a surface on patches.

    The first is counted along phi around the whole torus, the second along theta. `samples`
    (3, n, m) are co-rotating points of one period. The normals determine both numbers, because the
    normals of a surface have more modes than its points. `epsilon` is the allowed error of the
    normals, relative to the longest normal. `count` is the number of points of the Lagrange
    interpolation.
    """
    angles = symmetry.grid_angles(4 * samples.shape[1], nfp, False)
    _, x_phi, x_theta = resample.tangents_at(samples, nfp, angles, 4 * samples.shape[2])
    normals = np.cross(x_phi, x_theta, axis=0)
    tolerance = epsilon * np.linalg.norm(normals, axis=0).max()
    shares = amplitudes(normals)

    def misses(axis: int, turns: float) -> bool:
        share = shares[axis - 1]
        return bool(share @ lagrange_errors(share.size, turns, count) > tolerance)

    return enough_nodes(misses, np.full(2, _LEAST_NODES), nfp)


def lagrange_errors(modes: int, turns: float, count: int) -> np.ndarray:
    """Return the interpolation error of the modes 0 .. modes - 1, relative to their amplitudes.

    From node to node, mode k advances by w = k `turns` turns. Lagrange interpolation from `count`
    points then has an error of about sin(pi w)^count.
    """
    by_mode = np.minimum(np.arange(modes) * turns, 0.5)
    return np.sin(np.pi * by_mode) ** count


def missed_values(values, axis: int, turns: float, count: int, xp: Any = np):
    """Estimate the error (n, m) of interpolating a field along one axis, on patches.

    `values` (3, n, m) are periodic along both axes. Mode 1 advances by `turns` turns from
    node to node. `count` is the number of points of the Lagrange interpolation.
    """
    return signal(values, axis, missed_weights(values.shape[axis], turns, count), xp)


def missed_weights(size: int, turns: float, count: int) -> np.ndarray:
    """Return the errors in `missed_values` of the modes 0 .. size // 2, relative to the modes."""
    return midway(count) * lagrange_errors(size // 2 + 1, turns, count)


def signal(values, axis: int, weights: np.ndarray, xp: Any = np):
    """Return the size, (n, m), of a field after its modes are multiplied by weights.

    The size is the modulus of the complex signal that contains the modes 0 and above, but no
    negative modes. Therefore the size does not depend on the phase of a wave at a point. The values
    (3, n, m) are periodic along both axes. `weights` (k,) are for the modes 0 .. k - 1 along the
    axis, with k = n // 2 + 1 or m // 2 + 1.
    """
    size = values.shape[axis]
    weights = one_sided(size, weights)
    spectrum = xp.fft.rfft(values, axis=axis) * (weights[:, None] if axis == 1 else weights)
    complex_signal = xp.fft.ifft(spectrum, size, axis=axis)
    return xp.sqrt((complex_signal.real**2 + complex_signal.imag**2).sum(axis=0))


def one_sided(size: int, weights: np.ndarray) -> np.ndarray:
    """Return the weights (k,) of the modes 0 .. k - 1 for a signal that has no negative modes.

    `size` is the number of values along the axis. Modes that have a negative counterpart count
    twice. The result is complex.
    """
    modes = np.arange(weights.size)
    return weights * np.where((2 * modes == size) | (modes == 0), 1.0 + 0j, 2.0)


def midway(count: int) -> float:
    """Return the error of Lagrange interpolation midway between nodes, divided by sin(pi w)^count.

    Here w is the number of turns by which a wave advances from node to node. The value is exact to
    leading order in w. It follows from the remainder of the interpolation. The remainder is the
    derivative of order `count`, times the product of the distances to the nodes, divided by the
    factorial of `count`.
    """
    return math.comb(count, count // 2) / 2**count


def quadrature_digits(digits: int, gradient: bool) -> float:
    """Return the number of digits to which the grid must resolve the modes of B.

    For a field, this is the requested number. For a gradient, 1.5 digits are added if at most 10
    digits are requested, and 1 digit is added otherwise. Still more digits would not help, because
    the error would be rounding, which grows as nodes get closer.
    """
    return min(digits + 1.5, max(12.0, digits + 1.0)) if gradient else float(digits)
