"""How well a grid resolves the field on it."""

from typing import Any

import numpy as np
from jaxtyping import Float

from vcjax._checks import check_concrete, check_symmetry
from vcjax._errors import VcjaxError
from vcjax._geometry import resample


def spectral_tail(B: Float[np.ndarray, "nphi ntheta 3"], *, nfp: int, half_period: bool) -> float:
    """Share of a field in the highest modes its grid can hold, relative to max |B|.

    The virtual casing operator cannot see what its input grid leaves out; this number says how
    much that is likely to be. For an accuracy of d digits it should be below about 10^-d.

    Parameters
    ----------
    B : (nphi, ntheta, 3) field on a full or half period grid, any unit.

    Returns
    -------
    The larger of the two sums of Fourier amplitudes in the last two modes of phi and of theta,
    over max |B|.

    Raises
    ------
    VcjaxError : for a field that cannot be used.
    """
    nfp, half_period = check_symmetry("spectral_tail", nfp, half_period)
    values = check_concrete("spectral_tail", "B", B)
    if values.shape[2] < 4 or not values.any():
        raise VcjaxError(
            f"spectral_tail got B of shape {B.shape}, largest value {np.abs(values).max():.3g}; "
            "give a field that does not vanish, on at least 4 poloidal points."
        )
    samples = resample.field_period(values, nfp, half_period)
    largest = np.linalg.norm(values, axis=0).max()
    tails = [amplitudes(samples, axis)[-2:].sum() for axis in (1, 2) if samples.shape[axis] > 3]
    return float(max(tails, default=0.0) / largest)


def amplitudes(samples, axis: int, xp: Any = np):
    """Fourier amplitudes by |mode| along one axis, summed over components and the other axis."""
    spectrum = xp.abs(xp.fft.fft2(samples, axes=(1, 2))) / samples[0].size
    by_mode = spectrum.sum(axis=(0, 3 - axis))
    last = by_mode.size // 2
    mirrored = by_mode[last + 1 :][::-1]
    positive = by_mode[1 : mirrored.size + 1] + mirrored
    return xp.concatenate([by_mode[:1], positive, by_mode[mirrored.size + 1 : last + 1]])


def resolved_mode(samples: np.ndarray, axis: int, tolerance: float) -> int:
    """The last mode whose tail (itself and all above) exceeds a tolerance."""
    tail = np.cumsum(amplitudes(samples, axis)[::-1])[::-1]
    above = np.nonzero(tail > tolerance)[0]
    return int(above[-1]) if above.size else 0


def interpolation_error(share: np.ndarray, modes_per_node: float, count: int) -> float:
    """What local Lagrange interpolation on ``count`` points misses of a function.

    Of a mode that advances by ``w`` turns from node to node it misses about sin(pi w)^count.

    Parameters
    ----------
    share : amplitude of each mode.
    modes_per_node : turns from node to node of the first mode.
    """
    turns = np.minimum(np.arange(share.size) * modes_per_node, 0.5)
    return float(share @ np.sin(np.pi * turns) ** count)
