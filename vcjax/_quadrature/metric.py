"""Orient the samples of a surface, and compute its first fundamental form."""

import numpy as np

from vcjax._errors import VcjaxError
from vcjax._geometry import resample, symmetry

# Least ratio of inner to outer radius of a torus. Around a narrower hole, patches would bend too
# much.
_NARROWEST_HOLE = 0.01


def facing_x(samples: np.ndarray) -> np.ndarray:
    """Shift co-rotating points (3, n, m) along z and rotate them, so that their mean is on +x.

    Without the shift, rounding of large values of z would look like a rough surface.
    """
    middle = samples.mean(axis=(1, 2))
    samples = samples - np.array([0.0, 0.0, middle[2]])[:, None, None]
    return symmetry.rotate(samples, -np.arctan2(middle[1], middle[0]))


def surface_metric(samples: np.ndarray, nfp: int) -> np.ndarray:
    """Return the first fundamental form (E, F, G), (3, n), at a sample of up to 500 points.

    Parameters
    ----------
    samples : (3, n, m) co-rotating points of one period, from `facing_x`.

    Raises
    ------
    VcjaxError : if the surface reaches or almost reaches the z axis, encloses no volume, or is
        degenerate.
    """
    radius = np.hypot(samples[0], samples[1])
    if samples[0].min() <= 0 or radius.min() < _NARROWEST_HOLE * radius.max():
        raise VcjaxError(
            "choose got a surface that reaches the z axis, or nearly so; give X as points of a "
            "torus around the z axis. The first axis of the array must be the toroidal direction, "
            "along which phi increases."
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
