"""From digits, surface and field to a Rule: host arithmetic only, well under a second.

With epsilon the error allowed to the quadrature, one digit below the error asked for at 3 digits
and two and a half from 6 on (set so that W7-X and the rotating ellipse meet their error limits):

- the cut-off T = alpha R satisfies T^2 = ln(0.02/epsilon), so that the near kernel vanishes at
  the rim;
- the trapezoidal rule on the smooth rest needs (pi/(alpha h))^2 >= T^2, that is R/h >= T^2/pi for
  every target;
- the polar rule takes 6 T radii and, on a patch whose axes stretch by kappa, so many angles that
  the trapezoidal rule on an ellipse converges: 2 ln(1/epsilon) / ln((kappa + 1)/(kappa - 1)), at
  least 16.8 T;
- the Lagrange interpolation onto polar nodes takes 2 ceil(2 T) points, one-sided near the rim,
  where the near kernel has all but vanished: one node beyond the rim is enough;
- the grid resolves the field with 2.8 nodes for each of the modes that matter, and the surface's
  normals as finely as the Lagrange interpolation needs;
- the range R of the near kernel is at most 1.4 times the distance to any other sheet (`_sheets`).

The constants were fitted on tori from circular to W7-X. Many grids satisfy them; the cheapest is
taken.
"""

import numpy as np
from jaxtyping import Float

from vcjax._checks import (
    check_concrete,
    check_grid,
    check_integer,
    check_surface,
    check_symmetry,
    check_x64,
)
from vcjax._errors import VcjaxError
from vcjax._geometry import resample
from vcjax._memory import FIELD_PARTS, GRADIENT_PARTS, warn_of_weights
from vcjax._quadrature.grid import FIELD_COSTS, GRADIENT_COSTS, Demand, cheapest
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.seams import check_field_seams
from vcjax._quadrature.sheets import check_crossings, nodes_for_sheets
from vcjax._quadrature.spectrum import amplitudes, interpolation_error, resolved_mode

_NODES_PER_MODE = 2.8
# Inner over outer radius of the torus; around a narrower hole patches would bend too much.
_NARROWEST_HOLE = 0.01
MAX_DIGITS = 13


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
    """Choose the quadrature that gives the wanted digits on a surface, for fields like B.

    Parameters
    ----------
    X : (nphi, ntheta, 3) Cartesian points of the surface, any length unit.
    B : (src_nphi, src_ntheta, 3) a typical total field; its spectrum decides how fine the grid
        must be.
    digits : wanted accuracy, error relative to max |B| about 10^-digits; 1 to 13.
    nfp : number of field periods.
    half_period : X, B and targets cover half a period of a stellarator-symmetric configuration,
        at phi = (i + 1/2) pi / (nfp nphi); otherwise a whole period, at phi = 2 pi i / (nfp nphi).
    trg_nphi, trg_ntheta : target grid, by default that of B.
    gradient : choose for `prepare_gradient`; digits then means the error relative to
        max |grad B|. The grid of B must hold its derivatives as well: a B just resolved to some
        digits has a gradient with one or two less. Rounding leaves about 10 digits.

    Returns
    -------
    Rule : hashable, for `prepare` or `prepare_gradient`.

    Raises
    ------
    VcjaxError : for input that cannot be used.
    """
    check_x64("choose")
    digits = check_integer("choose", "digits", digits, 1, MAX_DIGITS)
    nfp, half_period = check_symmetry("choose", nfp, half_period)
    points = check_surface("choose", X, nfp, half_period)
    field = check_concrete("choose", "B", B)
    if not field.any():
        raise VcjaxError(
            "choose got B that is zero everywhere; give a typical field on the surface."
        )
    check_field_seams("choose", field, nfp, half_period)
    trg_shape = (
        check_grid("choose", "trg_nphi", field.shape[1] if trg_nphi is None else trg_nphi),
        check_grid("choose", "trg_ntheta", field.shape[2] if trg_ntheta is None else trg_ntheta),
    )
    images = nfp * (2 if half_period else 1)
    samples = _facing_x(resample.surface_period(points, nfp, half_period))
    costs = GRADIENT_COSTS if gradient else FIELD_COSTS
    digits = _quadrature_digits(digits, gradient)
    demand = Demand.of(digits)
    metric = _metric(samples, nfp)
    check_crossings("choose", samples, nfp)
    need = np.maximum(
        _nodes_for_field(resample.field_period(field, nfp, half_period), digits, nfp),
        _nodes_for_surface(samples, nfp, demand),
    )
    clear = nodes_for_sheets(samples, nfp, demand.radius_in_nodes)
    plan = cheapest(demand, need, clear, metric, images, trg_shape, costs)
    rule = Rule(
        nfp=nfp,
        half_period=half_period,
        surface_shape=points.shape[1:],
        src_shape=field.shape[1:],
        trg_shape=trg_shape,
        **plan,
    )
    warn_of_weights("choose", rule, GRADIENT_PARTS if gradient else FIELD_PARTS)
    return rule


