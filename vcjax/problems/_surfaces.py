"""Define toroidal surfaces by formulas: W7-X, a rotating ellipse, and axisymmetric tori."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vcjax._annotations import Float
from vcjax._checks import check_angles

_W7X_COEFFICIENTS = Path(__file__).parents[1] / "data" / "w7x_boundary.txt"

Shape = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Surface:
    """A stellarator-symmetric toroidal surface, given by a formula.

    Parameters
    ----------
    nfp : number of field periods.
    shape : function of arrays (phi, theta), in radians, that returns arrays (R, Z).
    """

    nfp: int
    shape: Shape

    def points(
        self, nphi: int, ntheta: int, *, half_period: bool
    ) -> Float[np.ndarray, "nphi ntheta 3"]:
        """Return Cartesian points (nphi, ntheta, 3) on a grid over a full or half field period.

        `vcjax.choose` describes the grid. The points have the unit of R and Z.

        Raises
        ------
        VcjaxError : if nphi or ntheta is not an integer from 1 to 100000, or if half_period is
            neither True nor False.
        """
        phi, theta = check_angles("Surface.points", nphi, ntheta, self.nfp, half_period)
        phi = phi[:, None]
        radius, height = self.shape(phi, theta)
        radius, height = np.broadcast_arrays(radius, height + 0 * phi)
        return np.stack([radius * np.cos(phi), radius * np.sin(phi), height], axis=2)


def w7x_boundary() -> Surface:
    """Return the boundary of Wendelstein 7-X, with lengths in metres.

    The boundary has 5 field periods, a major radius of 5.5 m and a minor radius of 0.5 m.
    """
    m, n, r, z = np.loadtxt(_W7X_COEFFICIENTS, unpack=True)

    def shape(phi, theta):
        phase = np.multiply.outer(theta, m) - np.multiply.outer(5 * phi, n)
        return np.cos(phase) @ r, np.sin(phase) @ z

    return Surface(5, shape)


def rotating_ellipse_surface(
    nfp: int = 4,
    *,
    major_radius: float = 0.7,
    semi_axes: tuple[float, float] = (0.1, 0.2),
) -> Surface:
    """Return a torus whose elliptical cross-section rotates by half a turn in each field period.

    The surface is R = R0 + (a + b)/2 cos(theta) + (a - b)/2 cos(theta - nfp phi) and
    Z = (a + b)/2 sin(theta) - (a - b)/2 sin(theta - nfp phi). The defaults are the values of a
    test in the ``virtual_casing`` package.

    Parameters
    ----------
    nfp : number of field periods.
    major_radius : R0.
    semi_axes : (a, b), with a along R at phi = 0.
    """
    a, b = semi_axes

    def shape(phi, theta):
        turned = theta - nfp * phi
        radius = major_radius + (a + b) / 2 * np.cos(theta) + (a - b) / 2 * np.cos(turned)
        return radius, (a + b) / 2 * np.sin(theta) - (a - b) / 2 * np.sin(turned)

    return Surface(nfp, shape)


def circular_torus(*, major_radius: float = 2.0, minor_radius: float = 1.0) -> Surface:
    """Return the torus R = R0 + a cos(theta), Z = a sin(theta).

    In the ``virtual_casing`` package this torus is called ``AxisymCircleWide`` if a = 1 and
    ``AxisymCircleNarrow`` if a = 0.5.

    Parameters
    ----------
    major_radius, minor_radius : R0 and a.
    """

    def shape(phi, theta):
        return major_radius + minor_radius * np.cos(theta), minor_radius * np.sin(theta)

    return Surface(1, shape)


def shaped_torus(*, major_radius: float = 2.0, minor_radius: float = 0.5) -> Surface:
    """Return a torus with an egg-shaped cross-section.

    The surface is R = R0 + a (5 (exp(cos(theta)) + cos(theta)) / 12 - 5/8), Z = a sin(theta). In
    the ``virtual_casing`` package this torus is called ``AxisymNarrow`` if a = 0.5 and
    ``AxisymWide`` if a = 1. The formula follows from a Fourier analysis of the points of these two
    surfaces.

    Parameters
    ----------
    major_radius, minor_radius : R0 and a.
    """

    def shape(phi, theta):
        cosine = np.cos(theta)
        radius = major_radius + minor_radius * (5 / 12 * (np.exp(cosine) + cosine) - 5 / 8)
        return radius, minor_radius * np.sin(theta)

    return Surface(1, shape)
