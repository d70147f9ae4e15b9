"""What is wrong with a field or a surface, in numbers and words.

Limits were set on the problems of `vcjax.problems` and on equilibria, from which good data stay a
factor of ten away, and on bad data, thirty kinds of them on each problem (docs/data.md).
"""

from math import ceil, log
from typing import NamedTuple

import numpy as np

from vcjax._data_checks.currents import Crossing, crossing
from vcjax._data_checks.fit import lacks_for_field, lacks_for_surface
from vcjax._data_checks.spectrum import Outlier, Spectrum
from vcjax._data_checks.surface import WatchedSurface
from vcjax._errors import ContradictionWarning, NoiseWarning, UnresolvedWarning, warn
from vcjax._quadrature.rule import Rule

_MARGIN = 3.0
"""Estimates of what a grid misses are up to 2.3 times too large."""
_LARGEST_MISSED = 0.1
_CURRENT, _FLUX = 5e-3, 1e-3
"""Limits of what crosses a surface; equilibria have 1e-4, bad data from 1e-2."""
_ALIASED = 1.5
"""Current that a field may seem to have for each unit that its grid misses."""
_DOUBT = 0.003
"""Current for each unit that the points of X miss, where B was computed on another surface."""


class Missed(NamedTuple):
    """What a grid misses along phi and theta: shares of the largest value, and the decay."""

    shares: tuple[float, float]
    decays: tuple[float, float]

    def grid(self, shape: tuple[int, int], half_period: bool, limit: float) -> tuple[int, int]:
        """Return the (nphi, ntheta) that should miss no more than the limit."""
        counts = []
        for count, share, decay, images in zip(
            shape, self.shares, self.decays, (1 + half_period, 1), strict=True
        ):
            modes = log(share / limit) / -log(decay) if share > limit else 0.0
            counts.append(count + ceil(2 * modes / images))
        return counts[0], counts[1]


def warn_of_surface(call: str, surface: WatchedSurface) -> None:
    """Warn of a wrong point of a surface."""
    _warn_of_outlier(call, "X", surface.spectrum, surface.minor_radius, surface.rule)


def warn_of_field(call: str, spectrum: Spectrum, surface: WatchedSurface) -> None:
    """Warn of a field that contradicts itself, or is not resolved, on its surface."""
    rule = surface.rule
    largest = spectrum.largest
    missed = _missed(spectrum, largest, surface)
    share = sum(missed.shares)
    crossed = crossing(spectrum.values, surface.frame)
    resolved = False
    if _warn_of_outlier(call, "B", spectrum, largest, rule):
        pass
    elif (noise := spectrum.noise() / largest) > 10.0**-rule.digits:
        _warn_of_noise(call, noise, rule)
    elif share > min(_MARGIN * 10.0**-rule.digits, _LARGEST_MISSED):
        _warn_unresolved(call, missed, rule, crossed)
    elif (lacks := lacks_for_field(rule, (spectrum.shares(1), spectrum.shares(2)), largest)) > 1:
        warn(
            call,
            f"got B with finer structure than the field that the rule was chosen for: it needs "
            f"{lacks:.2g} times as many nodes. Choose a rule for this field.",
            UnresolvedWarning,
        )
    else:
        resolved = True
    if crossed.current > _CURRENT + _ALIASED * share or crossed.flux > _FLUX + share:
        _warn_of_crossing(call, crossed)
    elif resolved and _doubtful(surface, crossed, share):
        _warn_of_points(call, crossed, surface)


def warn_of_rule(call: str, surface: WatchedSurface) -> None:
    """Warn of a rule too coarse for a surface that it was not chosen for."""
    lacks = lacks_for_surface(surface.rule, surface.samples)
    if lacks > 1:
        warn(
            call,
            "got a rule chosen for another surface: this X needs a quadrature that is "
            f"{lacks:.2g} times as fine. Choose a rule for this surface.",
            UnresolvedWarning,
        )


