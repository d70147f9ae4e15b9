"""Choose a rule from the requested digits, the surface and a typical field.

All arithmetic is done on the host and takes much less than a second.

The near part of the kernel is cut off at a rate alpha (`vcjax._kernels.near`). Let R be the radius
of a patch, h the spacing of the quadrature nodes, and epsilon the error that the quadrature may
have. For up to 3 requested digits, epsilon is a tenth of the requested error. For each further
digit, this ratio is smaller by a factor of 10^(1/6). For fields off the surface, epsilon is smaller
by a factor of 10^0.3. The demands on a rule are:

- The cut-off T = alpha R satisfies T^2 = ln(0.02/epsilon), so that the near kernel is negligible at
  the rim of a patch. This T determines the sizes of patches and polar rules. If 10 or more digits
  are requested, the near kernel of targets on the surface has a smaller T (`Demand.wide_cutoff`).
- The trapezoidal rule for the smooth rest of the kernel needs (pi/(alpha h))^2 >= T^2, that is,
  R/h >= T^2/pi for every target. For gradients, R/h >= (T^2 + 1.5)/pi. For fields of many digits
  on bent surfaces, a slightly smaller R is enough (`Demand.bent_radius_in_nodes`).
- The polar rule has at least 6 T and at least 1.5 T^2 radii, and at least 16.8 T angles. On a
  patch with the axis ratio kappa, the trapezoidal rule along an ellipse needs
  2 ln(1/epsilon) / ln((kappa + 1)/(kappa - 1)) angles to converge. For gradients, epsilon in this
  formula is 10 times smaller.
- The Lagrange interpolation to polar nodes has 2 ceil(2 T) points. Gradients have 2 more points on
  the surface, and 12 more off the surface. The interpolation is one-sided near the rim, where the
  near kernel is small, so that one node beyond the rim is enough.
- Along phi and theta, the grid has at least 2.8 nodes for each wavelength of the highest mode of
  the field that must be resolved. The amplitudes of all modes above this mode add up to less than
  the requested error. The grid is finer if the interpolation of strong modes on patches requires
  more nodes (`nodes_for_interpolation`).
- The polar rule also resolves the highest modes of the field (`vcjax._quadrature.waves`).
- The grid is fine enough for the Lagrange interpolation of the surface's normals.
- Grid and polar rule resolve the kernel on other sheets of the surface, at their actual distance
  (`vcjax._quadrature.sheets`).

The kernel of a gradient is more singular by one power of the distance. With the same quadrature,
the error of a gradient is proportional to max |B| / h, but digits are requested relative to
max |grad B|. Therefore a quadrature for gradients is chosen for more digits than requested, and
epsilon is the error of these digits divided by 10^0.8 (`Demand.of_gradient`). If B varies slowly,
as a vacuum field does, two to three more digits are needed. If B varies so fast that its grid must
be fine anyway, one more digit is enough. The grid must also be so fine that the interpolation of B
on patches gives the derivatives of B with the requested digits (`Slopes.nodes`).

The constants were fitted on surfaces from a circular torus to W7-X. Of the many grids that satisfy
the demands, the cheapest grid is chosen.

A rule for points off the surface is valid at every distance. Its grid is as fine as the surface and
the field require. Points near the surface get patches of their own, so the grid does not depend on
where the points are.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from vcjax._checks import (
    check_concrete,
    check_grid,
    check_integer,
    check_jax,
    check_surface,
    check_symmetry,
)
from vcjax._data_checks.fit import is_resolved
from vcjax._data_checks.spectrum import field_spectrum
from vcjax._data_checks.watch import check_chosen
from vcjax._errors import AccuracyWarning, UnresolvedWarning, VcjaxError, errors_named, warn
from vcjax._geometry import resample
from vcjax._options import weights_shortage
from vcjax._quadrature.demand import Demand
from vcjax._quadrature.grid import FIELD_COSTS, GRADIENT_COSTS, cheapest, least_spacing, semi_axes
from vcjax._quadrature.metric import facing_x, surface_metric
from vcjax._quadrature.polar import CORE
from vcjax._quadrature.rims import Rims
from vcjax._quadrature.rule import FIELD_PARTS, GRADIENT_PARTS, Rule
from vcjax._quadrature.seams import check_field_seams
from vcjax._quadrature.sheets import check_crossings, sheets_of
from vcjax._quadrature.slopes import Slopes
from vcjax._quadrature.spectrum import (
    allowed_missed,
    largest_wave,
    missed_along,
    nodes_for_field,
    nodes_for_interpolation,
    nodes_for_surface,
    quadrature_digits,
)
from vcjax._quadrature.waves import with_enough_angles, with_enough_points, with_enough_radii

_EXTRA_POINTS = 12
"""Points added to the Lagrange interpolation for gradients off the surface."""
MAX_DIGITS = 13
_GRADIENT_DIGITS = 10
"""Number of digits up to which rounding does not limit gradients off the surface.

