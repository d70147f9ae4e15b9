"""The cheapest of the grids and patches that meet the demands of an accuracy."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from vcjax._errors import VcjaxError

_LARGEST_PATCH = 40
_MARGIN = 1
# How often a prepared surface is evaluated, in the balance of preparation against evaluation.
_EVALUATIONS = 1.5


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
    cutoff: float
    radial_count: int
    lagrange_count: int

    @classmethod
    def of(cls, digits: int) -> "Demand":
        epsilon = 10.0 ** -(digits + 1 + min(max((digits - 3) / 2, 0), 1.5))
        cutoff = float(np.sqrt(np.log(0.02 / epsilon)))
        lagrange = 2 * int(np.ceil(2 * cutoff))
        return cls(epsilon, cutoff, int(np.ceil(6 * cutoff)), lagrange)

    @property
    def radius_in_nodes(self) -> float:
        return self.cutoff**2 / np.pi

    def angular_count(self, stretch: float) -> int:
        stretch = max(stretch, 1.2)
        by_shape = 2 * np.log(1 / self.epsilon) / np.log((stretch + 1) / (stretch - 1))
        return 4 * int(np.ceil(max(16.8 * self.cutoff, by_shape) / 4))


def cheapest(demand: Demand, need, clear, metric, images: int, trg_shape, costs: Costs) -> dict:
    """Return the sizes of the cheapest rule.

    Parameters
    ----------
    need : node counts (whole torus, poloidal) that resolve field and surface.
    clear : node counts that keep the near kernel on its own sheet.
    metric : first fundamental form (E, F, G) of a sample of the surface.
    images : copies of the target grid that make a torus.
    """
    best_cost, best = np.inf, None
    least_phi = int(np.ceil(need[0] / (images * trg_shape[0])))
    least_theta = int(np.ceil(need[1] / trg_shape[1]))
    targets = trg_shape[0] * trg_shape[1]
    growth = 1.5 * np.maximum(clear / need, 1.0)
    grids = itertools.product(
        _multiples(least_theta, max(3.0, growth[1]), 10),
        _multiples(least_phi, max(8.0, growth[0]), 30),
    )
    for over_theta, over_phi in grids:
        quad = (over_phi * images * trg_shape[0], over_theta * trg_shape[1])
        far = costs.pair * quad[0] * quad[1]
        if (quad < clear).any() or _EVALUATIONS * far * targets >= best_cost:
            continue
        for patch in _fitting_patches(demand, metric, quad):
            nodes = math.prod(2 * (p + _MARGIN) + 1 for p in patch)
            fixed = _EVALUATIONS * (far + costs.node * nodes) + costs.prepared_node * nodes
            ring = demand.radial_count * (costs.interpolation * nodes + costs.polar_node)
            # The stretch takes longest to compute: only where it may matter.
            if targets * (fixed + ring * demand.angular_count(1.0)) >= best_cost:
                continue
            angular_count = demand.angular_count(_stretch(metric, quad, patch))
            cost = targets * (fixed + ring * angular_count)
            if cost < best_cost:
                best_cost = cost
                best = (quad, patch, angular_count)
    if best is None:
        raise VcjaxError(
            "choose found no quadrature for this surface: its parametrisation is too uneven or too "
            "stretched, or the surface too thin. Ask for fewer digits, or resample the surface so "
            "that its points are spread more evenly."
        )
    quad, patch, angular_count = best
    return dict(
        quad_nphi=quad[0],
        quad_ntheta=quad[1],
        patch_phi=patch[0],
        patch_theta=patch[1],
        margin=_MARGIN,
        radial_count=demand.radial_count,
        angular_count=angular_count,
        lagrange_count=demand.lagrange_count,
        cutoff=demand.cutoff,
    )


def _multiples(least: int, growth: float, count: int) -> list[int]:
    """Return integers from ``least`` up to ``growth`` times it, about evenly spaced in ratio."""
    return sorted({int(np.ceil(least * growth ** (k / count))) for k in range(count + 1)})


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
        patch = int(p), max(2, int(np.ceil(q)))
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
