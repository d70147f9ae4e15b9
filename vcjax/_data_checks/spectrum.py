"""Estimate the part of a field that its grid misses, and detect noise and outliers.

The spectrum of smooth data decays. The modes that the grid does not resolve are estimated by
continuing the decay of the last modes of the grid. The corner of the spectrum consists of the modes
with high mode numbers along both angles. In smooth data these modes are almost zero. Noise and
single wrong points contribute to these modes as much as to other modes.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from vcjax._annotations import Complex, Float
from vcjax._geometry import symmetry

_SLOWEST = 0.9
"""`Spectrum.missed` limits the ratio of successive amplitudes to `_SLOWEST`. A spectrum with a
larger ratio looks like noise."""
_FEWEST = 20
"""Outliers can be distinguished from waves if the corner has at least this many modes."""
_LEAST = 4
"""Noise can be distinguished from decay if the outer and the inner part of the corner have at least
this many modes each."""
_ALONE = 0.5
"""A point is an outlier only if it explains at least this share of the power in the corner. A point
of smooth data explains up to 0.35."""
_EVEN = 0.7
"""The last two amplitudes may be noise if their maximum is more than `_EVEN` times the maximum of
the two amplitudes before them."""
_FLAT = 0.1
"""Least ratio of power per outer mode to power per inner mode (`_Corner`) that indicates noise."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The spectrum of a vector field on a grid over a whole period of both angles.

    `copies` is the number of values that one wrong point of the data affects. It is 2 if half of
    the values are mirror images of the other half, else 1.
    """

    values: Float[np.ndarray, "3 n m"]
    copies: int = 1

    @cached_property
    def largest(self) -> float:
        """Return the length of the longest vector."""
        return float(np.sqrt((self.values**2).sum(axis=0).max()))

    @cached_property
    def coefficients(self) -> Complex[np.ndarray, "3 n k"]:
        """Return the coefficients (3, n, k): all modes of phi, and the modes 0 to m/2 of theta."""
        return np.fft.rfft2(self.values, axes=(1, 2)) / self.values[0].size

    @cached_property
    def _power(self) -> Float[np.ndarray, "n k"]:
        """Return the power of each mode, summed over components and both signs of theta's mode."""
        sizes = np.abs(self.coefficients)
        power = np.einsum("ijk,ijk->jk", sizes, sizes)
        power[:, 1 : (self.values.shape[2] + 1) // 2] *= 2
        return power

    @cached_property
    def _amplitudes(self) -> list[Float[np.ndarray, " modes"]]:
        """Return the root of the power at each absolute mode number, along phi and along theta."""
        return [np.sqrt(folded(self._power.sum(axis=1))), np.sqrt(self._power.sum(axis=0))]

    def steepness(self, nfp: int, lengths) -> float:
        """Estimate the steepest slope: 2.5 times the root mean square of the derivatives.

        `lengths` are the lengths of the surface tangents along phi and theta.
        """
        _, n, m = self.values.shape
        slopes = nfp * np.fft.fftfreq(n, 1 / n)[:, None], np.arange(m // 2 + 1.0)
        squares = [
            (self._power * slope**2).sum() / length**2
            for slope, length in zip(slopes, lengths, strict=True)
        ]
        return 2.5 * float(np.sqrt(sum(squares)))

    def missed(self, axis: int, slope: int = 0) -> tuple[float, float]:
        """Estimate the maximum of the part that the grid misses along an axis, and the decay.

        The axis is 1 for phi, 2 for theta. The decay is the ratio of the amplitudes of successive
        modes. Let s be the sum of the geometric series that continues this decay. On each grid line
        along the axis, the amplitudes of the last modes are added. The estimate is the largest of
        these sums, times max(1, s). On known fields the estimate was 0.5 to 2.3 times the error of
        interpolation. If `slope` is 1, the estimate is for derivatives along the axis: each mode is
        weighted by its mode number in a period. If the axis has a single value, the estimate is 0.
        """
        if self.values.shape[axis] < 2:
            return 0.0, self._decay(axis)
        weight, waves = _last_waves(self.values.shape[axis], slope)
        content = waves @ self.values if axis == 1 else (self.values @ waves.T).swapaxes(1, 2)
        cosine, sine = content[:, : weight.size], content[:, weight.size :]
        # The waves are in phase somewhere on each line, and there their amplitudes add up.
        amplitude = np.einsum("k,ikl->il", weight, np.hypot(cosine, sine))
        largest = float(np.sqrt((amplitude**2).sum(axis=0).max()))
        decay = self._decay(axis)
        return largest * max(1.0, decay / (1 - decay)), decay

    def _decay(self, axis: int) -> float:
        """Estimate the ratio of successive amplitudes in the upper half of the modes.

        The estimate is at most `_SLOWEST`. It is 0.5 if the axis has fewer than 5 amplitudes, or if
        all amplitudes are zero.
        """
        share = self._amplitudes[axis - 1]
        if share.size < 5 or not share.any():
            return 0.5
        envelope = np.maximum.accumulate(share[::-1])[::-1][share.size // 2 :]
        logs = np.log(envelope + 1e-30 * share.max())
        steps = np.arange(logs.size) - (logs.size - 1) / 2
        return float(min(np.exp(steps @ logs / (steps @ steps)), _SLOWEST))

    def _is_flat(self, axis: int) -> bool:
        """Return whether an axis has fewer than 5 amplitudes, or the last two do not decay."""
        share = self._amplitudes[axis - 1]
        return share.size < 5 or bool(share[-2:].max() > _EVEN * share[-4:-2].max())

    @cached_property
    def _corner(self) -> "_Corner":
        """Return the corner of the spectrum with the least power; noise is easiest to detect there.

        On a helical surface a smooth field fills one of the two corners.
        """
        corners = _corners(*self.values.shape[1:])
        return min(corners, key=lambda corner: self._power[corner.modes].sum())

    def noise(self) -> float:
        """Return the standard deviation of white noise on the values, or 0 if no noise is found."""
        _, *parts, counts = self._corner
        if min(counts) < _LEAST or not (self._is_flat(1) and self._is_flat(2)):
            return 0.0
        in_outer, in_inner = (float(self._power[part].sum()) for part in parts)
        if in_outer / counts[0] < _FLAT * in_inner / counts[1]:
            return 0.0
        # The variance of each mode is the variance of the noise divided by the number of points.
        variance = (in_outer + in_inner) / sum(counts) * self.values[0].size / 3
        return float(np.sqrt(variance))

    def outlier(self, least: float) -> tuple[int, int, float] | None:
        """Return (row, column, error) of a wrong point, or None if no wrong point is found.

        The error is the distance from the value that a smooth function would have at this point.
        Errors up to `least` are not reported.
        """
        corner = self._corner
        count, size = sum(corner.counts), self.values[0].size
        power = float(self._power[corner.modes].sum())
        # If one wrong point caused all the power in the corner, the error of this point would be
        # sqrt(power / count) * size.
        if count < _FEWEST or np.sqrt(power / count) * size <= least:
            return None
        shape = self.values.shape[1:]
        fine = np.fft.irfft2(self.coefficients * corner.modes, s=shape, axes=(1, 2)) * size
        norms = (fine**2).sum(axis=0)
        row, column = np.unravel_index(norms.argmax(), shape)
        share = self.copies * norms[row, column] / (count * power)
        off = float(np.sqrt(norms[row, column]) * size / count)
        return (int(row), int(column), off) if share >= _ALONE and off > least else None


def field_spectrum(
    B: Float[np.ndarray, "3 nphi ntheta"],
    nfp: int,
    half_period: bool,
    parity: tuple[float, float, float] = symmetry.FIELD_PARITY,
) -> Spectrum:
    """Return the spectrum of one period of a field, in components that rotate with phi."""
    return Spectrum(symmetry.field_period(B, nfp, half_period, parity=parity), 1 + half_period)


def folded(values, xp: Any = np):
    """Add the values of the modes k and -k; return values for the modes 0 to n // 2.

    The modes of the n values are in the order of `numpy.fft.fftfreq`.
    """
    middle = values.size // 2 + 1
    mirrored = values[middle:][::-1]
    both = values[1 : mirrored.size + 1] + mirrored
    return xp.concatenate([values[:1], both, values[mirrored.size + 1 : middle]])


@lru_cache(maxsize=32)
def _last_waves(count: int, slope: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (k,) and the values of the last k modes along an axis of `count` points.

    The values have the shape (2 k, count): the cosines of all k modes, then the sines. See
    `Spectrum.missed` for `slope`.
    """
    last = count // 2
    modes = np.arange(last - 1 if last >= 4 else last, last + 1)
    weight = np.where(2 * modes == count, 1.0, 2.0) * modes.astype(float) ** slope / count
    phases = 2 * np.pi / count * np.outer(modes, np.arange(count))
    return weight, np.concatenate([np.cos(phases), np.sin(phases)])


class _Corner(NamedTuple):
    """A corner of the spectrum: the modes in the upper half along both axes.

    The masks (n, k) select coefficients: `modes` selects the whole corner, `outer` its highest
    modes, and `inner` its other modes. `counts` are the numbers of outer and of inner modes, with
    both signs of theta's mode number.
    """

    modes: np.ndarray
    outer: np.ndarray
    inner: np.ndarray
    counts: tuple[float, float]


@lru_cache(maxsize=32)
def _corners(n: int, m: int) -> list[_Corner]:
    """Return the two corners of the spectrum of an (n, m) grid; a single corner if n is below 4.

    In one corner, the mode numbers along phi and theta have the same sign. In the other corner,
    they have opposite signs.
    """
    along_phi, along_theta = np.fft.fftfreq(n)[:, None], np.arange(m // 2 + 1) / m
    height = np.maximum(np.abs(along_phi), along_theta)
    upper = along_theta > 1 / 4
    # If n is even, the highest mode along phi has both signs, so it belongs to both corners.
    signs = (along_phi % 1 > 1 / 4) & (along_phi % 1 <= 1 / 2), along_phi < -1 / 4
    # With fewer than 4 rows, there is no upper half of the modes along phi.
    found = [sign & upper for sign in signs] if n >= 4 else [(height >= 0) & upper]
    weight = np.full(along_theta.size, 2.0)
    if m % 2 == 0:
        weight[-1] = 1.0
    corners = []
    for modes in found:
        parts = modes & (height > 0.42), modes & (height <= 0.42)
        outer, inner = (float(part.sum(axis=0) @ weight) for part in parts)
        corners.append(_Corner(modes, *parts, (outer, inner)))
    return corners
