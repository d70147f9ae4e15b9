"""Distances between sheets of a surface, and crossings.

Cross-sections at constant toroidal angle are closed curves in the half plane (R, Z), and the parts
of a torus at different angles cannot meet: the surface crosses itself if and only if one of its
cross-sections does.

Where two sheets come close without crossing, as in a thin cross-section, the near kernel of a
target on one sheet must not reach the other: the splitting of the kernel is undone on a patch
around the target only, and a patch that bends around a fold cannot be integrated on.
"""

import numpy as np

from vcjax._errors import VcjaxError
from vcjax._geometry import resample

_ROWS = 24
_LEAST_COLUMNS, _MOST_COLUMNS = 40, 120
# Points more than this angle in theta away from a point belong to another sheet.
_OWN_SHEET = 1.0
# The range of the near kernel over the distance of sheets; set so that D-shaped and elliptic
# cross-sections with an elongation of 20 keep their digits.
_CLOSEST = 1 / 0.7
_MOST_NODES = 20_000


def nodes_for_sheets(samples: np.ndarray, nfp: int, radius: float) -> np.ndarray:
    """Return the least node counts (whole torus, poloidal) that keep near kernels on their sheet.

    Distances are taken within rows of constant phi, and to the z axis.

    Parameters
    ----------
    samples : (3, n, m) co-rotating points of one period.
    radius : range of the near kernel, in nodes.
    """
    _, (x, x_phi, x_theta) = _sample(samples, nfp)
    curves = x.transpose(1, 2, 0)
    count = curves.shape[1]
    edge = np.roll(curves, -1, axis=1) - curves
    to = curves[:, :, None] - curves[:, None]
    share = np.clip((to * edge[:, None]).sum(axis=3) / (edge**2).sum(axis=2)[:, None], 0.0, 1.0)
    distance = np.linalg.norm(to - share[..., None] * edge[:, None], axis=3)
    # Steps along theta from a point to both ends of an edge, whichever way is shorter.
    ahead = (np.arange(count) - np.arange(count)[:, None]) % count
    steps = np.minimum(ahead, count - 1 - ahead)
    other_sheet = steps * (2 * np.pi / count) > _OWN_SHEET
    apart = np.where(other_sheet, distance, np.inf).min(axis=2)
    # The hole of the torus is as wide as the radius there.
    apart = _CLOSEST * np.minimum(apart, np.hypot(x[0], x[1]))
    with np.errstate(divide="ignore"):
        nodes = [
            2 * np.pi * radius * (np.linalg.norm(v, axis=0) / apart).max() for v in (x_phi, x_theta)
        ]
    if max(nodes) > _MOST_NODES:
        raise VcjaxError(
            "choose got a surface that touches itself, or nearly so: to separate its sheets takes "
            f"{max(nodes):.3g} nodes in one direction. Move them apart, or check that its points "
            "resolve its shape."
        )
    return np.array(nodes)


def _sample(samples: np.ndarray, nfp: int):
    """Return toroidal angles (rows,), and points and tangents (3, rows, columns) on a sample."""
    rows = min(2 * samples.shape[1], _ROWS)
    columns = min(max(2 * samples.shape[2], _LEAST_COLUMNS), _MOST_COLUMNS)
    angles = resample.grid_angles(rows, nfp, False)
    return angles, resample.tangents_at(samples, nfp, angles, columns)


def check_crossings(call: str, samples: np.ndarray, nfp: int) -> None:
    """Refuse a surface (3, n, m) of one period that crosses itself.

    Where the toroidal angle does not increase along phi there are no cross-sections in order, and
    nothing is checked.
    """
    angles, ((x, y, z), _, _) = _sample(samples, nfp)
    columns, period = x.shape[1], 2 * np.pi / nfp
    turned = angles[:, None] + np.arctan2(y, x)
    if np.diff(turned, axis=0, append=turned[:1] + period).min() <= 0:
        return
    lines = [
        [np.interp(angles, turned[:, j], values[:, j], period=period) for j in range(columns)]
        for values in (np.hypot(x, y), z)
    ]
    one, other = _sides(np.array(lines).transpose(2, 1, 0))
    crossing = (one * other < 0) & (one * other < 0).swapaxes(1, 2)
    if crossing.any():
        row, j, k = (int(i) for i in np.argwhere(crossing)[0])
        raise VcjaxError(
            f"{call} got a surface that crosses itself: its cross-section at the toroidal angle "
            f"{np.degrees(angles[row]):.3g} degrees, near theta = {360 * j / columns:.3g} and "
            f"{360 * k / columns:.3g} degrees. Check the order of its points along theta (second "
            "axis), and whether they resolve its shape."
        )


def _sides(curves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return twice the areas of triangles (rows, j, k) of edge j with either end of edge k."""
    stop = np.roll(curves, -1, axis=1)
    edge = (stop - curves)[:, :, None]
    ends = [end[:, None] - curves[:, :, None] for end in (curves, stop)]
    first, second = (edge[..., 0] * to[..., 1] - edge[..., 1] * to[..., 0] for to in ends)
    return first, second
