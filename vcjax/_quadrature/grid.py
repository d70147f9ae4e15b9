"""Search for the cheapest grid and patch with which a quadrature has the requested accuracy."""

from typing import NamedTuple

import numpy as np

from vcjax._errors import VcjaxError
from vcjax._quadrature.demand import Demand
from vcjax._quadrature.rims import Rims
from vcjax._quadrature.sheets import Sheets, nodes_for_sheets

_LARGEST_PATCH = 40
_MARGIN = 1
# Rims of patches are closer to their targets on a bent surface than on tangent planes. Each patch
# is therefore also tried with its semi-axis along theta multiplied by these factors. The first
# factor adds one node.
_WIDER = (1.0001, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0)
# Patches that cost more than the least cost times this factor are tried only if no cheaper patch
# fits.
_DEARER = 2.0
# Semi-axis of a patch along theta (an angle). `cheapest` assumes this value to find how many nodes
# along phi other sheets require.
_BENT = 0.3


class Costs(NamedTuple):
    """Costs of the steps of a quadrature in nanoseconds, on one core of a 2023 server CPU.

    Only the ratios of these costs matter. `cheapest` minimises the cost of one preparation plus the
    cost of `evaluations` evaluations.
    """

    pair: float  # far sum, for each pair of source and target
    node: float  # near sum, for each node of a patch
    prepared_node: float  # preparation, for each node of a patch
    polar_node: float  # preparation, for each polar node of a patch
    interpolation: float  # preparation, for each pair of a patch node and a polar node
    evaluations: float


FIELD_COSTS = Costs(1.3, 20.0, 35.0, 25.0, 0.095, evaluations=1.5)
GRADIENT_COSTS = Costs(2.4, 40.0, 105.0, 60.0, 0.17, evaluations=3.0)


def cheapest(
    demand: Demand, need, sheets: Sheets, rims: Rims, images: int, trg_shape, costs: Costs
) -> dict:
    """Return the sizes of the cheapest rule, as keyword arguments of `Rule`.

    `need` are the two numbers of nodes, along phi (whole torus) and theta, that resolve field and
    surface. A torus contains `images` copies of the target grid. Raise an error if no grid fits, or
    if sheets of the surface are too close to each other.
    """
    clear = nodes_for_sheets(sheets, demand.reach)
    unit = images * trg_shape[0], trg_shape[1]
    most = np.maximum((8 * need[0], 3 * need[1]), 1.5 * clear)
    # If no grid up to `most` fits, grids with more nodes along phi are tried. These nodes may be as
    # close together as nodes along theta, or as close together as other sheets require.
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
            return best | dict(
                margin=_MARGIN, lagrange_count=demand.lagrange_count, cutoff=demand.cutoff
            )
    if trg_shape != (1, 1):
        # Raise the error below if the surface has no quadrature, whatever the targets are.
        cheapest(demand, need, sheets, rims, images, (1, 1), costs)
        raise VcjaxError(
            f"choose found no quadrature for {trg_shape[0]} x {trg_shape[1]} targets: all targets "
            f"must be among the nodes, and with at least {unit[0]} nodes around the torus, nodes "
            "are in some places much closer together along phi than along theta. Give fewer rows "
            "of targets (trg_nphi) or more columns (trg_ntheta)."
        )
    raise VcjaxError(
        f"choose found no quadrature of up to about {most_phi:.0f} x {most_theta:.0f} nodes for "
        "this surface: its parametrisation is too uneven or too stretched, or the surface is too "
        "thin. Ask for fewer digits, or resample the surface so that its points are spread more "
        "evenly."
    )


def least_spacing(plan: dict, metric: np.ndarray) -> float:
    """Return the minimum spacing of a grid's nodes, taken over n points of a surface.

    At each point the spacing is the distance between neighbouring nodes along phi or along theta,
    whichever is larger. The plan is from `cheapest`. The metric, (3, n), is the first fundamental
    form (E, F, G) at the points.
    """
    steps = 2 * np.pi / plan["quad_nphi"], 2 * np.pi / plan["quad_ntheta"]
    phi, theta = (np.sqrt(v) * step for v, step in zip(metric[[0, 2]], steps, strict=True))
    return float(np.maximum(phi, theta).min())


def semi_axes(plan: dict) -> np.ndarray:
    """Return the semi-axes of the patches from `cheapest` as angles in phi and theta, (2,)."""
    patch = np.array([plan["patch_phi"], plan["patch_theta"]])
    return 2 * np.pi * patch / np.array([plan["quad_nphi"], plan["quad_ntheta"]])


