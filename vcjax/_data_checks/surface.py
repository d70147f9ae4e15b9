"""A surface on which fields are watched: what the checks of each field need, computed once."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float

from vcjax._data_checks.currents import Frame, surface_frame
from vcjax._data_checks.spectrum import Spectrum
from vcjax._geometry import resample
from vcjax._quadrature.rule import Rule


@dataclass(eq=False)
class WatchedSurface:
    """A surface, for fields on the grid of a rule.

    Attributes
    ----------
    rule : of the casings that the fields are given to.
    X : (nphi, ntheta, 3) points.
    checked : digests of the fields that were checked, in order.
    """

    rule: Rule
    X: Float[np.ndarray, "nphi ntheta 3"]
    checked: dict[int, None] = field(default_factory=dict)

    @cached_property
    def samples(self) -> Float[np.ndarray, "3 a b"]:
        """Return one period as `resample.surface_period` does."""
        points = np.moveaxis(self.X, -1, 0)
        return resample.surface_period(points, self.rule.nfp, self.rule.half_period)

    @cached_property
    def frame(self) -> Frame:
        """Return the tangents at the points of the fields."""
        rule = self.rule
        return surface_frame(self.samples, rule.nfp, rule.half_period, rule.src_shape)

    @cached_property
    def spectrum(self) -> Spectrum:
        """Return the spectrum of one period of the points given, co-rotating components."""
        rule, points = self.rule, np.moveaxis(self.X, -1, 0)
        if rule.half_period:
            image = resample.mirror(points, resample.POSITION_PARITY)
            points = np.concatenate([image, points], axis=1)
        rows = points.shape[1]
        angles = resample.equispaced(*resample.field_angles(rows, rule.nfp, rule.half_period), rows)
        return Spectrum(resample.rotate(points, -angles), 2 if rule.half_period else 1)

    @cached_property
    def minor_radius(self) -> float:
        """Return the root of the mean square distance from the middle of a cross-section."""
        across = self.samples - self.samples.mean(axis=2, keepdims=True)
        return float(np.sqrt((across**2).sum(axis=0).mean()))

    @cached_property
    def missed(self) -> float:
        """Return what the points miss of the surface, over the minor radius."""
        return sum(self.spectrum.missed(axis)[0] for axis in (1, 2)) / self.minor_radius

    @cached_property
    def variation(self) -> float:
        """Return how much cross-sections differ along phi, over the minor radius."""
        return float(np.ptp(self.samples, axis=1).max()) / self.minor_radius
