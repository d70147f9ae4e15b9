"""Derivatives of a field along a surface: how steep they are, and what grids miss of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from vcjax._data_checks.currents import surface_frame
from vcjax._data_checks.spectrum import Spectrum
from vcjax._geometry.jump import dual_basis, total_gradient
from vcjax._quadrature.spectrum import midway

_UNIFORM = 10.0
_MOST_DIGITS = 11
"""More than these rounding does not leave to gradients."""


@dataclass(frozen=True, eq=False)
class Slopes:
    """Derivatives of a field on its own grid.

    Attributes
    ----------
    spectrum : of the field, co-rotating components.
    samples : (3, a, b) `resample.surface_period` of the surface.
    """

    spectrum: Spectrum
    samples: Float[np.ndarray, "3 a b"]
    nfp: int
    half_period: bool

    @cached_property
    def _basis(self) -> Float[np.ndarray, "3 3 n m"]:
        _, rows, columns = self.spectrum.values.shape
        shape = rows // (1 + self.half_period), columns
        frame = surface_frame(self.samples, self.nfp, self.half_period, shape)
        return dual_basis(*frame.tangents, np)

    @cached_property
    def steepest(self) -> float:
        """Return the largest component of grad B.

        It counts as |B| over ten times the size of the torus at least: a uniform field has none.
        """
        (_, rows, columns), values = self.spectrum.values.shape, self.spectrum.values
        modes = self.nfp * np.fft.fftfreq(rows, 1 / rows)[:, None], np.arange(columns // 2 + 1)
        slope_phi, slope_theta = (
            np.fft.irfft2(1j * mode * self.spectrum.coefficients, s=(rows, columns), norm="forward")
            for mode in modes
        )
        # The frame turns: see `resample.tangents`.
        slope_phi[0] -= values[1]
        slope_phi[1] += values[0]
        gradient = total_gradient(self._basis, (slope_phi, slope_theta))
        size = np.hypot(self.samples[0], self.samples[1]).max()
        least = self.spectrum.largest / (_UNIFORM * size)
        return max(float(np.abs(gradient).max()), float(least))

    @property
    def length(self) -> float:
        """Return max |B| over the largest component of grad B."""
        return self.spectrum.largest / self.steepest

    def nodes(self, by_modes: np.ndarray, digits: int, lagrange_count: int) -> np.ndarray:
        """Return node counts (whole torus, poloidal) for the interpolation of B on patches.

        Parameters
        ----------
        by_modes : (2,) node counts to start from.
        digits : of the gradient, relative to `steepest`.
        """
        tolerance = 10.0 ** -min(digits, _MOST_DIGITS) * self.steepest
        counts = []
        for axis, periods in ((1, self.nfp), (2, 1)):
            nodes = by_modes[axis - 1]
            while self._missed(axis, periods, nodes, lagrange_count) > tolerance:
                nodes *= 1.05
            counts.append(nodes)
        return np.array(counts)

    def _missed(self, axis: int, periods: int, nodes: float, lagrange_count: int) -> float:
        slope = missed_slope(self.spectrum.values, axis, periods / nodes, lagrange_count)
        return float((periods * np.linalg.norm(self._basis[axis - 1], axis=0) * slope).max())


def missed_slope(
    values: Float[np.ndarray, "3 n m"], axis: int, turns: float, count: int, *, tail: bool = False
) -> Float[np.ndarray, "n m"]:
    """Estimate the error of a derivative along an axis, from interpolation on patches.

    Between nodes the error of a value (`spectrum.interpolation_error`) goes up and down like
    sin(pi x / h): its slope at a node is pi/h times as large. Waves are in phase with it at some
    place between two points, hence the length of the complex signal of the modes above 0.

    Parameters
    ----------
    turns : of mode 1 from node to node.
    count : points of the Lagrange interpolation.
    tail : add the last two modes, which stand for what the grid of the values misses.
    """
    size = values.shape[axis]
    modes = np.arange(size // 2 + 1)
    weight = midway(count) / (2 * turns) * np.sin(np.pi * np.minimum(modes * turns, 0.5)) ** count
    if tail and modes.size > 2:
        weight[-2:] += modes[-2:]
    weight *= np.where(2 * modes == size, 1.0, 2.0) * (modes > 0)
    spectrum = np.fft.rfft(values, axis=axis) * (weight[:, None] if axis == 1 else weight)
    signal = np.fft.ifft(spectrum, size, axis=axis)
    return np.sqrt((signal.real**2 + signal.imag**2).sum(axis=0))