def _cheapest_of(
    grids: np.ndarray, demand: Demand, sheets: Sheets, rims: Rims, targets: int, costs: Costs
) -> dict | None:
    """Return the sizes of the cheapest quadrature on any of k grids, or None if no grid fits.

    The results are keyword arguments of `Rule`: the sizes of grid, patch and polar rule. `grids`
    (2, k) are the numbers of nodes along phi (whole torus) and theta.
    """
    metric = _deciding(rims.metric)
    narrow = _fitting_patches(demand, metric, grids)

    def sizes_and_costs(quad, patch, angular_count):
        semi_axes = 2 * np.pi * patch / quad
        radial_count = demand.radial_count(sheets, semi_axes)
        nodes = (2 * (patch + _MARGIN) + 1).prod(axis=0)
        far = costs.pair * quad[0] * quad[1]
        fixed = costs.evaluations * (far + costs.node * nodes) + costs.prepared_node * nodes
        ring = radial_count * (costs.interpolation * nodes + costs.polar_node)
        sizes = *quad, *patch, radial_count, angular_count
        return sizes, targets * (fixed + ring * angular_count)

    # A wider patch costs more, so `least` bounds the costs of all wider patches from below. Most
    # narrow patches cost so much that they need not be widened.
    _, least = sizes_and_costs(*narrow, demand.least_angular_count)
    most = _DEARER * least.min(initial=np.inf)
    for low, high in ((0.0, most), (most, np.inf)):
        quad, patch = _widened(*(values[:, least <= high] for values in narrow))
        semi_axes = 2 * np.pi * patch / quad
        enough = quad[0] >= demand.reach * sheets.steepest_beyond(semi_axes[1])
        quad, patch, semi_axes = (values[:, enough] for values in (quad, patch, semi_axes))
        angular_count = demand.angular_count(_stretch(metric, quad, patch), sheets, semi_axes)
        sizes, cost = sizes_and_costs(quad, patch, angular_count)
        order = np.argsort(cost, kind="stable")
        order = order[(low < cost[order]) & (cost[order] <= high)]
        sizes_in_order = quad[:, order], semi_axes[:, order]
        first = rims.first_clear(*sizes_in_order, demand.bent_radius_in_nodes, demand.bending)
        if first is not None:
            names = "quad_nphi quad_ntheta patch_phi patch_theta radial_count angular_count"
            at = order[first]
            return {name: int(v[at]) for name, v in zip(names.split(), sizes, strict=True)}
    return None


def _multiples(unit: int, least: float, most: float, count: int) -> np.ndarray:
    """Return at most count + 1 multiples of `unit`, with about equal ratios between neighbours.

    The first multiple is `least`, rounded up. The last multiple is the first multiple times
    `most` / `least`, rounded up; it can be above `most`.
    """
    first = int(np.ceil(least / unit))
    growth = most / least
    return unit * np.array(
        sorted({int(np.ceil(first * growth ** (k / count))) for k in range(count + 1)})
    )


def _deciding(metric: np.ndarray) -> np.ndarray:
    """Return the points of a metric (3, n) at which the demands on a patch must be tested.

    A patch that meets the demands at these points meets the demands at all points.

    The metric is the first fundamental form (E, F, G) at n points. With e = E/G and f = (F/G)^2,
    each demand of `_fitting_patches` and `_stretch` at a point has the form f <= c(e) with a
    concave function c. If the corners of the upper hull of all (e, f) meet a demand, so do all
    points below the hull.
    """
    e, f = metric[0] / metric[2], (metric[1] / metric[2]) ** 2
    hull: list[int] = []
    order = np.lexsort((-f, e))
    # A corner is at least as high as all points to its left, or as all points to its right.
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
    """Return patches that cover a disc of the required radius r on the surface.

    In a tangent plane, the patch is an ellipse with the semi-axes sigma_min <= sigma_max. They are
    the singular values of M = [x_phi P_phi h_phi, x_theta P_theta h_theta]. Here x_phi and x_theta
    are tangents, P the semi-axes of the patch in nodes, and h the angles between nodes. For each
    P_phi, the least P_theta with sigma_min >= r follows from the condition that M^T M - r^2 I is
    positive semi-definite. Because a patch may extend far around the torus, the chord
    2 sin(P h / 2) takes the place of the arc P h.

    The metric (3, n) is the first fundamental form (E, F, G) at points of the surface, and `grids`
    is (2, m), as in `_cheapest_of`. For k patches, the results are the numbers of nodes of their
    grids, and their semi-axes in nodes, (2, k) each.
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
    return grids[:, grid], np.stack([along[row], np.maximum(2, np.ceil(across)).astype(int)])


def _widened(quad: np.ndarray, patch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return patches that fit on their grids, each followed by wider patches (`_WIDER`)."""
    wide = np.ceil(patch[1][:, None] * np.array([1.0, *_WIDER])).astype(int)
    fits = 2 * (wide + _MARGIN) + 1 <= quad[1][:, None]
    fits[:, 1:] &= wide[:, 1:] > wide[:, :-1]
    fits &= (2 * (patch[0] + _MARGIN) + 1 <= quad[0])[:, None]
    row, column = fits.nonzero()
    return quad[:, row], np.stack([patch[0, row], wide[row, column]])


def _stretch(metric, quad: np.ndarray, patch: np.ndarray) -> np.ndarray:
    """Return the largest axis ratio of each patch over all points of the metric, (k,).

    At each point the axis ratio is sigma_max / sigma_min; see `_fitting_patches`.
    """
    E, F, G = metric
    u, v = (2 * np.pi / quad * patch)[..., None]
    A, C, D = E * u**2, G * v**2, F * u * v
    middle, root = 0.5 * (A + C), np.sqrt(0.25 * (A - C) ** 2 + D**2)
    return np.sqrt(((middle + root) / np.maximum(middle - root, 1e-300)).max(axis=1))
