"""The cheapest of the grids and patches that meet the demands of an accuracy."""

from dataclasses import dataclass

import numpy as np

from vcjax._errors import VcjaxError
from vcjax._quadrature.rims import Rims
from vcjax._quadrature.sheets import Sheets, nodes_for_sheets

_LARGEST_PATCH = 40
_MARGIN = 1
# How often a prepared surface is evaluated, in the balance of preparation against evaluation.
_EVALUATIONS = 1.5
# By so many digits the error across sheets is less than the error asked for.
_REACH_DIGITS = 0.3
# Of a gradient: digits of the near kernel at the rim below the error asked for, and what is added
# to T^2 in the radius of patches (fitted on the shapes of studies/accuracy).
_GRADIENT_MARGIN = 0.8
_GRADIENT_EXTRA = 0.9
_GRADIENT_REACH_DIGITS = 0.6
# Beyond these the error of a gradient is rounding, which grows as nodes get closer.
_MOST_QUADRATURE_DIGITS = 13.0
# A patch may bend around a fold through this angle in theta.
_BENT = 0.3


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
    radius_in_nodes: float
    least_radial_count: int
    lagrange_count: int

    @classmethod
    def of(cls, digits: int) -> "Demand":
        """Return the demands of a field with a number of digits."""
        return cls._of(
            float(digits), 1.0 + min(max((digits - 3) / 2, 0.0), 1.5), _REACH_DIGITS, 0.0
        )

    @classmethod
    def of_gradient(cls, digits: int, length: float, spacing: float) -> "Demand":
        """Return the demands of a gradient with a number of digits, relative to max |grad B|.

        What the trapezoidal rule misses of a kernel goes up and down from node to node. Its slope
        is 2 pi / spacing times as large, whereas max |grad B| is max |B| / length: so many digits
        are lost. The larger error by far is that of the smooth rest, hence wider patches: the
        exponent T^2 grows by twice the extra.

        Parameters
        ----------
        length : max |B| over max |grad B|.
        spacing : `least_spacing` of a grid, in the unit of the length.
        """
        lost = np.log10(2 * np.pi * length / spacing)
        enough = float(min(digits + lost, _MOST_QUADRATURE_DIGITS))
        return cls._of(enough, _GRADIENT_MARGIN, _GRADIENT_REACH_DIGITS, _GRADIENT_EXTRA)

    @classmethod
    def _of(cls, digits: float, margin: float, reach_margin: float, extra: float) -> "Demand":
        epsilon = float(10.0 ** -(digits + margin))
        cutoff = float(np.sqrt(np.log(0.02 / epsilon)))
        lagrange = 2 * int(np.ceil(2 * cutoff))
        reach = float(np.log(10) * (digits + reach_margin))
        radius = (cutoff**2 + extra) / np.pi
        return cls(epsilon, reach, cutoff, radius, int(np.ceil(6 * cutoff)), lagrange)

    @property
    def least_angular_count(self) -> int:
        """Angles that resolve the near kernel on a patch that is a disc."""
        return 4 * int(np.ceil(16.8 * self.cutoff / 4))

    @property
    def bent_radius_in_nodes(self) -> float:
        """Least distance of a rim on bent surfaces, where rims are closer.

        The near kernel, 0.02 exp(-T^2) at a rim where it must be, may have a third of the error
        allowed across sheets at the closest rims; of a gradient that is no less.
        """
        enough = (self.reach + np.log(3 * 0.02)) / self.cutoff**2
        return self.radius_in_nodes * float(np.sqrt(min(enough, 1.0)))

    def radial_count(self, sheets: Sheets, semi_axes: np.ndarray) -> np.ndarray:
        """Return the radii that resolve other sheets within patches of these angles (2, k).

        Gauss-Legendre nodes are pi/2 times as far apart in the middle as equispaced ones.
        """
        by_sheets = self.reach / 2.2 * semi_axes[1] * sheets.steepest_within(semi_axes[1])
        return np.maximum(self.least_radial_count, np.ceil(by_sheets))

    def angular_count(self, stretch, sheets: Sheets, semi_axes: np.ndarray) -> np.ndarray:
        """Return the angles that resolve the near kernel, and other sheets within the patches."""
        stretch = np.maximum(stretch, 1.2)
        by_shape = 2 * np.log(1 / self.epsilon) / np.log((stretch + 1) / (stretch - 1))
        widest = sheets.widest_within(semi_axes[1])
        by_sheets = self.reach * semi_axes[0] / semi_axes[1] * widest
        return np.maximum(
            self.least_angular_count, 4 * np.ceil(np.maximum(by_shape, by_sheets) / 4)
        )


