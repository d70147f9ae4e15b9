"""Warn about a field, a surface or a rule that cannot give the requested digits.

The limits (docs/data.md) were set with the problems of `vcjax.problems`, with equilibria, and with
thirty kinds of bad data for each problem. The current and the flux of good data are at least ten
times smaller than their limits.
"""

from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, log

import numpy as np

from vcjax._annotations import Float
from vcjax._data_checks.currents import Crossing, Tangents, crossing, tangents_at_field
from vcjax._data_checks.fit import is_resolved, lacks_for_surface, missed_by_rule
from vcjax._data_checks.spectrum import Spectrum, field_spectrum
from vcjax._errors import ContradictionWarning, NoiseWarning, UnresolvedWarning, errors_named, warn
from vcjax._geometry import symmetry
from vcjax._quadrature.rule import Rule

_MARGIN = 3.0
"""A field is unresolved if the share that its grid misses is above `_MARGIN` times 10^-digits. The
estimates of this share, from `_missed`, are up to 2.3 times too large."""
_LARGEST_MISSED = 0.1
"""Largest share of a field that its grid may miss, for any number of requested digits."""
_CURRENT, _FLUX = 5e-3, 1e-3
"""Limits of the current and the flux in a `Crossing`. The current is 1e-4 for equilibria, and 1e-2
or more for bad data."""
_ALIASED = 1.5
"""The part of a field that its grid misses can look like a current through the surface. This
current is up to `_ALIASED` times as large as the missed part."""
_DOUBT = 0.003
"""B does not fit the surface through X if the current through the surface is above `_DOUBT` times
`WatchedSurface.missed`."""


@dataclass(eq=False)
class WatchedSurface:
    """A stored surface, used to check the fields that are given to casings of this surface.

    The keys of `checked` are the hashes of checked fields, the oldest first. `check_evaluated`
    limits their number.
    """

    rule: Rule
    X: Float[np.ndarray, "nphi ntheta 3"]
    checked: dict[int, None] = field(default_factory=dict)

    @cached_property
    def samples(self) -> Float[np.ndarray, "3 a b"]:
        """Return one period of the surface, from `symmetry.surface_period`."""
        points = np.moveaxis(self.X, -1, 0)
        return symmetry.surface_period(points, self.rule.nfp, self.rule.half_period)

    @cached_property
    def tangents(self) -> Tangents:
        """Return the tangents of the surface at the points of one period of the source grid."""
        rule = self.rule
        return tangents_at_field(self.samples, rule.nfp, rule.half_period, rule.src_shape)

    @cached_property
    def spectrum(self) -> Spectrum:
        """Return the spectrum of one period of the points X, in components that rotate with phi."""
        points, rule = np.moveaxis(self.X, -1, 0), self.rule
        return field_spectrum(points, rule.nfp, rule.half_period, symmetry.POSITION_PARITY)

    @cached_property
    def minor_radius(self) -> float:
        """Return the root mean square distance of points from the centre of their cross-section."""
        across = self.samples - self.samples.mean(axis=2, keepdims=True)
        return float(np.sqrt((across**2).sum(axis=0).mean()))

    @cached_property
    def missed(self) -> float:
        """Return the estimated error of interpolation between the points X, in minor radii."""
        return sum(self.spectrum.missed(axis)[0] for axis in (1, 2)) / self.minor_radius

    @cached_property
    def variation(self) -> float:
        """Return the largest variation of the samples along phi, in minor radii.

        For each component and theta, the variation is the maximum along phi minus the minimum.
        """
        return float(np.ptp(self.samples, axis=1).max()) / self.minor_radius


def warn_of_field(call: str, spectrum: Spectrum, surface: WatchedSurface, *, reused: bool) -> None:
    """Warn if a field is not resolved, has errors, or does not belong to its surface.

    If `reused`, the rule may have been chosen for another field, and is checked as well.
    """
    rule = surface.rule
    largest = spectrum.largest
    shares, decays = _missed(spectrum, largest, surface)
    share = sum(shares)
    crossed = crossing(spectrum.values, surface.tangents, rule.nfp, rule.half_period)
    resolved = False
    if warn_of_outlier(call, "B", spectrum, largest, rule):
        pass
    elif (noise := spectrum.noise() / largest) > 10.0**-rule.digits:
        warn(
            call,
            f"got B with noise of about {noise:.1g} of max |B|, but {rule.digits} digits were "
            "asked for. Give more accurate values of B, smooth them, or ask for fewer digits.",
            NoiseWarning,
        )
    elif share > min(_MARGIN * 10.0**-rule.digits, _LARGEST_MISSED):
        _warn_unresolved(call, shares, decays, rule, crossed)
    elif reused and _warned_of_coarse_rule(call, spectrum, surface):
        pass
    else:
        resolved = True
    if crossed.current > _CURRENT + _ALIASED * share or crossed.flux > _FLUX + share:
        warn(
            call,
            f"got X and B that do not belong together: n . curl B is {crossed.current:.1g} of "
            f"max |B| / (minor radius), and the net flux of B is {crossed.flux:.1g} of the "
            "integral of |B|. Both vanish on a surface that no current crosses. Check that B was "
            "computed at points of this surface. Check that the angles of X and B have the same "
            "order and direction, and that the components of B are x, y, z. If currents do cross "
            "the surface, ignore vcjax.ContradictionWarning.",
            ContradictionWarning,
        )
    elif resolved and _doubtful(surface, crossed, share):
        nphi, ntheta = surface.X.shape[:2]
        warn(
            call,
            f"got X on {nphi} x {ntheta} points, which are too few or too inaccurate for "
            f"{rule.digits} digits. Noise in X, or details of the surface between the points, "
            f"amount to about {surface.missed:.1g} of the minor radius. B does not fit the smooth "
            f"surface through these points: n . curl B is {crossed.current:.1g} of max |B| / "
            "(minor radius). Give X on more points, or more accurately.",
            UnresolvedWarning,
        )