def resolves(rule: Rule, B: np.ndarray, digits: int, *, gradient: bool = False) -> bool:
    """Whether a rule, chosen for another field with the same digits, is fine enough for B.

    Parameters
    ----------
    B : (src_nphi, src_ntheta, 3) another field on the source grid of the rule.

    Raises
    ------
    VcjaxError : for a field that cannot be used.
    """
    field = check_concrete("resolves", "B", B)
    check_field_seams("resolves", field, rule.nfp, rule.half_period)
    samples = resample.field_period(field, rule.nfp, rule.half_period)
    need = _nodes_for_field(samples, _quadrature_digits(digits, gradient), rule.nfp)
    return bool(need[0] <= rule.quad_nphi and need[1] <= rule.quad_ntheta)


def _quadrature_digits(digits: int, gradient: bool) -> int:
    """The digits that the quadrature is made for.

    The kernel of a gradient is one power more singular and takes about one digit more. From 12 on
    its error is rounding, which grows as nodes get closer.
    """
    return min(digits + 1, 12) if gradient else digits


def _facing_x(samples: np.ndarray) -> np.ndarray:
    """Co-rotating points (3, n, m) turned about the z axis so that their middle lies on y = 0."""
    middle = samples.mean(axis=(1, 2))
    return resample.rotate(samples, np.full(samples.shape[1], -np.arctan2(middle[1], middle[0])))


def _nodes_for_field(samples: np.ndarray, digits: int, nfp: int) -> np.ndarray:
    """Smallest node counts (whole torus, poloidal) that resolve a field (3, n, m) of one period."""
    tolerance = 10.0**-digits * np.linalg.norm(samples, axis=0).max()
    modes = [resolved_mode(samples, axis, tolerance) for axis in (1, 2)]
    return np.maximum(_NODES_PER_MODE * np.array([modes[0] * nfp, modes[1]]), 24.0)


def _nodes_for_surface(samples: np.ndarray, nfp: int, demand: Demand) -> np.ndarray:
    """Smallest node counts (whole torus, poloidal) on which the patch interpolation is accurate.

    The normals are what it interpolates and have the most modes.
    """
    shape = 4 * samples.shape[1], 4 * samples.shape[2]
    normals = _normals(samples, nfp, shape)
    tolerance = demand.epsilon * np.linalg.norm(normals, axis=0).max()
    counts = []
    for axis, periods in ((1, nfp), (2, 1)):
        share = amplitudes(normals, axis)
        nodes = 24.0
        while interpolation_error(share, periods / nodes, demand.lagrange_count) > tolerance:
            nodes *= 1.05
        counts.append(nodes)
    return np.array(counts)


def _normals(samples: np.ndarray, nfp: int, shape: tuple[int, int]) -> np.ndarray:
    """Normals x_phi x x_theta (3, *shape), each in the frame of its own row."""
    x_phi, x_theta = _tangents(samples, nfp, shape, np.zeros(shape[0]))[1:]
    return np.cross(x_phi, x_theta, axis=0)


def _tangents(samples: np.ndarray, nfp: int, shape: tuple[int, int], turns: np.ndarray):
    """Points and tangents of one period on a grid, its rows turned by given angles."""
    angles = resample.grid_angles(shape[0], nfp, False)
    theta = 2 * np.pi * np.arange(shape[1]) / shape[1]
    return resample.tangents(
        samples,
        resample.interpolation_matrices(samples.shape[1], 0.0, 2 * np.pi / nfp, angles),
        resample.interpolation_matrices(samples.shape[2], 0.0, 2 * np.pi, theta),
        turns,
    )


def _metric(samples: np.ndarray, nfp: int) -> np.ndarray:
    """First fundamental form (E, F, G) of the surface on a sample of at most about 500 points."""
    radius = np.hypot(samples[0], samples[1])
    if samples[0].min() <= 0 or radius.min() < _NARROWEST_HOLE * radius.max():
        raise VcjaxError(
            "choose got a surface that reaches the z axis, or nearly so; give a torus around it, "
            "its first axis along the toroidal angle."
        )
    shape = min(2 * samples.shape[1], 20), min(2 * samples.shape[2], 25)
    x, x_phi, x_theta = _tangents(samples, nfp, shape, np.zeros(shape[0]))
    normals = np.cross(x_phi, x_theta, axis=0)
    if abs((x * normals).sum()) < 1e-6 * np.abs(x * normals).sum():
        raise VcjaxError(
            "choose got a surface that encloses no volume: it crosses itself or is flat. "
            "Check the order of its points along theta (second axis)."
        )
    metric = np.stack([(x_phi**2).sum(0), (x_phi * x_theta).sum(0), (x_theta**2).sum(0)]).reshape(
        3, -1
    )
    area = metric[0] * metric[2] - metric[1] ** 2
    if not (area > 1e-20 * area.max()).all() or area.max() == 0:
        raise VcjaxError(
            "choose got a degenerate surface: its tangents are parallel or vanish somewhere. "
            "Check that X turns once around in theta (second axis) and along phi (first axis)."
        )
    return metric
