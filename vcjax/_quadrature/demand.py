"""Define the conditions that a quadrature must satisfy to reach the requested accuracy."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vcjax._quadrature.sheets import Sheets

RIM_KERNEL = 0.02
"""Size of the near kernel at the rim of a patch, divided by exp(-T^2), where T is the cut-off."""
# Digits by which the error from other sheets (`vcjax._quadrature.sheets`) must be below the
# requested error.
_REACH_DIGITS = 0.9
# If the rule is for points off the surface, the quadrature error of a field must be smaller by this
# number of digits than for points on the surface.
_OFF_SURFACE_MARGIN = 0.3
# For gradients, `Demand.angular_epsilon` is smaller than `Demand.epsilon` by this number of digits.
_ANGULAR_DIGITS = 1.0
# Exponent in `Demand.joint_radial_count`. On an ellipse of 0.05 x 0.4 that rotates (5 periods, 8
# digits), the error was 1.27 times the requested error with 29 radii, and 0.57 times the requested
# error with 30 radii.
_RADII_POWER = 12
# Factor by which gradients need more radii than fields if other sheets lie inside a patch.
_GRADIENT_RADII = 1.5
# For gradients, the near kernel at the rim must be `_GRADIENT_MARGIN` digits below the error for
# which the quadrature is chosen. `_GRADIENT_EXTRA` is added to the square of the cut-off T in the
# formula for the radius of patches. Both numbers were fitted on the shapes of studies/accuracy.
_GRADIENT_MARGIN = 0.8
_GRADIENT_EXTRA = 1.5
# Values of `Demand.bending` off the surface, for fields and for gradients. The smaller value is
# enough for gradients, because `_GRADIENT_EXTRA` already makes their patches larger.
_BENDING, _BENDING_OF_GRADIENTS = 5 / 24, 1 / 12
# If at least `_MANY_DIGITS` digits are requested, the near kernel at the rim may be larger: by a
# factor of 10^`_FIELD_RIM_DIGITS` for fields, and of 10^`_GRADIENT_RIM_DIGITS` for gradients
# (`Demand.wide_cutoff`). For gradients, the contribution of a constant field includes the
# integrals along the rim (`vcjax._kernels.gradient`).
_MANY_DIGITS, _FIELD_RIM_DIGITS, _GRADIENT_RIM_DIGITS = 10, 1.0, 0.9
# The quadrature of a gradient has at most `_MOST_QUADRATURE_DIGITS` digits, or at most
# `_MOST_MORE_DIGITS` digits more than requested, whichever is larger.
_MOST_QUADRATURE_DIGITS, _MOST_MORE_DIGITS = 13.0, 3.0


@dataclass(frozen=True)
class Demand:
    """The conditions that a quadrature must satisfy to reach an accuracy on any surface.

    The sizes of patches and polar rules follow from T = `cutoff`. For many digits, the near kernel
    of targets on the surface may have a smaller T, `wide_cutoff`. If a surface bends within a
    patch, the trapezoidal rule for the smooth rest of the kernel can have 100 times the error that
    it has on a flat surface. A wider near kernel reduces this error, and fits on the same patches.

    For points off the surface, the square of the least allowed distance from a point to the rim of
    its patch is multiplied by 1 + `bending` beta^2. The angle beta is large if there are few nodes
    along theta; see `Rims`.

    In the methods, `semi_axes` are the semi-axes of k patches as angles in phi and theta, (2, k).
    """

    epsilon: float  # error that the quadrature may have
    angular_epsilon: float  # part of `epsilon` that may come from the number of angles
    reach: float  # natural logarithm of 1 / (error that may come from other sheets of the surface)
    radial_reach: float  # takes the place of `reach` in the number of radii; larger for gradients
    cutoff: float  # T, the product of the near kernel's cut-off rate and the radius of a patch
    wide_cutoff: float
    radius_in_nodes: float  # least radius of a patch on the tangent plane, in node spacings
    least_radial_count: int  # least number of radii of the polar rule
    lagrange_count: int  # number of points of the Lagrange interpolation to polar nodes
    bending: float = 0.0

    @classmethod
    def of(cls, digits: float, *, off_surface: bool) -> "Demand":
        """Return the demands for a field with an error of 10^-digits, relative to max |B|."""
        margin = max(1.0, 0.5 + digits / 6) + (_OFF_SURFACE_MARGIN if off_surface else 0.0)
        demand = cls._of(digits, margin, 0.0)
        demand = demand._widened(digits, digits + margin - _FIELD_RIM_DIGITS)
        return replace(demand, bending=_BENDING if off_surface else 0.0)

    @classmethod
    def of_gradient(
        cls, digits: int, length: float, spacing: float, *, off_surface: bool
    ) -> "Demand":
        """Return the demands for a gradient with an error of 10^-digits, relative to max |grad B|.

        The error of the trapezoidal rule oscillates from node to node. Therefore the slope of the
        error is 2 pi / spacing times as large as the error. Let `length` be max |B| over
        max |grad B|, and `spacing` the `least_spacing` of a grid, in the same unit. The quadrature
        then needs log10(2 pi length / spacing) more digits than requested. By far the largest part
        of the error comes from the trapezoidal rule for the smooth rest of the kernel. With a patch
        radius of T^2 / pi node spacings, where T is `cutoff`, this error is about exp(-T^2). The
        radius is therefore increased to (T^2 + `_GRADIENT_EXTRA`) / pi node spacings, which reduces
        the error to about exp(-(T^2 + 2 `_GRADIENT_EXTRA`)).
        """
        lost = np.log10(2 * np.pi * length / spacing)
        most = max(_MOST_QUADRATURE_DIGITS, digits + _MOST_MORE_DIGITS)
        enough = float(min(digits + lost, most))
        demand = cls._of(enough, _GRADIENT_MARGIN, _GRADIENT_EXTRA)
        rim_digits = float(digits + lost + _GRADIENT_MARGIN - _GRADIENT_RIM_DIGITS)
        demand = demand._widened(float(digits), rim_digits)
        return replace(
            demand,
            angular_epsilon=demand.epsilon * 10.0**-_ANGULAR_DIGITS,
            radial_reach=_GRADIENT_RADII * demand.reach,
            bending=_BENDING_OF_GRADIENTS if off_surface else 0.0,
        )

    @classmethod
    def _of(cls, digits: float, margin: float, extra: float) -> "Demand":
        epsilon = float(10.0 ** -(digits + margin))
        cutoff = float(np.sqrt(np.log(RIM_KERNEL / epsilon)))
        lagrange = 2 * int(np.ceil(2 * cutoff))
        reach = float(np.log(10) * (digits + _REACH_DIGITS))
        radius = (cutoff**2 + extra) / np.pi
        radii = int(np.ceil(max(6 * cutoff, 1.5 * cutoff**2)))
        return cls(epsilon, epsilon, reach, reach, cutoff, cutoff, radius, radii, lagrange)

    def _widened(self, digits: float, rim_digits: float) -> "Demand":
        """Return the demand, with a wider near kernel if `digits` is at least `_MANY_DIGITS`.

        At the rim of a patch, the near kernel with `wide_cutoff` may be at most 10^-rim_digits.
        """
        if digits < _MANY_DIGITS:
            return self
        square = np.log(RIM_KERNEL) + np.log(10) * rim_digits
        return replace(self, wide_cutoff=min(self.cutoff, float(np.sqrt(square))))

    @property
    def least_angular_count(self) -> int:
        """Number of angles that resolve the near kernel on a circular patch."""
        return 4 * int(np.ceil(16.8 * self.cutoff / 4))

    @property
    def bent_radius_in_nodes(self) -> float:
        """Least distance of a patch's rim from its target, in node spacings, on bent surfaces.

        Rims are closer to their targets on bent surfaces than on tangent planes. At the distance
        `radius_in_nodes` the near kernel is `RIM_KERNEL` exp(-T^2). The near kernel at the closest
        rims may be larger than this, but at most a third of the error that may come from other
        sheets. For gradients, the result is `radius_in_nodes`.
        """
        enough = (self.reach + np.log(3 * RIM_KERNEL)) / self.cutoff**2
        return self.radius_in_nodes * float(np.sqrt(min(enough, 1.0)))

    def radial_count(self, sheets: Sheets, semi_axes: np.ndarray) -> np.ndarray:
        """Return the numbers of radii with which k patches resolve the near kernel and the sheets.

        The number for the near kernel alone or for the sheets alone is taken, whichever is larger.
        """
        by_sheets = self._radii_by_sheets(sheets, semi_axes)
        return np.maximum(self.least_radial_count, np.ceil(by_sheets))

    def joint_radial_count(self, sheets: Sheets, semi_axes: np.ndarray) -> int:
        """Return the number of radii with which a patch resolves near kernel and sheets together.

        If the near kernel alone and the sheets alone need about the same number of radii, their
        errors add up. A few percent more radii are then needed. `semi_axes` (2,) are the semi-axes
        of this patch.
        """
        least = float(self.least_radial_count)
        by_sheets = float(self._radii_by_sheets(sheets, semi_axes))
        return round((least**_RADII_POWER + by_sheets**_RADII_POWER) ** (1 / _RADII_POWER))

    def _radii_by_sheets(self, sheets: Sheets, semi_axes: np.ndarray) -> Any:
        # At the distance d from a sheet, nodes h apart have the error exp(-2 pi d / h). In the
        # middle of a ray, Gauss-Legendre nodes are pi/2 times as far apart as the same number of
        # equally spaced nodes. The formula below would thus have the divisor 4. Thin cross-sections
        # need more radii, and thus a smaller divisor. On the ellipse of `_RADII_POWER` (6 digits),
        # the error was 4.8 times the requested error with the divisor 2.6, and 1.1 times the
        # requested error with the divisor 2.2.
        return self.radial_reach / 2.2 * semi_axes[1] * sheets.steepest_within(semi_axes[1])

    def angular_count(self, stretch, sheets: Sheets, semi_axes: np.ndarray) -> np.ndarray:
        """Return the numbers of angles with which k patches resolve the near kernel and sheets.

        `stretch`, (k,), contains the largest axis ratio of each patch, from `grid._stretch`.
        """
        stretch = np.maximum(stretch, 1.2)
        by_shape = 2 * np.log(1 / self.angular_epsilon) / np.log((stretch + 1) / (stretch - 1))
        widest = sheets.widest_within(semi_axes[1])
        by_sheets = self.reach * semi_axes[0] / semi_axes[1] * widest
        return np.maximum(
            self.least_angular_count, 4 * np.ceil(np.maximum(by_shape, by_sheets) / 4)
        )
