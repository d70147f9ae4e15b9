"""Check that the data of a period continue smoothly across its seams.

Seams are where one period (or half period) meets the next, and where one turn in theta meets the
next. The curves of the grid break at a seam if a surface is open, if a point is missing or repeated
there, or if nfp is wrong. On half a period they also break if the grid is not at the angles that
`vcjax.choose` describes, or if the data are not stellarator-symmetric. The second difference of the
values is then far larger at the seam than anywhere else.
"""

import numpy as np

from vcjax._errors import VcjaxError
from vcjax._geometry import symmetry

# The first two limits are for (largest second difference at a seam) / (largest second difference
# elsewhere), of a surface and of a field. The third limit is for (largest toroidal step) / (least
# toroidal step). If data are smooth, no ratio is much above 1, except on coarse grids.
_SURFACE_LIMIT = 2.0
_FIELD_LIMIT = 4.0
_STEP_LIMIT = 1.1


def check_surface_seams(call: str, X: np.ndarray, nfp: int, half_period: bool) -> None:
    """Raise an error for points (3, nphi, ntheta) that repeat or do not close to a torus."""
    scale = np.ptp(X, axis=(1, 2)).max()
    for name, axis in (("poloidal", 2), ("toroidal", 1)):
        steps = np.linalg.norm(np.diff(X, axis=axis), axis=0).max(axis=2 - axis)
        if steps.size and steps.max() <= 1e-12 * scale:
            raise VcjaxError(
                f"{call} got a degenerate surface: all points along the {name} direction coincide. "
                "Check that X goes once around in theta (second axis) and follows phi (first axis)."
            )
        if steps.size and steps.min() <= 1e-9 * steps.max():
            raise VcjaxError(
                f"{call} got X in which all points at {name} index {int(steps.argmin()) + 1} "
                "repeat the points before them; drop the repeated points."
            )
    ends = np.linalg.norm(X[:, :, -1] - X[:, :, 0], axis=0).max()
    if ends <= 1e-6 * np.linalg.norm(np.diff(X, axis=2), axis=0).max():
        raise VcjaxError(
            f"{call} got X with a last poloidal point that repeats the first; drop this end "
            "point (numpy.linspace(..., endpoint=False))."
        )
    neighbours = _neighbours(X, symmetry.POSITION_PARITY, nfp, half_period)
    for neighbour, end in zip(neighbours, (X[:, :1], X[:, -1:]), strict=True):
        if np.linalg.norm(neighbour - end, axis=0).max() <= 1e-9 * scale:
            if half_period:
                raise VcjaxError(
                    f"{call} got X with a row on a symmetry plane: the mirror image of X repeats "
                    "this row. Place the rows at phi = (i + 1/2) pi / (nfp nphi). If X covers a "
                    "whole period, give half_period=False."
                )
            raise VcjaxError(
                f"{call} got X with a last row that repeats the first row, one period later; drop "
                f"the last row, and check nfp={nfp}."
            )
    if X.shape[1] < 6:  # too few rows for `_check` to be reliable
        middle = np.concatenate([neighbours[0], X, neighbours[1]], axis=1).mean(axis=2)
        steps = np.diff(np.arctan2(middle[1], middle[0])) % (2 * np.pi)
        if steps.max() > _STEP_LIMIT * steps.min():
            least, most = np.degrees(steps.min()), np.degrees(steps.max())
            raise VcjaxError(
                f"{call} got an open surface: the steps of phi from row to row, including the step "
                f"across the toroidal seam, vary from {least:.3g} to {most:.3g} degrees. Give "
                f"equal steps of phi, or more than five rows, and check nfp={nfp} and "
                f"half_period={half_period}."
            )
    _check(call, "X", X, symmetry.POSITION_PARITY, nfp, half_period, _SURFACE_LIMIT)


def check_field_seams(call: str, B: np.ndarray, nfp: int, half_period: bool) -> None:
    """Raise an error for a field (3, nphi, ntheta) that breaks at a seam."""
    _check(call, "B", B, symmetry.FIELD_PARITY, nfp, half_period, _FIELD_LIMIT)


def _check(call, name, values, parity, nfp, half_period, limit) -> None:
    before, after = _neighbours(values, parity, nfp, half_period)
    for direction, axis, line in (
        ("poloidal", 2, np.concatenate([values[:, :, -1:], values, values[:, :, :1]], axis=2)),
        ("toroidal", 1, np.concatenate([before, values, after], axis=1)),
    ):
        bend = np.linalg.norm(np.diff(line, n=2, axis=axis), axis=0).max(axis=2 - axis)
        seam, inside = max(bend[0], bend[-1]), bend[1:-1]
        # Second differences below this level are rounding errors.
        floor = 1e-10 * np.abs(values).max()
        if inside.size >= 2 and seam > limit * max(inside.max(), floor):
            what = "an open surface" if name == "X" else "a field that breaks"
            times = seam / max(inside.max(), floor)
            period = "half a period" if half_period else "a whole period"
            raise VcjaxError(
                f"{call} got {what}: at the {direction} seam, where the grid ends and starts "
                f"again, {name} bends {times:.3g} times as much as anywhere else. Give points over "
                f"{period} and once around in theta, without a repeated end point, on the grid "
                f"that vcjax.choose describes, and check nfp={nfp} and half_period={half_period}."
            )


def _neighbours(values, parity, nfp: int, half_period: bool):
    """Compute the row before the first row, and the row after the last row, from the symmetry.

    Each of the two rows has the shape (3, 1, ntheta).
    """
    period = 2 * np.pi / nfp
    if half_period:
        image = symmetry.mirror(values, parity)
        return image[:, -1:], symmetry.rotate(image[:, :1], period)
    return symmetry.rotate(values[:, -1:], -period), symmetry.rotate(values[:, :1], period)
