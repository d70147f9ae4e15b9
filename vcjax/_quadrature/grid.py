"""The cheapest of the grids and patches that meet the demands of an accuracy."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from vcjax._errors import VcjaxError
from vcjax._geometry import resample
from vcjax._quadrature.sheets import Sheets, nodes_for_sheets

_LARGEST_PATCH = 40
_MARGIN = 1
# How often a prepared surface is evaluated, in the balance of preparation against evaluation.
_EVALUATIONS = 1.5
# By so many digits the error across sheets is less than the error asked for.
_REACH_DIGITS = 0.3
# A patch may bend around a fold through this angle in theta.
_BENT = 0.3
# On bent surfaces rims are closer than on their tangent planes; by so much they may be.
_BENT_RIM = 0.95
_RIM_POINTS = 12
# Points, along phi and theta, whose rims are looked at, and the least mode of the surface for that.
_RIM_SAMPLE = (10, 24)
_LEAST_MODE = 1e-3


@dataclass(frozen=True)
class Costs:
    """Nanoseconds on one core of a 2023 server CPU; only their ratios matter.

    `pair` is for one source and target, `node` for applying one patch node, the others for
    preparing: a patch node, a polar node, and interpolation between one of each.
    """

    pair: float
    node: float
    prepared_node: float
    polar_node: float
    interpolation: float


FIELD_COSTS = Costs(1.3, 20.0, 35.0, 25.0, 0.095)
GRADIENT_COSTS = Costs(2.4, 40.0, 105.0, 60.0, 0.17)


@dataclass(frozen=True)
class Demand:
    """Demands of an accuracy on every patch."""

    epsilon: float
    reach: float
    cutoff: float
    least_radial_count: int
    lagrange_count: int

    @classmethod
    def of(cls, digits: int) -> "Demand":
        epsilon = 10.0 ** -(digits + 1 + min(max((digits - 3) / 2, 0), 1.5))
        cutoff = float(np.sqrt(np.log(0.02 / epsilon)))
        lagrange = 2 * int(np.ceil(2 * cutoff))
        reach = float(np.log(10) * (digits + _REACH_DIGITS))
        return cls(epsilon, reach, cutoff, int(np.ceil(6 * cutoff)), lagrange)

    @property
    def least_angular_count(self) -> int:
        """Angles that resolve the near kernel on a patch that is a disc."""
        return 4 * int(np.ceil(16.8 * self.cutoff / 4))

    @property
    def radius_in_nodes(self) -> float:
        return self.cutoff**2 / np.pi

    def radial_count(self, sheets: Sheets, semi_axes) -> int:
        """Return the radii that resolve other sheets within a patch of these angles.

        Gauss-Legendre nodes are pi/2 times as far apart in the middle as equispaced ones.
        """
        by_sheets = self.reach / 2.6 * semi_axes[1] * sheets.steepest_within(semi_axes[1])
        return max(self.least_radial_count, int(np.ceil(by_sheets)))

    def angular_count(self, stretch: float, sheets: Sheets, semi_axes) -> int:
        """Return the angles that resolve the near kernel, and other sheets within the patch."""
        stretch = max(stretch, 1.2)
        by_shape = 2 * np.log(1 / self.epsilon) / np.log((stretch + 1) / (stretch - 1))
        widest = sheets.widest_within(semi_axes[1])
        by_sheets = self.reach * semi_axes[0] / semi_axes[1] * widest
        return max(self.least_angular_count, 4 * int(np.ceil(max(by_shape, by_sheets) / 4)))


def cheapest(
    demand: Demand, need, sheets: Sheets, rims: "Rims", images: int, trg_shape, costs: Costs
) -> dict:
    """Return the sizes of the cheapest rule.

    Parameters
    ----------
    need : node counts (whole torus, poloidal) that resolve field and surface.
    sheets : how close the surface comes to itself.
    rims : of patches of a sample of the surface.
    images : copies of the target grid that make a torus.
    """
    clear = nodes_for_sheets(sheets, demand.reach)
    least = need / (images * trg_shape[0], trg_shape[1])
    most = np.maximum((8 * need[0], 3 * need[1]), 1.5 * clear)
    # If none of these does: as close along phi as along theta, and as other sheets may need.
    square = 4 * need[1] * np.sqrt(rims.metric[0].max() / rims.metric[2].max())
    bent = demand.reach * sheets.steepest_beyond(_BENT)
    best = None
    for most_phi in (most[0], max(most[0], square, bent)):
        multiples = itertools.product(
            _multiples(int(np.ceil(least[1])), most[1] / need[1], 10),
            _multiples(int(np.ceil(least[0])), most_phi / need[0], 30),
        )
        grids = ((j * images * trg_shape[0], i * trg_shape[1]) for i, j in multiples)
        allowed = (quad for quad in grids if not (quad < clear).any())
        best = _cheapest_of(allowed, demand, sheets, rims, trg_shape[0] * trg_shape[1], costs)
        if best is not None:
            break
    else:
        raise VcjaxError(
            "choose found no quadrature for this surface: its parametrisation is too uneven or too "
            "stretched, or the surface too thin. Ask for fewer digits, or resample the surface so "
            "that its points are spread more evenly."
        )
    quad, patch, radial_count, angular_count = best
    return dict(
        quad_nphi=quad[0],
        quad_ntheta=quad[1],
        patch_phi=patch[0],
        patch_theta=patch[1],
        margin=_MARGIN,
        radial_count=radial_count,
        angular_count=angular_count,
        lagrange_count=demand.lagrange_count,
        cutoff=demand.cutoff,
    )


def _cheapest_of(grids, demand: Demand, sheets: Sheets, rims: "Rims", targets: int, costs: Costs):
    """Return the cheapest grid with its patch, radii and angles, or None."""
    best_cost, best, metric = np.inf, None, rims.metric
    least_rings = demand.least_radial_count * demand.least_angular_count
    for quad in grids:
        far = costs.pair * quad[0] * quad[1]
        least = _least_nodes(demand, metric, quad)
        prepared = costs.prepared_node + least_rings * costs.interpolation
        if (
            targets * (_EVALUATIONS * (far + costs.node * least) + prepared * least)
            + targets * least_rings * costs.polar_node
        ) >= best_cost:
            continue
        decided = None
        for patch in _fitting_patches(demand, metric, quad):
            # A wider patch costs more; it may be the first that is good enough.
            if patch[0] == decided:
                continue
            semi_axes = tuple(2 * np.pi * p / n for p, n in zip(patch, quad, strict=True))
            if quad[0] < demand.reach * sheets.steepest_beyond(semi_axes[1]):
                continue
            nodes = math.prod(2 * (p + _MARGIN) + 1 for p in patch)
            fixed = _EVALUATIONS * (far + costs.node * nodes) + costs.prepared_node * nodes
            radial_count = demand.radial_count(sheets, semi_axes)
            ring = radial_count * (costs.interpolation * nodes + costs.polar_node)
            # The stretch takes longest to compute: only where it may matter.
            angular_count = demand.angular_count(1.0, sheets, semi_axes)
            if targets * (fixed + ring * angular_count) < best_cost:
                angular_count = demand.angular_count(
                    _stretch(metric, quad, patch), sheets, semi_axes
                )
            cost = targets * (fixed + ring * angular_count)
            if cost >= best_cost:
                decided = patch[0]
            elif rims.clear(quad, semi_axes, demand.radius_in_nodes):
                best_cost, best = cost, (quad, patch, radial_count, angular_count)
                decided = patch[0]
    return best


class Rims:
    """Distances from points of a surface to the rims of their patches.

    Off the surface they count from every point above and below. With A the square of the distance
    from the foot and s the height of the rim over the tangent plane, a point at the height d is
    R^2 = A - 2 d s + d^2 away, and R^4 / (R^2 - d^2) is what matters there (`_kernels.rays`): it is
    least at d = s/2, about A - s^2 / 2.

    Attributes
    ----------
    metric : (3, n) first fundamental form (E, F, G) of a sample of the surface.
    """

    def __init__(self, samples: np.ndarray, nfp: int, metric: np.ndarray, *, both_sides: bool):
        self.metric = metric
        n, m = samples.shape[1:]
        spectrum = np.fft.fft2(samples, axes=(1, 2), norm="forward")
        phi_modes, theta_modes = nfp * np.fft.fftfreq(n, 1 / n), np.fft.fftfreq(m, 1 / m)
        kept = [np.abs(spectrum).max(axis=(0, axis)) for axis in (2, 1)]
        rows, columns = (share > _LEAST_MODE * share.max() for share in kept)
        self._modes = phi_modes[rows], theta_modes[columns]
        self._spectrum = spectrum[:, rows][:, :, columns]
        angles = resample.grid_angles(min(2 * n, _RIM_SAMPLE[0]), nfp, False)
        theta = resample.equispaced(0.0, 2 * np.pi / _RIM_SAMPLE[1], _RIM_SAMPLE[1])
        places = zip((angles, theta), self._modes, strict=True)
        self._waves = [np.exp(1j * np.outer(place, modes)) for place, modes in places]
        self._x = self._moved(np.zeros((1, 2)))
        _, x_phi, x_theta = resample.tangents_at(samples, nfp, angles, _RIM_SAMPLE[1])
        normal = np.cross(x_phi, x_theta, axis=0)
        self._half_normal = np.sqrt(0.5) * both_sides * normal / np.linalg.norm(normal, axis=0)
        self._hardest = slice(0, 1)

    def clear(self, quad, semi_axes, radius_in_nodes: float) -> bool:
        """Return whether all rims are a radius away, in nodes there."""
        angle = 2 * np.pi * np.arange(_RIM_POINTS) / _RIM_POINTS
        rim = np.stack([semi_axes[0] * np.cos(angle), semi_axes[1] * np.sin(angle)], axis=1)
        beside = 2 * np.pi / np.array(quad) * np.concatenate([np.eye(2), -np.eye(2)])
        moves = np.concatenate([rim, beside])
        # Most rims that are too close are so where the last one was.
        for rows in (self._hardest, slice(None)):
            to = self._moved(moves, rows) - self._x[:, :, rows]
            square = (to**2).sum(axis=1) - (to * self._half_normal[:, rows]).sum(axis=1) ** 2
            least = (_BENT_RIM * radius_in_nodes) ** 2 * square[_RIM_POINTS:].max(axis=0)
            share = (square[:_RIM_POINTS].min(axis=0) / least).min(axis=1)
            if share.min() < 1:
                if len(share) > 1:
                    self._hardest = slice(int(share.argmin()), int(share.argmin()) + 1)
                return False
        return True

    def _moved(self, by: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """Return rows of the sample (k, 3, row, column) moved by k pairs of angles (phi, theta)."""
        phases = (np.exp(1j * np.outer(by[:, axis], self._modes[axis])) for axis in (0, 1))
        waves = self._waves[0][rows], self._waves[1]
        left, right = (wave * phase[:, None] for wave, phase in zip(waves, phases, strict=True))
        x, y, z = np.moveaxis(
            (left[:, None] @ self._spectrum @ right.swapaxes(1, 2)[:, None]).real, 1, 0
        )
        # Co-rotating components, seen from where they were.
        cosine, sine = np.cos(by[:, :1, None]), np.sin(by[:, :1, None])
        return np.stack([cosine * x - sine * y, sine * x + cosine * y, z], axis=1)


def _multiples(least: int, growth: float, count: int) -> list[int]:
    """Return integers from ``least`` up to ``growth`` times it, about evenly spaced in ratio."""
    return sorted({int(np.ceil(least * growth ** (k / count))) for k in range(count + 1)})


def _least_nodes(demand: Demand, metric, quad) -> float:
    """Return fewer nodes than any of the `_fitting_patches` has: those in its disc's area."""
    E, F, G = metric
    step = 2 * np.pi / quad[0], 2 * np.pi / quad[1]
    area = np.sqrt(E * G - F * F) * (step[0] * step[1])
    longest = np.maximum(E * step[0] ** 2, G * step[1] ** 2)
    # An ellipse that holds the disc; on narrow tori arcs are longer than their chords.
    return float(4 * (demand.radius_in_nodes**2 * longest / area).max())


