"""Measure distances between the sheets of a surface, and check whether it crosses itself.

Cross-sections at constant toroidal angle are closed curves in the half plane (R, Z). Parts of a
torus at different angles cannot meet. Therefore the surface crosses itself if and only if one of
its cross-sections does.

Sheets are parts of the surface that face each other. Two sheets may come close without crossing,
for example in a thin cross-section. The quadrature for a target on one sheet must then resolve the
kernel on the other sheet. If the other sheet lies outside the patch around the target, the
trapezoidal rule must resolve the kernel. If the patch bends around the fold between the sheets, the
polar rule must resolve the kernel.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vcjax._errors import VcjaxError
from vcjax._geometry import resample, symmetry

# Samples of a period, for distances and for crossings: (largest number of rows, number of columns).
_SHEETS, _CROSSINGS = (16, 72), (24, 120)
# Two points lie on different sheets if their values of theta differ by more than this angle.
_OTHER_SHEET = 1.0
# Radii of balls with a smaller relative difference are treated as equal.
_TIE = 1e-9
# Between points that are closer in theta than this angle, the surface bends too much to be replaced
# by tangent planes.
_BENT_SHEET = 0.25
_MOST_NODES = 20_000


@dataclass(frozen=True)
class Sheets:
    """Measures of how close a surface comes to itself: n entries sorted by `separation`.

    For each sample point p, consider the smallest ball that touches the surface at p and again at a
    point q of the same cross-section. Its radius is rho. Each p has two entries, which differ only
    if the ball touches the surface at several points q. Suppose that the sheets at p and q are
    parallel. Then p is at the distance 2 rho from the sheet around q. A point off the surface, with
    p as its nearest surface point, is at least rho away from this sheet. If fields are evaluated
    only at points on the surface, 2 rho takes the place of rho below.

    Attributes
    ----------
    separation : (n,) angle in theta from p to q; infinite if the nearest other sheet is across the
        hole of the torus. In this case rho is the distance of p from the z axis.
    along_phi, along_theta : (n,) lengths of the tangents dX/dphi and dX/dtheta at p, divided by
        rho.
    nodes : (2, n) numbers of nodes along phi (whole torus) and theta for which the lines of the
        grid are 2 pi rho apart.

    A second ball may touch the surface at p and at a point near q that lies on another
    cross-section. If q is more than `_BENT_SHEET` away from p in theta and the second ball is
    smaller, the radius of the second ball takes the place of rho in `nodes`. If `separation` is
    finite, this radius also takes the place of rho in `along_phi`.
    """

    separation: np.ndarray
    along_phi: np.ndarray
    along_theta: np.ndarray
    nodes: np.ndarray

    def nodes_beyond(self, angle: float) -> np.ndarray:
        """Return the maximum of `nodes` over the points with a separation above `angle`.

        The maximum is taken along phi and along theta separately.
        """
        return self.nodes[:, self._within(angle) :].max(axis=1, initial=0.0)

    def steepest_beyond(self, angle: Any) -> Any:
        """Return the largest `along_phi` of points with a separation above `angle`."""
        largest = np.append(np.maximum.accumulate(self.along_phi[::-1])[::-1], 0.0)
        return largest[self._within(angle)]

    def steepest_within(self, angle: Any) -> Any:
        """Return the largest `along_theta` of points with a separation of at most `angle`."""
        return np.append(0.0, np.maximum.accumulate(self.along_theta))[self._within(angle)]

    def widest_within(self, angle: Any) -> Any:
        """Return the largest ``separation * along_phi`` of points separated by at most `angle`."""
        finite = np.where(np.isfinite(self.separation), self.separation, 0.0)
        largest = np.append(0.0, np.maximum.accumulate(finite * self.along_phi))
        return largest[self._within(angle)]

    def _within(self, angle: Any) -> Any:
        """Return the number of entries with a separation of at most `angle`."""
        return np.searchsorted(self.separation, angle, side="right")


def sheets_of(samples: np.ndarray, nfp: int, *, both_sides: bool, symmetric: bool) -> Sheets:
    """Measure how close a surface comes to itself, from co-rotating points (3, n, m) of one period.

    `both_sides` means that fields are evaluated at points off the surface. Without `both_sides`,
    2 rho takes the place of rho (see `Sheets`). If the surface is stellarator-symmetric
    (`symmetric`), distances are measured only on half of the period.
    """
    most, count = _SHEETS
    angles = symmetry.grid_angles(min(2 * samples.shape[1], most), nfp, False)
    rows = len(angles)
    if symmetric:
        angles = symmetry.without_images(angles)
    tangents = resample.tangents_at(samples, nfp, angles, count)
    curves, along_phi, along_theta = (v.transpose(1, 2, 0) for v in tangents)
    normal = np.cross(along_phi, along_theta)
    area = np.linalg.norm(normal, axis=2)
    normal /= area[..., None]
    square, height = _nearest_of_edges(curves, normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        radius = np.where(square > 0, square / (2 * height), np.inf)
    # Steps along theta from a point to the nearer end of an edge, in the shorter direction.
    ahead = (np.arange(count) - np.arange(count)[:, None]) % count
    steps = np.minimum(ahead, count - 1 - ahead)
    # In a symmetric cross-section, the balls of several edges have the same radius to rounding. The
    # edges with the fewest and with the most steps are used, so that rounding does not decide. If
    # all have the same number of steps, `closest` is the first edge, and `farthest` is the last.
    rho = radius.min(axis=2)
    tied = radius <= (1 + _TIE) * rho[..., None]
    closest = np.where(tied, steps, count).argmin(axis=2)
    farthest = count - 1 - np.where(tied, steps, -1)[..., ::-1].argmax(axis=2)
    touching = np.stack([closest, farthest])
    separation = steps[np.arange(count), touching] * (2 * np.pi / count)
    beside = _beside(touching, curves, normal, along_phi, along_theta, rows * nfp)
    least = np.where(separation > _BENT_SHEET, np.minimum(beside, rho), rho)
    hole = np.hypot(curves[..., 0], curves[..., 1])
    separation = np.where(hole < rho, np.inf, separation)
    factor = 1.0 if both_sides else 2.0
    rho, least = factor * np.minimum(rho, hole), factor * np.minimum(least, hole)
    lengths = [np.linalg.norm(v, axis=2) for v in (along_phi, along_theta)]
    order = np.argsort(separation, axis=None, kind="stable")
    with np.errstate(divide="ignore"):
        # Neighbouring grid lines with the angular step h are h area / length apart.
        nodes = [area / length / least for length in lengths[::-1]]
        closer = np.where(np.isfinite(separation), least, rho)
        found = separation, lengths[0] / closer, lengths[1] / rho, *nodes
    found = np.broadcast_arrays(*found)
    separation, along_phi, along_theta, *nodes = (v.ravel()[order] for v in found)
    return Sheets(separation, along_phi, along_theta, np.stack(nodes))


def _nearest_of_edges(curves: np.ndarray, normal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find, for each point p of a closed curve, the nearest point of each edge of the curve.

    Each row of `curves` (row, p, 3) is one closed curve. Edge k leads from point k to the next
    point. `normal` (row, p, 3) are unit normals of the surface. Return two arrays (row, p, edge):
    the square of the distance from p to the nearest point of the edge, and the distance of this
    nearest point from the tangent plane at p. Both results are 0 for the two edges that meet at p.
    """
    # Coordinates relative to the centre of a curve are small, and have small rounding errors.
    curves = curves - curves.mean(axis=1, keepdims=True)
    edge = np.roll(curves, -1, axis=1) - curves
    starts, edges = curves.swapaxes(1, 2), edge.swapaxes(1, 2)
    length = (edge**2).sum(axis=2)[:, None]
    # Position of the nearest point on the edge, from 0 at the start to 1 at the end.
    along = curves @ edges - (curves * edge).sum(axis=2)[:, None]
    share = np.clip(along / length, 0.0, 1.0)
    norm = (curves**2).sum(axis=2)
    square = norm[:, :, None] + norm[:, None] - 2 * (curves @ starts)
    square += share * (share * length - 2 * along)
    height = normal @ starts - (normal * curves).sum(axis=2)[..., None]
    height = np.abs(height + share * (normal @ edges))
    # Next to another sheet, rounding can make the square negative.
    square = np.maximum(square, np.finfo(float).tiny)
    own = np.arange(curves.shape[1])
    for values in (square, height):
        values[:, own, own] = values[:, own, own - 1] = 0.0
    return square, height


