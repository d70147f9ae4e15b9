"""Compute the properties of a surface that the checks of fields need; compute each only once."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from vcjax._annotations import Float
from vcjax._data_checks.currents import Tangents, tangents_at_field
from vcjax._data_checks.spectrum import Spectrum
from vcjax._geometry import symmetry
from vcjax._quadrature.rule import Rule


@dataclass(eq=False)
class WatchedSurface:
    """A stored surface, used to check the fields that are evaluated with its casings.

    The keys of `checked` are the hashes of the fields that were checked, in order.
    """

    rule: Rule
    X: Float[np.ndarray, "nphi ntheta 3"]
    checked: dict[int, None] = field(default_factory=dict)

    @cached_property
    def samples(self) -> Float[np.ndarray, "3 a b"]:
        """One period of the surface, from `symmetry.surface_period`."""
        points = np.moveaxis(self.X, -1, 0)
        return symmetry.surface_period(points, self.rule.nfp, self.rule.half_period)

    @cached_property
    def tangents(self) -> Tangents:
        """The tangents of the surface at the points of the source grid."""
        rule = self.rule
        return tangents_at_field(self.samples, rule.nfp, rule.half_period, rule.src_shape)

    @cached_property
    def spectrum(self) -> Spectrum:
        """The spectrum of one period of the points X, in components that rotate with phi."""
        points, rule = np.moveaxis(self.X, -1, 0), self.rule
        period = symmetry.field_period(
            points, rule.nfp, rule.half_period, parity=symmetry.POSITION_PARITY
        )
        return Spectrum(period, 2 if rule.half_period else 1)

    @cached_property
    def minor_radius(self) -> float:
        """The root mean square distance of points from the centre of their cross-section."""
        across = self.samples - self.samples.mean(axis=2, keepdims=True)
        return float(np.sqrt((across**2).sum(axis=0).mean()))

    @cached_property
    def missed(self) -> float:
        """The estimated error of interpolation between the points X, in minor radii."""
        return sum(self.spectrum.missed(axis)[0] for axis in (1, 2)) / self.minor_radius

    @cached_property
    def variation(self) -> float:
        """The largest variation of the cross-section along phi, relative to the minor radius."""
        return float(np.ptp(self.samples, axis=1).max()) / self.minor_radius
