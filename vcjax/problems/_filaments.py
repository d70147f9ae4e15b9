"""Define closed current filaments, and compute their magnetic field up to rounding errors.

Currents are given as mu_0 I / (4 pi). Fields have the unit of mu_0 I divided by the length unit of
the points.

The trapezoidal rule on a smooth closed curve converges geometrically [1]_. With n points over the
parameter range [0, 2 pi), the error is about exp(-n s). Here s is the distance from the real axis
to the nearest singularity of the integrand. For a target at the distance d outside a circle of
radius a, s = log(1 + d / a). `point_count` generalises this formula to other curves.

References
----------
.. [1] L. N. Trefethen and J. A. C. Weideman, The exponentially convergent trapezoidal rule,
   SIAM Review 56 (2014) 385, section 2.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.optimize import root_scalar
from scipy.spatial import KDTree

from vcjax._annotations import Float
from vcjax._errors import VcjaxError

_TILE_BYTES = 2**19
"""Size in bytes of a temporary array (targets, sources). Six such arrays fit into the cache of a
core; larger arrays would make the sums 5 times slower."""
_NATURAL_DIGITS = 36.0
"""Natural logarithm of the factor by which the error is to be reduced: exp(36) = 4e15."""
_MOST_SAMPLES = 2**16
"""Largest number of samples of a curve. With this limit, a target counts as on the curve if it
is closer to the curve than a few 1e-5 times the curve's length."""


class Filament(ABC):
    """A smooth closed curve, parametrised over [0, 2 pi), that carries a current.

    Attributes
    ----------
    current : mu_0 I / (4 pi), positive in the direction of increasing parameter.
    """

    current: float

    @abstractmethod
    def curve(
        self, parameter: Float[np.ndarray, " n"]
    ) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n 3"]]:
        """Return points of the curve at given parameters, and their parameter derivatives."""


@dataclass(frozen=True)
class ToroidalLoop(Filament):
    """A current loop that goes once around the z axis, in the toroidal direction.

    The loop is R = sum_n r[n] cos(n nfp phi), Z = z[0] + sum_n z[n] sin(n nfp phi).

    Parameters
    ----------
    current : mu_0 I / (4 pi), positive in the direction of increasing phi.
    r, z : coefficients, in the unit of length. A loop with z[0] = 0 is stellarator-symmetric.
    nfp : number of field periods.
    """

    current: float
    r: tuple[float, ...]
    z: tuple[float, ...] = (0.0,)
    nfp: int = 1

    def curve(self, parameter):
        """Return points of the loop at given toroidal angles phi, and their phi derivatives."""
        modes = [self.nfp * np.arange(len(series)) for series in (self.r, self.z)]
        of_r, of_z = (np.outer(parameter, numbers) for numbers in modes)
        radius, radius_slope = np.cos(of_r) @ self.r, -np.sin(of_r) @ (modes[0] * self.r)
        height = self.z[0] + np.sin(of_z) @ self.z
        height_slope = np.cos(of_z) @ (modes[1] * self.z)
        cosine, sine = np.cos(parameter), np.sin(parameter)
        points = np.stack([radius * cosine, radius * sine, height], axis=1)
        slope_x = radius_slope * cosine - radius * sine
        slope_y = radius_slope * sine + radius * cosine
        return points, np.stack([slope_x, slope_y, height_slope], axis=1)


@dataclass(frozen=True)
class PoloidalCoil(Filament):
    """A circular coil around the plasma, in the half plane of constant phi.

    Parameters
    ----------
    current : mu_0 I / (4 pi). If positive, the field inside the coil points along increasing phi.
    phi : toroidal angle of the coil's plane, in radians.
    centre : (R, Z) of the coil's centre, in the unit of length.
    radius : radius of the coil, in the unit of length.
    """

    current: float
    phi: float
    centre: tuple[float, float]
    radius: float

    def curve(self, parameter):
        """Return points of the coil at given angles about its axis, and their derivatives.

        The derivatives are taken with respect to the angle. The angle is 0 at the top of the coil
        and increases towards larger R.
        """
        outward = np.array([np.cos(self.phi), np.sin(self.phi), 0.0])
        # From e_Z towards e_R: right-handed about e_phi, since e_Z x e_R = e_phi.
        upward = np.array([0.0, 0.0, 1.0])
        cosine = self.radius * np.cos(parameter)[:, None]
        sine = self.radius * np.sin(parameter)[:, None]
        middle = self.centre[0] * outward + self.centre[1] * upward
        return middle + cosine * upward + sine * outward, cosine * outward - sine * upward


@dataclass(frozen=True)
class CentralConductor:
    """A straight current along the z axis, closed at infinity: B = 2 current / R along phi.

    Parameters
    ----------
    current : mu_0 I / (4 pi), positive along +z.
    """

    current: float

    def field(self, targets: Float[np.ndarray, "m 3"]) -> Float[np.ndarray, "m 3"]:
        """Return the Cartesian components of the field at the targets."""
        x, y, _ = targets.T
        return 2 * self.current / (x * x + y * y)[:, None] * np.stack([-y, x, 0 * x], axis=1)

    def gradient(self, targets: Float[np.ndarray, "m 3"]) -> Float[np.ndarray, "m 3 3"]:
        """Return the gradient of the field at the targets, with [:, i, k] = d_i B_k."""
        x, y, _ = targets.T
        gradient = np.zeros((len(targets), 3, 3))
        gradient[:, 0, 0] = 2 * x * y
        gradient[:, 1, 1] = -2 * x * y
        gradient[:, 0, 1] = gradient[:, 1, 0] = (y - x) * (y + x)
        return 2 * self.current / (x * x + y * y)[:, None, None] ** 2 * gradient