def _missed(spectrum: Spectrum, largest: float, surface: WatchedSurface) -> Missed:
    rule = surface.rule
    found = [spectrum.missed(axis, int(rule.gradient)) for axis in (1, 2)]
    (phi, theta), decays = zip(*found, strict=True)
    if spectrum.values.shape[1] == 1:  # nothing is known of how the field varies along phi
        phi = largest * surface.variation
    if rule.gradient:
        lengths = [float(np.sqrt((v**2).sum(axis=0).mean())) for v in surface.frame.tangents]
        phi, theta = rule.nfp * phi / lengths[0], theta / lengths[1]
        largest = max(spectrum.steepness(rule.nfp, lengths), largest / lengths[0])
    return Missed((phi / largest, theta / largest), decays)


def _doubtful(surface: WatchedSurface, crossed: Crossing, share: float) -> bool:
    """Return whether X misses more than the digits allow, and B does not fit what it gives."""
    allowed = 10.0**-surface.rule.digits
    if crossed.current <= 0.3 * max(allowed, share):
        return False
    doubt = surface.missed
    return doubt > _MARGIN * allowed and crossed.current > _DOUBT * doubt


def _warn_of_outlier(call: str, name: str, spectrum: Spectrum, scale: float, rule: Rule) -> bool:
    outlier = spectrum.outlier(2 * 10.0**-rule.digits * scale)
    if outlier is None:
        return False
    of = "max |B|" if name == "B" else "the minor radius"
    warn(
        call,
        f"got {name} with an outlier at {_index(outlier, spectrum, rule)}: it is off by about "
        f"{outlier.size / scale:.1g} of {of} from a smooth {name}, and {rule.digits} digits were "
        "asked for. Repair that point.",
        NoiseWarning,
    )
    return True


def _index(outlier: Outlier, spectrum: Spectrum, rule: Rule) -> list[int]:
    """Return the indices of the point given; the first half of two are images of the second."""
    _, rows, columns = spectrum.values.shape
    row, column = outlier.row, outlier.column
    if not rule.half_period:
        return [row, column]
    half = rows // 2
    return [row - half, column] if row >= half else [half - 1 - row, -column % columns]


def _warn_of_noise(call: str, noise: float, rule: Rule) -> None:
    warn(
        call,
        f"got B with noise of about {noise:.1g} of max |B|, and {rule.digits} digits were asked "
        "for. Compute or read B more accurately, smooth it, or ask for fewer digits.",
        NoiseWarning,
    )


def _warn_unresolved(call: str, missed: Missed, rule: Rule, crossed: Crossing) -> None:
    shape = rule.src_shape
    nphi, ntheta = missed.grid(shape, rule.half_period, 10.0**-rule.digits)
    of = "max |grad B|" if rule.gradient else "max |B|"
    doubt = (
        " If B is as smooth as that, X and B do not belong together: n . curl B is "
        f"{crossed.current:.1g} of max |B| / (minor radius)."
        if crossed.current > 0.05
        else ""
    )
    warn(
        call,
        f"got B on {shape[0]} x {shape[1]} points, which miss about {sum(missed.shares):.1g} of "
        f"{of}; {rule.digits} digits need about {nphi} x {ntheta} points. Give B on those, or ask "
        f"for fewer digits.{doubt}",
        UnresolvedWarning,
    )


def _warn_of_crossing(call: str, crossed: Crossing) -> None:
    warn(
        call,
        "got X and B that do not belong together: from derivatives of B along the surface n . curl "
        f"B is {crossed.current:.1g} of max |B| / (minor radius), and the net flux is "
        f"{crossed.flux:.1g} of that of |B|; both vanish on a surface that no current crosses. "
        "Check that B was computed at these points, the order and direction of its angles, and its "
        "components. If currents do cross the surface, ignore vcjax.ContradictionWarning.",
        ContradictionWarning,
    )


def _warn_of_points(call: str, crossed: Crossing, surface: WatchedSurface) -> None:
    nphi, ntheta = surface.X.shape[:2]
    warn(
        call,
        f"got X on {nphi} x {ntheta} points, which miss about {surface.missed:.1g} of the minor "
        f"radius, or have noise; B does not fit the smooth surface through them (n . curl B is "
        f"{crossed.current:.1g} of max |B| / (minor radius)), and {surface.rule.digits} digits "
        "were asked for. Give X on more points, or more accurately.",
        UnresolvedWarning,
    )
