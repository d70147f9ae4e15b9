"""What a grid misses of the values on it, and what on it is no smooth function.

Smooth data have spectra that decay; what lies beyond the grid continues the decay of its last
modes. Where both mode numbers are high, smooth data leave next to nothing, while noise and single
wrong points are there as large as anywhere else.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from vcjax._geometry import resample

_SLOWEST = 0.9
"""Largest ratio from mode to mode that is extrapolated: a flatter spectrum looks like noise."""
_FEWEST = 20
"""Modes of the corner that are enough to tell an outlier from a wave."""
_LEAST = 4
"""Modes of either part of the corner that are enough to tell noise from decay."""
_ALONE = 0.5
"""Share of the corner that one point must explain to be an outlier; smooth data reach 0.35."""
_EVEN = 0.7
"""Least ratio of the last two amplitudes and the two before that is noise."""
_FLAT = 0.1
"""Least ratio of powers of the outer and inner modes of the corner that is noise."""


@dataclass(frozen=True, eq=False)
class Outlier:
    """The point that explains most of the finest scales, and by how much it is off."""

    row: int
    column: int
    size: float


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Fourier coefficients of periodic values (3, n, m), both angles over a whole period.

    Attributes
    ----------
    values : (3, n, m) in any unit.
    copies : how often an outlier shows: twice where half of the values are images of the others.
    """

    values: Float[np.ndarray, "3 n m"]
    copies: int = 1

    @cached_property
    def largest(self) -> float:
        """Return the largest length of a vector."""
        return float(np.sqrt((self.values**2).sum(axis=0).max()))

    @cached_property
    def coefficients(self) -> Complex[np.ndarray, "3 n k"]:
        """Return the coefficients of modes 0 to m/2 along the last axis."""
        return np.fft.rfft2(self.values, axes=(1, 2)) / self.values[0].size

    @cached_property
    def _sizes(self) -> Float[np.ndarray, "3 n k"]:
        return np.abs(self.coefficients)

    @cached_property
    def _power(self) -> Float[np.ndarray, "n k"]:
        """Return the power of each mode, modes of either sign of the last axis together."""
        power = np.einsum("ijk,ijk->jk", self._sizes, self._sizes)
        power[:, 1 : (self.values.shape[2] + 1) // 2] *= 2
        return power

    def amplitudes(self, axis: int) -> Float[np.ndarray, " modes"]:
        """Return the root of the power by |mode| along an axis (1 or 2)."""
        return self._amplitudes[axis - 1]

    @cached_property
    def _amplitudes(self) -> list[np.ndarray]:
        return [np.sqrt(_folded(self._power.sum(axis=2 - axis), axis)) for axis in (1, 2)]

    def shares(self, axis: int) -> Float[np.ndarray, " modes"]:
        """Return the amplitudes by |mode| along an axis (1 or 2), summed over the components."""
        return self._shares[axis - 1]

    @cached_property
    def _shares(self) -> list[np.ndarray]:
        sizes = self._sizes.sum(axis=0)
        sizes[:, 1 : (self.values.shape[2] + 1) // 2] *= 2
        return [_folded(sizes.sum(axis=2 - axis), axis) for axis in (1, 2)]

    def steepness(self, nfp: int, lengths) -> float:
        """Return the steepest slope, about 2.5 times the root mean square of the derivatives.

        Parameters
        ----------
        nfp : number of periods; modes along phi are those of one.
        lengths : of the tangents along phi and theta.
        """
        _, n, m = self.values.shape
        slopes = nfp * np.fft.fftfreq(n, 1 / n)[:, None], np.arange(m // 2 + 1.0)
        squares = [
            (self._power * slope**2).sum() / length**2
            for slope, length in zip(slopes, lengths, strict=True)
        ]
        return 2.5 * float(np.sqrt(sum(squares)))

    def missed(self, axis: int, slope: int = 0) -> tuple[float, float]:
        """Estimate the largest value that the grid misses along an axis, and the decay.

        The content of the last modes at the worst point, times the sum of the geometric series
        that continues it. On known fields it was 0.5 to 2.3 times the error of interpolation.

        Parameters
        ----------
        axis : 1 or 2.
        slope : 1 for derivatives along the axis (by mode numbers of a period), 0 for values.

        Returns
        -------
        missed, in the unit of the values, and the ratio of an amplitude to the one before.
        """
        if self.values.shape[axis] < 2:
            return 0.0, 0.0
        weight, waves = _last_waves(self.values.shape[axis], slope)
        content = waves @ self.values if axis == 1 else (self.values @ waves.T).swapaxes(1, 2)
        cosine, sine = content[:, : weight.size], content[:, weight.size :]
        # On each line the waves are in phase somewhere.
        amplitude = np.einsum("k,ikl->il", weight, np.hypot(cosine, sine))
        largest = float(np.sqrt((amplitude**2).sum(axis=0).max()))
        decay = self._decay(axis)
        return largest * max(1.0, decay / (1 - decay)), decay

    def _decay(self, axis: int) -> float:
        """Return the ratio from mode to mode that fits the upper half of the amplitudes."""
        share = self.amplitudes(axis)
        if share.size < 5 or not share.any():
            return 0.5
        envelope = np.maximum.accumulate(share[::-1])[::-1][share.size // 2 :]
        logs = np.log(envelope + 1e-30 * share.max())
        steps = np.arange(logs.size) - (logs.size - 1) / 2
        return float(min(np.exp(steps @ logs / (steps @ steps)), _SLOWEST))

    def _is_flat(self, axis: int) -> bool:
        """Return whether the last amplitudes along an axis decay no more, or are too few to say."""
        share = self.amplitudes(axis)
        return share.size < 5 or bool(share[-2:].max() > _EVEN * share[-4:-2].max())

    @cached_property
    def _corner(self) -> "_Corner":
        """Return the weaker of the corners: a field that follows a winding surface fills others."""
        corners = _corners(*self.values.shape[1:])
        return min(corners, key=lambda corner: self._power[corner.modes].sum())

    def noise(self) -> float:
        """Return the standard deviation of white noise on the values, 0 where there is none."""
        _, *parts, counts = self._corner
        if min(counts) < _LEAST or not (self._is_flat(1) and self._is_flat(2)):
            return 0.0
        in_outer, in_inner = (float(self._power[part].sum()) for part in parts)
        if in_outer / counts[0] < _FLAT * in_inner / counts[1]:
            return 0.0
        # Each mode of white noise has its variance over the number of points.
        variance = (in_outer + in_inner) / sum(counts) * self.values[0].size / 3
        return float(np.sqrt(variance))

    def outlier(self, least: float) -> Outlier | None:
        """Return the point, off by more than `least`, that explains most of the finest scales."""
        corner = self._corner
        count, size = sum(corner.counts), self.values[0].size
        power = float(self._power[corner.modes].sum())
        # A point that explains everything is off by this much.
        if count < _FEWEST or np.sqrt(power / count) * size <= least:
            return None
        shape = self.values.shape[1:]
        fine = np.fft.irfft2(self.coefficients * corner.modes, s=shape, axes=(1, 2)) * size
        norms = (fine**2).sum(axis=0)
        row, column = np.unravel_index(norms.argmax(), shape)
        share = self.copies * norms[row, column] / (count * power)
        off = float(np.sqrt(norms[row, column]) * size / count)
        return Outlier(int(row), int(column), off) if share >= _ALONE and off > least else None


def field_spectrum(B: Float[np.ndarray, "3 nphi ntheta"], nfp: int, half_period: bool) -> Spectrum:
    """Return the spectrum of one period of a field, co-rotating components."""
    return Spectrum(resample.field_period(B, nfp, half_period), 1 + half_period)


def _folded(values: np.ndarray, axis: int) -> np.ndarray:
    """Return values by |mode|: along axis 1 add those of -k to those of k, along 2 nothing."""
    if axis == 2:
        return values
    folded = values[: values.size // 2 + 1].copy()
    last = (values.size + 1) // 2
    folded[1:last] += values[:0:-1][: last - 1]
    return folded


@lru_cache(maxsize=32)
def _last_waves(count: int, slope: int) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (k,) of the last modes on a grid, and waves (2 k, count): cosines, sines."""
    last = count // 2
    modes = np.arange(last - 1 if last >= 4 else last, last + 1)
    weight = np.where(2 * modes == count, 1.0, 2.0) * modes.astype(float) ** slope / count
    phases = 2 * np.pi / count * np.outer(modes, np.arange(count))
    return weight, np.concatenate([np.cos(phases), np.sin(phases)])


class _Corner(NamedTuple):
    """Modes in the upper half along both axes.

    Attributes
    ----------
    modes, outer, inner : (n, k) which coefficients; those of the highest modes, and the others.
    counts : how many modes, of either sign, outer and inner stand for.
    """

    modes: np.ndarray
    outer: np.ndarray
    inner: np.ndarray
    counts: tuple[float, float]


@lru_cache(maxsize=32)
def _corners(n: int, m: int) -> list[_Corner]:
    """Return the corner of the modes m theta - n phi with m n > 0, and that with m n < 0."""
    along_phi, along_theta = np.fft.fftfreq(n)[:, None], np.arange(m // 2 + 1) / m
    height = np.maximum(np.abs(along_phi), along_theta)
    upper = along_theta > 1 / 4
    # The highest mode of an even count belongs to both.
    signs = (along_phi % 1 > 1 / 4) & (along_phi % 1 <= 1 / 2), along_phi < -1 / 4
    # Few rows have no upper half.
    found = [sign & upper for sign in signs] if n >= 4 else [(height >= 0) & upper]
    weight = np.full(along_theta.size, 2.0)
    weight[0] = 1.0
    if m % 2 == 0:
        weight[-1] = 1.0
    corners = []
    for modes in found:
        parts = modes & (height > 0.42), modes & (height <= 0.42)
        outer, inner = (float(part.sum(axis=0) @ weight) for part in parts)
        corners.append(_Corner(modes, *parts, (outer, inner)))
    return corners