def point_count(call: str, filament: Filament, targets: KDTree) -> int:
    """Return how many points on a filament reduce the error at the targets to rounding error.

    With n points the error is about exp(-n s) if the integrand is singular at the complex parameter
    t + i s. Let the curve be y = sum_k c_k exp(i k t). The distance between its points at t and at
    t + i s is about the sum over k > 0 of sqrt(2) |c_k| (exp(k s) - 1). For circles the sum is
    exact. The integrand is singular at the s for which the sum is equal to the distance from the
    curve to the nearest target.
    """
    count = 256
    while True:
        points, slopes = filament.curve(2 * np.pi * np.arange(count) / count)
        distance = targets.query(points)[0].min()
        # The nearest point of the curve may be half a step away from a sample.
        slack = np.pi * np.linalg.norm(slopes, axis=1).max() / count
        if slack < 0.1 * distance or count >= _MOST_SAMPLES:
            break
        count *= 2
    if slack > 0.5 * distance:
        raise VcjaxError(
            f"{call} got a point on a current or next to it, within {distance + slack:.2g} of a "
            f"{type(filament).__name__}, where the field is infinite. Leave such points out."
        )
    amplitudes = np.sqrt(2) * np.linalg.norm(np.fft.rfft(points, axis=0)[1:] / count, axis=1)
    modes = 1 + np.flatnonzero(amplitudes > 1e-14 * amplitudes.max())
    amplitudes = amplitudes[modes - 1]
    reach = distance - slack

    def excess(shift):
        return amplitudes @ np.expm1(modes * shift) - reach

    upper = np.log1p(reach / amplitudes[0]) / modes[0] + 1.0
    return int(np.ceil(_NATURAL_DIGITS / root_scalar(excess, bracket=(0.0, upper)).root))


def biot_savart(
    filaments: tuple[Filament, ...], targets: Float[np.ndarray, "m 3"]
) -> Float[np.ndarray, "m 3"]:
    """Return the field of closed filaments, B = sum (mu_0 I / 4 pi) int dl x r / |r|^3.

    The vector r from a filament to a target is formed first, so that no digits cancel later.
    """
    points, elements = _elements("problems.magnetic_field", filaments, targets)
    field = np.empty_like(targets)
    for tile, offsets in _tiles(targets, points):
        squared = offsets[0] ** 2
        for offset in offsets[1:]:
            squared += offset * offset
        weights = 1.0 / (squared * np.sqrt(squared))
        x, y, z = (np.multiply(offset, weights, out=offset) @ elements for offset in offsets)
        field[tile, 0] = z[:, 1] - y[:, 2]
        field[tile, 1] = x[:, 2] - z[:, 0]
        field[tile, 2] = y[:, 0] - x[:, 1]
    return field


def biot_savart_gradient(
    filaments: tuple[Filament, ...], targets: Float[np.ndarray, "m 3"]
) -> Float[np.ndarray, "m 3 3"]:
    """Return the gradient of the field of closed filaments: (m, 3, 3) with [:, i, k] = d_i B_k.

    Let r be the vector from a point of a filament to a target. The kernel is the symmetric matrix
    K_im = delta_im / |r|^3 - 3 r_i r_m / |r|^5, while the kernel of the field is r / |r|^3. The
    additional power of 1/|r| makes the error of the trapezoidal rule larger, by a factor of about
    the number of points. To compensate for this factor, 7/6 times as many points are used, which
    multiplies the error by exp(-6).
    """
    points, elements = _elements("problems.magnetic_field_gradient", filaments, targets, 7 / 6)
    gradient = np.empty((len(targets), 3, 3))
    for tile, offsets in _tiles(targets, points):
        squared = sum(offset * offset for offset in offsets)
        cubed = 1.0 / (squared * np.sqrt(squared))
        fifth = 3 * cubed / squared
        kernel = np.empty((3, 3, len(cubed), 3))
        for i, m in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
            values = cubed * (i == m) - fifth * offsets[i] * offsets[m]
            kernel[i, m] = kernel[m, i] = values @ elements
        for k, (a, b) in enumerate(((1, 2), (2, 0), (0, 1))):
            gradient[tile, :, k] = (kernel[:, b, :, a] - kernel[:, a, :, b]).T
    return gradient


def _elements(call, filaments, targets, refinement: float = 1):
    """Return the points (n, 3) of all filaments and the current elements (n, 3) at these points.

    The number of points of each filament is multiplied by `refinement`.
    """
    points, elements = [], []
    tree = KDTree(targets)
    for filament in filaments:
        count = int(np.ceil(refinement * point_count(call, filament, tree)))
        curve, slope = filament.curve(2 * np.pi * np.arange(count) / count)
        points.append(curve)
        elements.append(filament.current * 2 * np.pi / count * slope)
    return np.concatenate(points), np.concatenate(elements)


def _tiles(targets, points):
    """Yield the slice of each tile of targets, and the components of target minus point.

    The components are three arrays of shape (targets of the tile, points).
    """
    step = max(1, _TILE_BYTES // (8 * len(points)))
    for start in range(0, len(targets), step):
        tile = slice(start, start + step)
        yield tile, [targets[tile, axis, None] - points[:, axis] for axis in range(3)]