def cheapest(
    demand: Demand, need, sheets: Sheets, rims: Rims, images: int, trg_shape, costs: Costs
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
    unit = images * trg_shape[0], trg_shape[1]
    most = np.maximum((8 * need[0], 3 * need[1]), 1.5 * clear)
    # If none of these does: as close along phi as along theta, and as other sheets may need.
    square = 4 * need[1] * np.sqrt(rims.metric[0].max() / rims.metric[2].max())
    bent = demand.reach * sheets.steepest_beyond(_BENT)
    wide = np.array([max(most[0], square, bent), most[1]])
    for most_phi, most_theta in (most, wide, 2 * wide):
        quad = np.meshgrid(
            _multiples(unit[0], need[0], most_phi, 30), _multiples(unit[1], need[1], most_theta, 10)
        )
        grids = np.stack([counts.ravel() for counts in quad])
        grids = grids[:, (grids >= clear[:, None]).all(axis=0)]
        best = _cheapest_of(grids, demand, sheets, rims, trg_shape[0] * trg_shape[1], costs)
        if best is not None:
            return dict(
                **best,
                margin=_MARGIN,
                lagrange_count=demand.lagrange_count,
                cutoff=demand.cutoff,
            )
    raise VcjaxError(
        "choose found no quadrature for this surface: its parametrisation is too uneven or too "
        "stretched, or the surface too thin. Ask for fewer digits, or resample the surface so "
        "that its points are spread more evenly."
    )


def least_spacing(plan: dict, metric: np.ndarray) -> float:
    """Return the larger distance from node to node, along phi or theta, where it is least.

    Parameters
    ----------
    plan : from `cheapest`.
    metric : (3, n) first fundamental form.
    """
    steps = 2 * np.pi / plan["quad_nphi"], 2 * np.pi / plan["quad_ntheta"]
    phi, theta = (np.sqrt(v) * step for v, step in zip(metric[[0, 2]], steps, strict=True))
    return float(np.maximum(phi, theta).min())


def _cheapest_of(
    grids: np.ndarray, demand: Demand, sheets: Sheets, rims: Rims, targets: int, costs: Costs
) -> dict | None:
    """Return the sizes of the cheapest grid (2, k) with its patch, radii and angles, or None."""
    metric = _deciding(rims.metric)
    quad, patch = _fitting_patches(demand, metric, grids)
    semi_axes = 2 * np.pi * patch / quad
    enough = quad[0] >= demand.reach * sheets.steepest_beyond(semi_axes[1])
    quad, patch, semi_axes = (values[:, enough] for values in (quad, patch, semi_axes))
    radial_count = demand.radial_count(sheets, semi_axes)
    angular_count = demand.angular_count(_stretch(metric, quad, patch), sheets, semi_axes)
    nodes = (2 * (patch + _MARGIN) + 1).prod(axis=0)
    far = costs.pair * quad[0] * quad[1]
    fixed = _EVALUATIONS * (far + costs.node * nodes) + costs.prepared_node * nodes
    ring = radial_count * (costs.interpolation * nodes + costs.polar_node)
    cost = targets * (fixed + ring * angular_count)
    order = np.argsort(cost, kind="stable")
    first = rims.first_clear(quad[:, order], semi_axes[:, order], demand.bent_radius_in_nodes)
    if first is None:
        return None
    sizes = *quad, *patch, radial_count, angular_count
    names = "quad_nphi quad_ntheta patch_phi patch_theta radial_count angular_count".split()
    return {name: int(v[order[first]]) for name, v in zip(names, sizes, strict=True)}


def _multiples(unit: int, least: float, most: float, count: int) -> np.ndarray:
    """Return multiples of ``unit`` from ``least`` to ``most``, about evenly spaced in ratio."""
    first = int(np.ceil(least / unit))
    growth = most / least
    return unit * np.array(
        sorted({int(np.ceil(first * growth ** (k / count))) for k in range(count + 1)})
    )


def _deciding(metric: np.ndarray) -> np.ndarray:
    """Return the points of a metric (3, n) that decide for all of them.

    With e = E/G and f = (F/G)^2, everything that `_fitting_patches` and `_stretch` demand of a
    point reads f <= c(e) with a concave function c. Points below the upper hull of all (e, f)
    fulfil it with those on its corners.
    """
    e, f = metric[0] / metric[2], (metric[1] / metric[2]) ** 2
    hull: list[int] = []
    order = np.lexsort((-f, e))
    # Corners are higher than all points on one side of them.
    from_left, from_right = (np.maximum.accumulate(f[side]) for side in (order, order[::-1]))
    highest = (f[order] >= from_left) | (f[order] >= from_right[::-1])
    for k in order[highest].tolist():
        while len(hull) > 1:
            i, j = hull[-2:]
            if (e[j] - e[i]) * (f[k] - f[i]) < (f[j] - f[i]) * (e[k] - e[i]):
                break
            hull.pop()
        hull.append(k)
    return metric[:, hull]


def _fitting_patches(demand: Demand, metric, grids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return patches with an image on the surface that holds a disc of the needed radius.

    The image of the patch ellipse has semi-axes sigma_min <= sigma_max, singular values of
    M = [x_phi P_phi h_phi, x_theta P_theta h_theta]. For each P_phi the least P_theta with
    sigma_min >= r follows from M^T M - r^2 I being positive semi-definite. The ends of a patch that
    extends far around the torus or its tube are closer than its arcs are long: P h stands for the
    chord 2 sin(P h / 2).

    Returns
    -------
    (2, k) each, nodes of the grid and semi-axes of the patch. To each patch there is one that is
    wider by a node, since rims of a bent patch are closer than on tangent planes.
    """
    E, F, G = metric
    step = (2 * np.pi / grids)[..., None, None]
    square = demand.radius_in_nodes**2 * np.maximum(E * step[0] ** 2, G * step[1] ** 2)
    along = np.arange(2, _LARGEST_PATCH + 1)
    chord = 2 * np.sin(np.minimum(along[:, None] * step[0], np.pi) / 2)
    a = E * chord**2 - square
    determinant = a * G - (F * chord) ** 2
    grid, row = ((a > 0) & (determinant > square * a / 4)).all(axis=2).nonzero()
    ratio = (square * a)[grid, row] / determinant[grid, row]
    across = 2 * np.arcsin(np.sqrt(ratio.max(axis=1)) / 2) / step[1, grid, 0, 0]
    narrow = np.stack([along[row], np.maximum(2, np.ceil(across)).astype(int)])
    patch = np.stack([narrow, narrow + np.array([[0], [1]])], axis=2).reshape(2, -1)
    quad = grids[:, grid.repeat(2)]
    fits = (2 * (patch + _MARGIN) + 1 <= quad).all(axis=0)
    return quad[:, fits], patch[:, fits]


def _stretch(metric, quad: np.ndarray, patch: np.ndarray) -> np.ndarray:
    """Return the largest ratio sigma_max / sigma_min of the images of patches, (k,)."""
    E, F, G = metric
    u, v = (2 * np.pi / quad * patch)[..., None]
    A, C, D = E * u**2, G * v**2, F * u * v
    middle, root = 0.5 * (A + C), np.sqrt(0.25 * (A - C) ** 2 + D**2)
    return np.sqrt(((middle + root) / np.maximum(middle - root, 1e-300)).max(axis=1))
