"""Plan a rule: the sizes that the requested digits, the surface and the field demand.

All arithmetic is done on the host and takes much less than a second.

The near part of the kernel is cut off at a rate alpha (`vcjax._kernels.near`). Let R be the radius
of a patch, h the spacing of the quadrature nodes, and epsilon the error that the quadrature may
have. For up to 3 requested digits, epsilon is a tenth of the requested error. For each further
digit, the ratio epsilon / (requested error) is smaller by a factor of 10^(1/6). For fields off the
surface, epsilon is smaller by a factor of 10^0.3. The demands on a rule are:

- The cut-off T = alpha R satisfies T^2 = ln(0.02/epsilon), so that the near kernel is negligible at
  the rim of a patch. This T determines the sizes of patches and polar rules. If 10 or more digits
  are requested, the near kernel of targets on the surface may have a smaller T
  (`Demand.wide_cutoff`).
- The trapezoidal rule for the smooth rest of the kernel needs (pi/(alpha h))^2 >= T^2, that is,
  R/h >= T^2/pi for every target. For gradients, R/h >= (T^2 + 1.5)/pi. For fields of many digits
  on bent surfaces, a slightly smaller R is enough (`Demand.bent_radius_in_nodes`).
- The polar rule has at least 6 T and at least 1.5 T^2 radii (`Demand.radial_count`), and at least
  16.8 T angles (`Demand.angular_count`). On a patch with the axis ratio kappa, the trapezoidal rule
  along an ellipse needs 2 ln(1/epsilon) / ln((kappa + 1)/(kappa - 1)) angles to converge. For
  gradients, epsilon in this formula is 10 times smaller.
- The Lagrange interpolation to polar nodes has 2 ceil(2 T) points. For gradients it has 2 more
  points if the targets are on the surface, and 12 more points if the targets are off it. The
  interpolation is one-sided near the rim, where the near kernel is small, so that one node beyond
  the rim is usually enough.
- Along phi and theta, the grid has at least 2.8 nodes for each wavelength of the highest mode that
  must be resolved. The amplitudes of all higher modes of the field add up to at most the requested
  error (for gradients, to at most 10^-`quadrature_digits`). The grid is finer if the interpolation
  of strong modes on patches requires more nodes (`Values.nodes`).
- The polar rule also resolves the highest modes of the field (`vcjax._quadrature.waves`).
- The grid is fine enough for the Lagrange interpolation of the surface's normals.
- Grid and polar rule resolve the kernel on other sheets of the surface, at their actual distance
  (`vcjax._quadrature.sheets`).

The kernel of a gradient is more singular by one power of the distance. With the same quadrature,
the error of a gradient is proportional to max |B| / h, but digits are requested relative to
max |grad B|. Therefore a quadrature for gradients is chosen for more digits than requested. If it
is chosen for d digits, epsilon is 10^-(d + 0.8) (`Demand.of_gradient`). If B varies slowly, as a
vacuum field does, two to three more digits are needed. If B varies so fast that its grid must be
fine anyway, one more digit is enough. The grid must also be so fine that the interpolation of B on
patches gives the derivatives of B with the requested digits (`Slopes.nodes`).

The constants were fitted on surfaces from a circular torus to W7-X. Of the many grids that satisfy
the demands, the cheapest grid is chosen.

A rule for points off the surface is valid at every distance. Its grid is as fine as the surface and
the field require. Points near the surface get patches of their own, so the grid does not depend on
where the points are.
"""

from functools import partial

import numpy as np

from vcjax._checks import (
    check_concrete,
    check_grid,
    check_integer,
    check_jax,
    check_surface,
    check_symmetry,
)
from vcjax._data_checks.spectrum import field_spectrum
from vcjax._errors import VcjaxError, warn
from vcjax._geometry import resample, symmetry
from vcjax._options import weights_shortage
from vcjax._quadrature.demand import Demand
from vcjax._quadrature.grid import FIELD_COSTS, GRADIENT_COSTS, cheapest, least_spacing, semi_axes
from vcjax._quadrature.rims import Rims
from vcjax._quadrature.rule import FIELD_PARTS, GRADIENT_PARTS, Rule
from vcjax._quadrature.seams import check_field_seams
from vcjax._quadrature.sheets import check_crossings, sheets_of
from vcjax._quadrature.slopes import Slopes
from vcjax._quadrature.spectrum import (
    Values,
    nodes_for_field,
    nodes_for_surface,
    quadrature_digits,
)
from vcjax._quadrature.waves import with_enough_points, with_enough_polar_nodes

MAX_DIGITS = 13
_NARROWEST_HOLE = 0.01
"""Least ratio of inner to outer radius of a torus. Around a narrower hole, patches would bend too
much."""