def _beside(touching, curves, normal, along_phi, along_theta, rows: int):
    """Return the radii of balls that touch the surface at p and at another point near q.

    The point q is on the cross-section of p. The other point is on another cross-section.

    If cross-sections rotate fast along phi, the sheet around q is closer to p than q itself. A ball
    that touches the surface at p, where the normal is n_p, also touches the tangent plane at q if
    its radius is

        rho = |n_q . (q - p)| / (1 - n_q . n_p).

    The ball touches the plane at p +- rho (n_q - n_p). This point must be at most one column of the
    sample away from q along theta, and at most one cross-section along phi.

    `touching`, (..., row, p), is the index of the edge that the ball at p touches in the
    cross-section of p. Points q up to two columns beyond the ends of this edge are tried. The
    points, unit normals and tangents are (row, p, 3). The sample has `rows` cross-sections around
    the whole torus. The results are the least radii (..., row, p), infinite if no such ball exists.
    """
    columns = curves.shape[1]
    near = (touching[..., None] + np.arange(-2, 4)) % columns
    row = np.arange(len(curves))[:, None, None]
    to = curves[row, near] - curves[:, :, None]
    normals, x_phi, x_theta = (v[row, near] for v in (normal, along_phi, along_theta))
    with np.errstate(divide="ignore", invalid="ignore"):
        facing = 1.0 - np.vecdot(normals, normal[:, :, None])
        signed = np.vecdot(normals, to) / facing
        # Vectors from q to the point where the ball touches the tangent plane at q.
        shift = signed[..., None] * (normals - normal[:, :, None]) - to
        a, b = (np.vecdot(shift, v) for v in (x_phi, x_theta))
        E, F, G = (np.vecdot(*v) for v in ((x_phi,) * 2, (x_phi, x_theta), (x_theta,) * 2))
        phi, theta = (np.abs(v) / (E * G - F * F) for v in (G * a - F * b, E * b - F * a))
        touches = (phi <= 2 * np.pi / rows) & (theta <= 2 * np.pi / columns)
    return np.where(touches, np.abs(signed), np.inf).min(axis=-1)