def _fitting_patches(demand: Demand, metric, quad):
    """Yield patches with an image on the surface that holds a disc of the needed radius.

    The image of the patch ellipse has semi-axes sigma_min <= sigma_max, singular values of
    M = [x_phi P_phi h_phi, x_theta P_theta h_theta]. For each P_phi the least P_theta with
    sigma_min >= r follows from M^T M - r^2 I being positive semi-definite. The ends of a patch that
    extends far around the torus or its tube are closer than its arcs are long: P h stands for the
    chord 2 sin(P h / 2).
    """
    E, F, G = metric
    step = 2 * np.pi / quad[0], 2 * np.pi / quad[1]
    square = demand.radius_in_nodes**2 * np.maximum(E * step[0] ** 2, G * step[1] ** 2)
    along = np.arange(2, _LARGEST_PATCH + 1)[:, None]
    chord = 2 * np.sin(np.minimum(along * step[0], np.pi) / 2)
    a = E * chord**2 - square
    determinant = a * G - (F * chord) ** 2
    possible = ((a > 0) & (determinant > square * a / 4)).all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        across = 2 * np.arcsin(np.sqrt(square * a / determinant) / 2) / step[1]
    for p, q in zip(along[possible, 0], across[possible].max(axis=1), strict=True):
        for wider in (0, 1):
            # Rims of a bent patch are closer than on tangent planes.
            patch = int(p), max(2, int(np.ceil(q))) + wider
            if all(2 * (n + _MARGIN) + 1 <= count for n, count in zip(patch, quad, strict=True)):
                yield patch


def _stretch(metric, quad, patch) -> float:
    """Return the largest ratio sigma_max / sigma_min of the image of a patch."""
    E, F, G = metric
    step = 2 * np.pi / quad[0], 2 * np.pi / quad[1]
    A, C = E * (patch[0] * step[0]) ** 2, G * (patch[1] * step[1]) ** 2
    D = F * patch[0] * step[0] * patch[1] * step[1]
    middle, root = 0.5 * (A + C), np.sqrt(0.25 * (A - C) ** 2 + D**2)
    return float(np.sqrt((middle + root) / np.maximum(middle - root, 1e-300)).max())