def _checked(X, B, digits, nfp, half_period, trg_nphi, trg_ntheta):
    """Return the checked arguments of `choose`: points and field (3, nphi, ntheta), then the rest.

    The shape (nphi, ntheta) of the target grid takes the place of `trg_nphi` and `trg_ntheta`.
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
    return points, field, digits, nfp, half_period, trg_shape


def planned_rule(
    X, B, digits, *, nfp, half_period, trg_nphi, trg_ntheta, gradient, off_surface=False
):
    """Return a rule, one period of the surface, and the spectrum of the field.

    The surface is (3, n, m) from `symmetry.surface_period`. With `off_surface` the rule also
    resolves the kernel at points off the surface. Errors and warnings name `choose`.
    """
    points, field, digits, nfp, half_period, trg_shape = _checked(
        X, B, digits, nfp, half_period, trg_nphi, trg_ntheta
    )
    period = symmetry.surface_period(points, nfp, half_period)
    samples = _facing_x(period)
    check_crossings(samples, nfp, symmetric=half_period)
    spectrum = field_spectrum(field, nfp, half_period)
    given = spectrum, nfp, off_surface
    errors = Slopes(*given, period, half_period) if gradient else Values(*given)
    plan = _plan(digits, trg_shape, half_period, samples, errors, gradient, off_surface)
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
    rule = with_enough_points(rule, partial(errors.misses, errors.tolerance(digits)))
    tolerance, grid = 10.0**-digits * errors.scale, spectrum.values.shape[1:]
    # Off the surface, the number of radii is not increased: twice as many radii changed results by
    # less than 0.002 times the requested error, even next to coils.
    rule = with_enough_polar_nodes(rule, errors.is_larger, grid, tolerance, radii=not off_surface)
    parts = GRADIENT_PARTS if gradient else FIELD_PARTS
    if shortage := weights_shortage("choose", rule, parts):
        warn("choose", shortage.removeprefix("choose "), UserWarning, about_data=False)
    return rule, period, spectrum


def _plan(
    digits: int, trg_shape, half_period: bool, samples, errors: Values, gradient, off_surface
) -> dict:
    """Return the sizes and the cut-off of a rule, as keyword arguments of `Rule`."""
    spectrum, nfp = errors.spectrum, errors.nfp
    images = nfp * (2 if half_period else 1)
    costs = GRADIENT_COSTS if gradient else FIELD_COSTS
    if off_surface:
        # Near weights of points off the surface are computed at each evaluation.
        costs = costs._replace(evaluations=FIELD_COSTS.evaluations)
    wanted = quadrature_digits(digits, gradient)
    metric = _metric(samples, nfp)
    by_field = nodes_for_field(spectrum, wanted, nfp)
    sheets = sheets_of(samples, nfp, both_sides=off_surface, symmetric=half_period)
    rims = Rims(samples, nfp, metric, both_sides=off_surface, symmetric=half_period)

    def planned(demand: Demand) -> dict:
        by_surface = nodes_for_surface(samples, nfp, demand.epsilon, demand.lagrange_count)
        need = np.maximum(by_field, by_surface)
        return cheapest(demand, need, sheets, rims, images, trg_shape, costs)

    demand = Demand.of(wanted, off_surface=off_surface)
    if not gradient:
        by_field = errors.nodes(by_field, digits, demand.lagrange_count)
    plan = planned(demand)
    if gradient:
        spacing = least_spacing(plan, metric)
        length = spectrum.largest / errors.scale
        demand = Demand.of_gradient(digits, length, spacing, off_surface=off_surface)
        by_field = errors.nodes(by_field, digits, demand.lagrange_count)
        plan = planned(demand)
        if not off_surface:
            # Add two points to the interpolation for which the grid was chosen. Without the two
            # points, the error of the interpolation was 1.6e-7 at 7 digits on a rotating ellipse.
            plan["lagrange_count"] += 2
    if not off_surface:
        plan["cutoff"] = demand.wide_cutoff
        together = demand.joint_radial_count(sheets, semi_axes(plan))
        plan["radial_count"] = max(plan["radial_count"], together)
    return plan


def _facing_x(samples: np.ndarray) -> np.ndarray:
    """Shift and rotate co-rotating points (3, n, m) so that their mean lies on the positive x axis.

    Without the shift along z, rounding of large values of z would look like a rough surface.
    """
    middle = samples.mean(axis=(1, 2))
    samples = samples - np.array([0.0, 0.0, middle[2]])[:, None, None]
    return symmetry.rotate(samples, -np.arctan2(middle[1], middle[0]))


def _metric(samples: np.ndarray, nfp: int) -> np.ndarray:
    """Return the first fundamental form (E, F, G), (3, k), at k points of the surface, k <= 500.

    The samples (3, n, m) are from `_facing_x`. Raise an error if the surface reaches or almost
    reaches the z axis, encloses no volume, or is degenerate.
    """
    radius = np.hypot(samples[0], samples[1])
    if samples[0].min() <= 0 or radius.min() < _NARROWEST_HOLE * radius.max():
        raise VcjaxError(
            "choose got a surface that reaches the z axis, or nearly so (distances from the axis: "
            f"{radius.min():.3g} to {radius.max():.3g}); give X as points of a torus around the z "
            "axis. The first axis of the array must be the direction in which phi increases."
        )
    angles = symmetry.grid_angles(min(2 * samples.shape[1], 20), nfp, False)
    columns = min(2 * samples.shape[2], 25)
    x, x_phi, x_theta = resample.tangents_at(samples, nfp, angles, columns)
    normals = np.cross(x_phi, x_theta, axis=0)
    if abs((x * normals).sum()) < 1e-6 * np.abs(x * normals).sum():
        raise VcjaxError(
            "choose got a surface that encloses no volume: it crosses itself or is flat. "
            "Check the order of the points of X along theta (second axis)."
        )
    pairs = (x_phi, x_phi), (x_phi, x_theta), (x_theta, x_theta)
    metric = np.stack([(a * b).sum(axis=0).ravel() for a, b in pairs])
    area = metric[0] * metric[2] - metric[1] ** 2
    if not (area > 1e-20 * area.max()).all() or area.max() == 0:
        raise VcjaxError(
            "choose got a degenerate surface: its tangents are parallel or vanish somewhere. "
            "Check that X goes once around in theta (second axis) and follows phi (first axis)."
        )
    return metric