def warn_of_rule(call: str, surface: WatchedSurface) -> None:
    """Warn if a rule that was chosen for another surface is too coarse for this surface."""
    with errors_named(call):
        lacks = lacks_for_surface(surface.rule, surface.samples)
    if lacks > 1:
        warn(
            call,
            f"got a rule chosen for another surface: this X needs a quadrature {lacks:.2g} times "
            "as fine as the quadrature of the rule. Choose a rule for this surface.",
            UnresolvedWarning,
        )


def _missed(spectrum: Spectrum, largest: float, surface: WatchedSurface) -> tuple[tuple, tuple]:
    """Return the shares of a field that its grid misses along phi and theta, and the decays.

    The shares are relative to the largest value of the field, or of its gradient if the rule is for
    gradients. The decays are ratios of the amplitudes of successive modes.
    """
    rule = surface.rule
    found = [spectrum.missed(axis, int(rule.gradient)) for axis in (1, 2)]
    (phi, theta), decays = zip(*found, strict=True)
    if spectrum.values.shape[1] == 1:  # one row does not show how the field varies along phi
        phi = largest * surface.variation
    if rule.gradient:
        lengths = [float(np.sqrt((v**2).sum(axis=0).mean())) for v in surface.tangents]
        phi, theta = rule.nfp * phi / lengths[0], theta / lengths[1]
        largest = max(spectrum.steepness(rule.nfp, lengths), largest / lengths[0])
    return (phi / largest, theta / largest), decays


def _finer_grid(rule: Rule, shares, decays) -> tuple[int, int]:
    """Return (nphi, ntheta) of a grid that should miss at most 10^-rule.digits on each axis."""
    limit, images = 10.0**-rule.digits, (1 + rule.half_period, 1)
    counts = []
    for count, share, decay, copies in zip(rule.src_shape, shares, decays, images, strict=True):
        modes = log(share / limit) / -log(decay) if share > limit else 0.0
        counts.append(count + ceil(2 * modes / copies))
    return counts[0], counts[1]


def _doubtful(surface: WatchedSurface, crossed: Crossing, share: float) -> bool:
    """Return whether X is too coarse for the rule's digits, and B does not fit the surface."""
    allowed = 10.0**-surface.rule.digits
    if crossed.current <= 0.3 * max(allowed, share):
        return False
    doubt = surface.missed
    return doubt > _MARGIN * allowed and crossed.current > _DOUBT * doubt


def warn_of_outlier(call: str, name: str, spectrum: Spectrum, scale: float, rule: Rule) -> bool:
    """Warn of an outlier in X or B, and return whether there is an outlier.

    `scale` is the minor radius for X, and max |B| for B.
    """
    outlier = spectrum.outlier(2 * 10.0**-rule.digits * scale)
    if outlier is None:
        return False
    row, column, distance = outlier
    of = "max |B|" if name == "B" else "the minor radius"
    warn(
        call,
        f"got {name} with an outlier at {_index(row, column, spectrum, rule)}: it differs from a "
        f"smooth {name} by about {distance / scale:.1g} of {of}, but {rule.digits} digits were "
        "asked for. Repair that point.",
        NoiseWarning,
    )
    return True


def _index(row: int, column: int, spectrum: Spectrum, rule: Rule) -> list[int]:
    """Convert indices of a spectrum's values to indices of the array that the user gave.

    For a half period, the first half of the spectrum's rows are mirror images of the second half.
    """
    _, rows, columns = spectrum.values.shape
    if not rule.half_period:
        return [row, column]
    half = rows // 2
    return [row - half, column] if row >= half else [half - 1 - row, -column % columns]


def _warned_of_coarse_rule(call: str, spectrum: Spectrum, surface: WatchedSurface) -> bool:
    """Warn if a rule is too coarse for a field, and return whether it is too coarse.

    A rule that `choose` would accept for this field does not count as too coarse, because a new
    rule would not be better.
    """
    rule, samples = surface.rule, surface.samples
    missed = missed_by_rule(rule, spectrum, samples)
    if missed <= min(_MARGIN * 10.0**-rule.digits, _LARGEST_MISSED):
        return False
    if is_resolved(rule, spectrum, rule.digits, samples if rule.gradient else None):
        return False
    of = "max |grad B|" if rule.gradient else "max |B|"
    warn(
        call,
        "got B with finer structure than the field that the rule was chosen for. With this rule, "
        f"the error is about {missed:.1g} of {of}, but {rule.digits} digits were asked for. Choose "
        "a rule for this B.",
        UnresolvedWarning,
    )
    return True


def _warn_unresolved(call: str, shares, decays, rule: Rule, crossed: Crossing) -> None:
    shape, (nphi, ntheta) = rule.src_shape, _finer_grid(rule, shares, decays)
    of = "max |grad B|" if rule.gradient else "max |B|"
    doubt = (
        " If these points do resolve B, then X and B do not belong together: n . curl B is "
        f"{crossed.current:.1g} of max |B| / (minor radius)."
        if crossed.current > 0.05
        else ""
    )
    warn(
        call,
        f"got B on {shape[0]} x {shape[1]} points, which miss about {sum(shares):.1g} of "
        f"{of}; {rule.digits} digits need about {nphi} x {ntheta} points. Give B on a grid of that "
        f"size, or ask for fewer digits.{doubt}",
        UnresolvedWarning,
    )
