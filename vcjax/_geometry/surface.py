"""Interpolate a surface from its grid to other grids, with NumPy on the host."""

import numpy as np

from vcjax._annotations import Float
from vcjax._checks import check_grid, check_surface, check_symmetry
from vcjax._geometry import resample, symmetry


def surface_points(
    X: Float[np.ndarray, "nphi ntheta 3"], *, nfp: int, half_period: bool, nphi: int, ntheta: int
) -> Float[np.ndarray, "a b 3"]:
    """Return points on the smooth surface through X, on another grid over the same period.

    Parameters
    ----------
    X : (n, m, 3) Cartesian points of the surface, in any length unit.
    nfp : number of field periods.
    half_period : if True, X covers half a field period of a stellarator-symmetric surface, with row
        i at phi = (i + 1/2) pi / (nfp n). If False, X covers a whole period, with row i at
        phi = 2 pi i / (nfp n).
    nphi, ntheta : numbers of toroidal and poloidal points of the new grid. Its rows are at the
        angles given above, with nphi in place of n.

    Returns
    -------
    (nphi, ntheta, 3) points, in the unit of X.

    Raises
    ------
    VcjaxError : if X is traced, or is not an array of finite float64 points of a closed surface, or
        if another argument is invalid.
    """
    return surface_frame("surface_points", X, nfp, half_period, nphi, ntheta)[0]


def surface_tangents(
    X: Float[np.ndarray, "nphi ntheta 3"], *, nfp: int, half_period: bool, nphi: int, ntheta: int
) -> tuple[Float[np.ndarray, "a b 3"], Float[np.ndarray, "a b 3"]]:
    """Return the tangents dX/dphi and dX/dtheta of the smooth surface through X, on another grid.

    The parameters and errors are the same as for `surface_points`.

    Returns
    -------
    Two (nphi, ntheta, 3) arrays, in the unit of X per radian. Their cross product is normal to
    the surface.
    """
    return surface_frame("surface_tangents", X, nfp, half_period, nphi, ntheta)[1:]


def outward_normals(
    points: Float[np.ndarray, "a b 3"],
    along_phi: Float[np.ndarray, "a b 3"],
    along_theta: Float[np.ndarray, "a b 3"],
) -> Float[np.ndarray, "a b 3"]:
    """Return the outward unit normals of a surface on a grid over a full or half period."""
    normal = np.cross(along_phi, along_theta)
    # The outward flux of the position vector is positive: it is three times the enclosed volume.
    outward = np.sign((points * normal).sum())
    return outward * normal / np.linalg.norm(normal, axis=-1, keepdims=True)


def surface_frame(
    call: str, X, nfp: int, half_period: bool, nphi: int, ntheta: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points and both tangents of a surface on a grid, as arrays (nphi, ntheta, 3).

    Error messages begin with `call`. The other parameters are the same as for `surface_points`.
    """
    nfp, half_period = check_symmetry(call, nfp, half_period)
    nphi, ntheta = check_grid(call, "nphi", nphi), check_grid(call, "ntheta", ntheta)
    points = check_surface(call, X, nfp, half_period)
    angles = symmetry.grid_angles(nphi, nfp, half_period)
    samples = symmetry.surface_period(points, nfp, half_period)
    found = resample.tangents_at(samples, nfp, angles, ntheta)
    x, x_phi, x_theta = (np.moveaxis(symmetry.rotate(v, angles), 0, -1) for v in found)
    return x, x_phi, x_theta