See docs/accuracy.md.
"""
_LARGEST = 2**31 - 1


def choose(
    X: Float[np.ndarray, "nphi ntheta 3"],
    B: Float[np.ndarray, "src_nphi src_ntheta 3"],
    digits: int,
    *,
    nfp: int,
    half_period: bool = False,
    trg_nphi: int | None = None,
    trg_ntheta: int | None = None,
    gradient: bool = False,
) -> Rule:
    """Choose a quadrature that gives fields on a surface to the requested number of digits.

    Parameters
    ----------
    X : (nphi, ntheta, 3) Cartesian points of the surface, in any length unit.
    B : (src_nphi, src_ntheta, 3) a typical total field, in any unit. Its spectrum determines how
        fine the grid must be.
    digits : accuracy, from 1 to 13. The error relative to max |B| will be about 10^-digits.
    nfp : number of field periods.
    half_period : if True, the grids of X, B and targets cover half a period of a
        stellarator-symmetric configuration. Row i is then at phi = (i + 1/2) pi / (nfp nphi). If
        False, the grids cover a whole period, with row i at phi = 2 pi i / (nfp nphi).
    trg_nphi, trg_ntheta : numbers of points of the target grid; the default is the grid of B.
    gradient : whether the rule is for `prepare_gradient`. The error is then relative to
        max |grad B|. The grid of B must resolve the derivatives of B as well. If the grid resolves
        B to d digits only, the gradient has one or two digits fewer.

    Returns
    -------
    Rule : hashable, to be passed to `prepare` or `prepare_gradient`.

    Raises
    ------
    VcjaxError : in any of these cases

        - X or B is traced, or is not a finite float64 array on the grid described above.
        - X is not a closed torus around the z axis, or crosses itself.
        - B vanishes or has fewer than 4 poloidal points.
        - No quadrature is found for the surface.
        - An argument is out of range.
        - JAX runs in 32-bit mode.

    Warns
    -----
    ContradictionWarning, UnresolvedWarning, NoiseWarning : if X and B cannot give the requested
        digits; see ``docs/data.md``.
    UserWarning : if the near weights of all targets need more memory than the device has.
    """
    targets: dict[str, Any] = dict(trg_nphi=trg_nphi, trg_ntheta=trg_ntheta)
    rule, samples, spectrum = _rule(
        X, B, digits, nfp=nfp, half_period=half_period, **targets, gradient=gradient
    )
    check_chosen("choose", rule, X, B, samples, spectrum)
    return rule


def _rule(X, B, digits, *, nfp, half_period, trg_nphi, trg_ntheta, gradient, off_surface=False):
    """Return the rule of `choose`, one period of the surface, and the spectrum of the field.

    The surface is (3, n, m) from `resample.surface_period`. With `off_surface` the rule also
    resolves the kernel at points off the surface.
    """
    check_jax("choose")
    digits = check_integer("choose", "digits", digits, 1, MAX_DIGITS)
    nfp, half_period = check_symmetry("choose", nfp, half_period)
    points = check_surface("choose", X, nfp, half_period)
    field = check_concrete("choose", "B", B)
    if not field.any():
        raise VcjaxError(
            "choose got B that is zero everywhere; give a typical field on the surface."
        )
    if field.shape[2] < 4:
        raise VcjaxError(
            f"choose got B of shape {B.shape}; give at least 4 poloidal points, because fewer "
            "cannot show how B varies along theta."
        )
    check_field_seams("choose", field, nfp, half_period)
    trg_shape = (
        check_grid("choose", "trg_nphi", field.shape[1] if trg_nphi is None else trg_nphi),
        check_grid("choose", "trg_ntheta", field.shape[2] if trg_ntheta is None else trg_ntheta),
    )
    images = nfp * (2 if half_period else 1)
    period = resample.surface_period(points, nfp, half_period)
    samples = facing_x(period)
    costs = GRADIENT_COSTS if gradient else FIELD_COSTS
    wanted = quadrature_digits(digits, gradient)
    metric = surface_metric(samples, nfp)
    check_crossings(samples, nfp, symmetric=half_period)
    spectrum = field_spectrum(field, nfp, half_period)
    slopes = Slopes(spectrum, period, nfp, half_period)
    by_field = nodes_for_field(spectrum, wanted, nfp)
    sheets = sheets_of(samples, nfp, both_sides=off_surface, symmetric=half_period)
    rims = Rims(samples, nfp, metric, both_sides=off_surface, symmetric=half_period)

    def planned(demand: Demand) -> dict:
        by_surface = nodes_for_surface(samples, nfp, demand.epsilon, demand.lagrange_count)
        need = np.maximum(by_field, by_surface)
        return cheapest(demand, need, sheets, rims, images, trg_shape, costs)

    demand = Demand.of(wanted, off_surface=off_surface)
    if not gradient:
        count = demand.lagrange_count
        by_field = nodes_for_interpolation(spectrum, by_field, digits, nfp, count, off_surface)
    plan = planned(demand)
    if gradient:
        spacing = least_spacing(plan, metric)
        demand = Demand.of_gradient(digits, slopes.length, spacing, off_surface=off_surface)
        by_field = slopes.nodes(by_field, digits, demand.lagrange_count)
        plan = planned(demand)
        if not off_surface:
            # The grid was chosen for an interpolation with two points fewer. Without two more
            # points, the error of the interpolation was 1.6e-7 at 7 digits on a rotating ellipse.
            plan["lagrange_count"] += 2
    if not off_surface:
        plan["cutoff"] = demand.wide_cutoff
        together = demand.joint_radial_count(sheets, semi_axes(plan))
        plan["radial_count"] = max(plan["radial_count"], together)
    rule = Rule(
        nfp=nfp,
        half_period=half_period,
        surface_shape=points.shape[1:],
        src_shape=field.shape[1:],
        trg_shape=trg_shape,
        digits=digits,
        gradient=gradient,
        **plan,
    )
    grid = spectrum.values.shape[1:]
    if gradient:
        rule = with_enough_points(rule, slopes.missed_along, slopes.tolerance(digits))
        size, tolerance = slopes.size, 10.0**-digits * slopes.steepest
    else:
        allowed = allowed_missed(spectrum, digits, off_surface)
        rule = with_enough_points(rule, partial(missed_along, spectrum), allowed)
        size, tolerance = partial(largest_wave, spectrum), 10.0**-digits * spectrum.largest
    rule = with_enough_angles(rule, size, grid, tolerance)
    if not off_surface:
        # Off the surface, rules with twice as many radii changed results by less than 0.002 of the
        # requested error, next to coils too.
        rule = with_enough_radii(rule, size, grid, tolerance)
    parts = GRADIENT_PARTS if gradient else FIELD_PARTS
    if shortage := weights_shortage("choose", rule, parts):
        warn("choose", shortage.removeprefix("choose "), UserWarning, about_data=False)
    return rule, period, spectrum


def choose_off_surface(
    X: Float[np.ndarray, "nphi ntheta 3"],
    B: Float[np.ndarray, "src_nphi src_ntheta 3"],
    digits: int,
    *,
    nfp: int,
    half_period: bool = False,
    gradient: bool = False,
    max_nphi: int | None = None,
    max_ntheta: int | None = None,
) -> Rule:
    """Choose a quadrature that gives fields off a surface to the requested number of digits.

    Parameters
    ----------
    X : (nphi, ntheta, 3) Cartesian points of the surface, in any length unit.
    B : (src_nphi, src_ntheta, 3) a typical total field, in any unit. Its spectrum determines how
        fine the grid must be.
    digits : accuracy, from 1 to 13. The error relative to max |B| will be about 10^-digits.
    nfp : number of field periods.
    half_period : whether X and B cover half a period; see `choose`.
    gradient : whether the rule is for `gradient_at`; the error is then relative to max |grad B|.
    max_nphi, max_ntheta : largest numbers of quadrature nodes of the whole torus along phi and
        theta. These limits bound the time of an evaluation; the positions of the points can at
        most double this time. If the requested digits need more nodes, the rule is chosen for as
        many digits as the limits allow. Every evaluation estimates its own error.

    Returns
    -------
    Rule : hashable, to be passed to `prepare_off_surface`.

    Raises
    ------
    VcjaxError : for the reasons given for `choose`, or if `max_nphi` or `max_ntheta` is invalid or
        too small for a single digit.

    Warns
    -----
    ContradictionWarning, UnresolvedWarning, NoiseWarning : if X and B cannot give the requested
        digits; see ``docs/data.md``.
    AccuracyWarning : if more than 10 digits are requested for a gradient.
    UnresolvedWarning : if `max_nphi` or `max_ntheta` is too small for the requested digits.
    """
    call = "choose_off_surface"
    caps = [
        _LARGEST if cap is None else check_integer(call, name, cap, 1, _LARGEST)
        for name, cap in (("max_nphi", max_nphi), ("max_ntheta", max_ntheta))
    ]
    # Points may lie anywhere. The smallest grid of targets does not restrict the choice of nodes.
    options: dict[str, Any] = dict(trg_nphi=1, trg_ntheta=1, gradient=gradient, off_surface=True)

    def chosen(digits: int):
        with errors_named(call):
            return _rule(X, B, digits, nfp=nfp, half_period=half_period, **options)

    def fits(rule: Rule) -> bool:
        return rule.quad_nphi <= caps[0] and rule.quad_ntheta <= caps[1]

    rule, samples, spectrum = chosen(digits)
    if not fits(rule):
        needed = f"{digits} digits need {rule.quad_nphi} x {rule.quad_ntheta} nodes on this surface"
        got = f"got max_nphi={max_nphi}, max_ntheta={max_ntheta}, but {needed}"
        coarser = ((d, chosen(d)[0]) for d in range(digits - 1, 0, -1))
        fewer, rule = next(((d, r) for d, r in coarser if fits(r)), (0, rule))
        if not fewer:
            raise VcjaxError(
                f"{call} {got}, and even a single digit needs more nodes than these limits; raise "
                "these limits."
            )
        message = f"{got}; the rule has {fewer} digits. Raise these limits for more digits."
        warn(call, message, UnresolvedWarning, about_data=False)
    core_in_nodes = CORE * max(rule.patch_phi, rule.patch_theta)
    rule = replace(
        rule,
        # Add one radius for every two nodes from the centre to the rim of the core, because B may
        # vary from node to node.
        core_count=int(np.ceil(2.5 * rule.cutoff + 0.5 * core_in_nodes)),
        # Only a part of each ray lies outside the core.
        radial_count=int(np.ceil((1 - CORE) * rule.radial_count)),
    )
    if gradient and digits > _GRADIENT_DIGITS:
        warn(
            call,
            f"got digits={digits} for a gradient, but rounding limits gradients off the surface "
            f"to about {_GRADIENT_DIGITS} digits. The attribute `error` of a result shows how many "
            "digits the gradient has.",
            AccuracyWarning,
            about_data=False,
        )
    rule = _finer_interpolation(rule) if gradient else rule
    check_chosen(call, rule, X, B, samples, spectrum)
    return rule


def _finer_interpolation(rule: Rule) -> Rule:
    """Return the rule with more Lagrange points, for gradients off the surface.

    Next to the surface, a gradient contains the slopes of interpolation errors.
    """
    count = rule.lagrange_count + _EXTRA_POINTS
    patch, quad = (rule.patch_phi, rule.patch_theta), (rule.quad_nphi, rule.quad_ntheta)
    room = min((n - 1) // 2 - p for n, p in zip(quad, patch, strict=True))
    margin = min(max(count // 2 - min(patch), rule.margin), room)
    return replace(rule, lagrange_count=count, margin=margin)


def resolves(rule: Rule, X: np.ndarray, B: np.ndarray, digits: int) -> bool:
    """Return whether the grid of a rule resolves B, or its gradient, to the given digits.

    Parameters
    ----------
    rule : rule that was chosen for another field and the same digits.
    X : (nphi, ntheta, 3) points of the surface that the rule was chosen for.
    B : (src_nphi, src_ntheta, 3) finite float64 field on the source grid of the rule.
    digits : accuracy, as for `choose`; accuracy of the gradient if the rule is for gradients.

    Raises
    ------
    VcjaxError : if B does not have the symmetry of its grid.
    """
    field = B.transpose(2, 0, 1)
    check_field_seams("resolves", field, rule.nfp, rule.half_period)
    spectrum = field_spectrum(field, rule.nfp, rule.half_period)
    samples = None
    if rule.gradient:
        samples = resample.surface_period(X.transpose(2, 0, 1), rule.nfp, rule.half_period)
    return is_resolved(rule, spectrum, digits, samples)
