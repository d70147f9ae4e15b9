"""Estimate derivatives of a field along a surface, and their errors due to interpolation."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vcjax._annotations import Float
from vcjax._data_checks.currents import tangents_at_field
from vcjax._geometry.jump import dual_basis, total_gradient
from vcjax._quadrature.spectrum import Values, lagrange_errors, midway, signal

_UNIFORM = 10.0
"""`Slopes.scale` is at least max |B| / (`_UNIFORM` R), with R as defined there."""
_ALLOWED = 0.7
"""Largest allowed estimate of the interpolation error along an axis, relative to the requested
error. Next to coils, errors were up to 1.3 times the estimate."""
_MOST_DIGITS = 12
"""For more digits, `Slopes.tolerance` is the same as for this number of digits, because rounding
errors do not allow a smaller tolerance."""


@dataclass(frozen=True, eq=False)
class Slopes(Values):
    """The derivatives of a field on its own grid, and their errors due to interpolation on patches.

    Errors and sizes have the unit of the field over the unit of the surface, but `missed` is
    relative to `scale`. `spectrum` is from one period of the field, in co-rotating components.
    `samples` are one period of the surface, from `symmetry.surface_period`. If `half_period`, the
    grid of the field covers half a period. `off_surface` has no effect.
    """

    samples: Float[np.ndarray, "3 a b"]
    half_period: bool

    @cached_property
    def _basis(self) -> Float[np.ndarray, "3 3 n m"]:
        _, rows, columns = self.spectrum.values.shape
        shape = rows // (1 + self.half_period), columns
        tangents = tangents_at_field(self.samples, self.nfp, self.half_period, shape)
        return dual_basis(*tangents, np)

    @cached_property
    def scale(self) -> float:
        """Size to which the requested error is relative: the largest component of grad B.

        The value is at least max |B| / (10 R), because the gradient of a uniform field vanishes.
        Here R is the largest distance of the surface from the z axis.
        """
        (_, rows, columns), values = self.spectrum.values.shape, self.spectrum.values
        modes = self.nfp * np.fft.fftfreq(rows, 1 / rows)[:, None], np.arange(columns // 2 + 1)
        slope_phi, slope_theta = (
            np.fft.irfft2(1j * mode * self.spectrum.coefficients, s=(rows, columns), norm="forward")
            for mode in modes
        )
        # The frame rotates: see `resample.tangents_at`.
        slope_phi[0] -= values[1]
        slope_phi[1] += values[0]
        gradient = total_gradient(self._basis, (slope_phi, slope_theta))
        size = np.hypot(self.samples[0], self.samples[1]).max()
        least = self.spectrum.largest / (_UNIFORM * size)
        return max(float(np.abs(gradient).max()), float(least))

    def tolerance(self, digits: int) -> float:
        """Return the limit of `misses` for a number of digits."""
        return _ALLOWED * 10.0 ** -min(digits, _MOST_DIGITS) * self.scale

    def missed(self, nodes: np.ndarray, stencil_counts: tuple[int, int]) -> float:
        """Estimate the error of derivatives due to interpolation, relative to `scale`.

        `nodes` contains two numbers of quadrature nodes: along phi (whole torus) and along theta.
        """
        turns = np.array([self.nfp, 1]) / nodes
        missed = 0.0
        for axis, *along in zip((1, 2), turns, stencil_counts, strict=True):
            missed += self._largest(axis, missed_slope(self.spectrum.values, axis, *along))
        return missed / self.scale

    def misses(self, limit: float, axis: int, turns: float, count: int) -> bool:
        """Return whether `missed_slope` along an axis is above a limit at any point of the grid."""
        weights = missed_slope_weights(self.spectrum.values.shape[axis], turns, count)
        return super().is_larger(limit, axis, weights)

    def is_larger(self, limit: float, axis: int, factors: np.ndarray) -> bool:
        """Return whether a derivative along an axis is above a limit at any point of the grid.

        The modes 0 .. k - 1 of the field along this axis are first scaled by the factors (k,).
        """
        return super().is_larger(limit, axis, np.arange(factors.size) * factors)

    def _largest(self, axis: int, size: Float[np.ndarray, "n m"]) -> float:
        periods = self.nfp if axis == 1 else 1
        return float((periods * np.linalg.norm(self._basis[axis - 1], axis=0) * size).max())


def missed_slope(
    values: Float[np.ndarray, "3 n m"], axis: int, turns: float, count: int, *, tail: bool = False
) -> Float[np.ndarray, "n m"]:
    """Estimate the error that interpolation on patches causes in the derivative along an axis.

    Between nodes that are h apart, the error of an interpolated value (`spectrum.missed_values`)
    oscillates like sin(pi x / h). At a node, the slope of this error is therefore pi/h times the
    amplitude of the error. The parameters are as in `missed_values`. With `tail`, the derivative of
    the last two modes is added, as an estimate for the modes that the grid of the values does not
    resolve.
    """
    weight = missed_slope_weights(values.shape[axis], turns, count)
    if tail and weight.size > 2:
        weight[-2:] += np.arange(weight.size)[-2:]
    return signal(values, axis, weight)


def missed_slope_weights(size: int, turns: float, count: int) -> np.ndarray:
    """Return the errors in `missed_slope` of the modes 0 .. size // 2, relative to the modes."""
    return midway(count) / (2 * turns) * lagrange_errors(size // 2 + 1, turns, count)