def nodes_for_sheets(sheets: Sheets, reach: float) -> np.ndarray:
    """Return the two numbers of nodes that resolve the kernel on sheets that face the target.

    The first is counted along phi around the whole torus, the second along theta. `reach` is the
    natural logarithm of 1 / (allowed error). If the grid lines of a sheet are h apart, the
    trapezoidal rule has the error exp(-2 pi d / h) at the distance d from the sheet. Raise an error
    if the sheets are so close that too many nodes are needed.
    """
    nodes = reach * sheets.nodes_beyond(_OTHER_SHEET)
    if nodes.max() > _MOST_NODES:
        raise VcjaxError(
            "choose got a surface that touches itself, or nearly so: resolving the gap between two "
            f"parts of the surface takes {nodes.max():.3g} nodes in one direction, but at most "
            f"{_MOST_NODES} are allowed. Move the two parts apart, or check that the points of X "
            "resolve the shape of the surface."
        )
    return nodes


def check_crossings(samples: np.ndarray, nfp: int, *, symmetric: bool) -> None:
    """Raise `VcjaxError` if one of the sampled cross-sections (`_CROSSINGS`) crosses itself.

    Nothing is checked if the toroidal angle does not increase along the first axis of the grid,
    because cross-sections are then not in order. The parameters are as in `sheets_of`.
    """
    most, columns = _CROSSINGS
    angles = symmetry.grid_angles(min(2 * samples.shape[1], most), nfp, False)
    (x, y, z), _, _ = resample.tangents_at(samples, nfp, angles, columns)
    period = 2 * np.pi / nfp
    turned = angles[:, None] + np.arctan2(y, x)
    if np.diff(turned, axis=0, append=turned[:1] + period).min() <= 0:
        return
    if symmetric:
        angles = symmetry.without_images(angles)
    r, z = _sections(turned, np.stack([np.hypot(x, y), z]), angles, period)
    others = ~_circled_once(r, z)
    r, z, angles = r[others], z[others], angles[others]
    # Twice the signed area of the triangle that edge j and point k form: (row, j, k). Edge j leads
    # from point j to the next point.
    along_r, along_z = (np.roll(v, -1, axis=1) - v for v in (r, z))
    area = along_r[:, :, None] * (z[:, None] - z[:, :, None])
    area -= along_z[:, :, None] * (r[:, None] - r[:, :, None])
    left, right = area > 0, area < 0
    apart = (left & np.roll(right, -1, axis=2)) | (right & np.roll(left, -1, axis=2))
    crossing = apart & apart.swapaxes(1, 2)
    if crossing.any():
        row, j, k = (int(i) for i in np.argwhere(crossing)[0])
        raise VcjaxError(
            "choose got a surface that crosses itself in the cross-section at the toroidal angle "
            f"{np.degrees(angles[row]):.3g} degrees, near theta = {360 * j / columns:.3g} and "
            f"{360 * k / columns:.3g} degrees. Check the order of the points of X along theta "
            "(second axis), and whether they resolve the shape of the surface."
        )


def _circled_once(r: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return whether each closed curve goes around its mean once, always in the same direction.

    Such a curve does not cross itself. `r` and `z` (row, column) are the points of the curves.
    """
    points = r + 1j * z
    points -= points.mean(axis=1, keepdims=True)
    turns = np.angle(np.roll(points, -1, axis=1) * points.conj())
    same = np.abs(np.sign(turns).sum(axis=1)) == turns.shape[1]
    return same & (np.abs(turns.sum(axis=1)) < 3 * np.pi)


def _sections(turned, values, angles, period: float) -> np.ndarray:
    """Interpolate values (2, rows, columns) linearly to cross-sections at angles (k,).

    `turned`, (rows, columns), are the toroidal angles of the values. They increase from row to row,
    by less than a period in total.
    """
    first = turned - period * np.floor(turned[:1] / period)
    known = np.concatenate([first - period, first, first[:1] + period])
    values = np.concatenate([values, values, values[:, :1]], axis=1)
    below = (known <= angles[:, None, None]).sum(axis=1) - 1
    columns = np.arange(turned.shape[1])
    start, end = known[below, columns], known[below + 1, columns]
    share = (angles[:, None] - start) / (end - start)
    return (1 - share) * values[:, below, columns] + share * values[:, below + 1, columns]
