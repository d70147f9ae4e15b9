"""Resample toroidal data by trigonometric interpolation.

Data are resampled on one field period in the co-rotating frame (`vcjax._geometry.symmetry`). Two
small dense products, ``D_phi @ W @ D_theta.T``, resample the components W. The products are exact
for band-limited data, linear, differentiable, and fast on any device. `resampled` computes these
products in compiled programs, with matrices that are made on the host.
"""

import itertools
from typing import Any

import jax
import numpy as np

from vcjax._geometry.symmetry import equispaced, rotation

_ONE_THREAD = 2**18
"""Largest number of multiplications for which OpenBLAS uses one thread (its interface/gemm.c)."""
_LEAST_ROWS = 32
"""`product` limits the width of its blocks, so that blocks can have at least this many rows."""


def interpolation_matrices(count: int, start: float, period: float, points: np.ndarray):
    """Return the matrices of trigonometric interpolation to points, and of its derivative.

    The samples are at start + k period / count, for k = 0 .. count - 1. For points (a,) the
    matrices are (a, count). For an even count the Nyquist mode is interpolated as a cosine.
    """
    modes = np.arange((count - 1) // 2 + 1)
    scale = 2 * np.pi / period
    weights = np.where(modes == 0, 1.0, 2.0)
    if count % 2 == 0:
        modes, weights = np.append(modes, count // 2), np.append(weights, 1.0)
    # Derivatives multiply rounding errors of phases by the mode numbers. Whole turns are therefore
    # subtracted from the phases in extended precision, where the platform has it.
    turns = np.outer((np.asarray(points, np.longdouble) - start) / period, modes)
    at = (2 * np.pi) * (turns - np.rint(turns)).astype(float)
    nodes = (np.outer(np.arange(count), modes) % count) * (2 * np.pi / count)
    cosine, sine = np.cos(nodes) * (weights / count), np.sin(nodes) * (weights / count)
    along_cosine, along_sine = np.cos(at), np.sin(at)
    value = product(along_cosine, cosine.T) + product(along_sine, sine.T)
    derivative = product(along_cosine * modes, sine.T) - product(along_sine * modes, cosine.T)
    return value, derivative * scale


def tangents_at(samples: np.ndarray, nfp: int, angles: np.ndarray, ntheta: int):
    """Return points and tangents of a surface on a grid.

    The toroidal angles of the grid are `angles` (a,); its `ntheta` poloidal angles are equispaced.
    `samples` (3, n, m) are the co-rotating components W from `surface_period`. The results, x,
    x_phi and x_theta, have co-rotating components, (3, a, ntheta) each. Because the frame rotates,
    x_phi = dW/dphi + e_z x W.
    """
    theta = equispaced(0.0, 2 * np.pi / ntheta, ntheta)
    phi, phi_slope = interpolation_matrices(samples.shape[1], 0.0, 2 * np.pi / nfp, angles)
    theta, theta_slope = interpolation_matrices(samples.shape[2], 0.0, 2 * np.pi, theta)
    along_theta = samples @ theta.T
    w, w_phi = phi @ along_theta, phi_slope @ along_theta
    w_theta = phi @ (samples @ theta_slope.T)
    return w, np.stack([w_phi[0] - w[1], w_phi[1] + w[0], w_phi[2]]), w_theta


@jax.named_scope("resample")
def resampled(values: Any, phi: Any, theta: Any) -> Any:
    """Resample a vector field to other points, by two matrix products.

    The arrays are all NumPy arrays or all JAX arrays, and the result is of the same kind.

    Each row of `values`, (i, m), contains one vector component at one toroidal angle; see
    `as_rows`. The images of a row are the row itself and, on a half period, its copies under
    stellarator symmetry. The matrices `theta`, (images, b, m), interpolate each image along theta.
    The matrix `phi`, (3, a, i * images), combines the images of all rows. The result, (3, a, b),
    has laboratory components. If the matrices come from `symmetry.surface_period_matrices`, it has
    co-rotating components instead.

    `values` are multiplied by `theta` first, but NumPy arrays are multiplied by `phi` first if each
    row has one image and this order is cheaper.
    """
    rows, (images, columns, count) = phi.shape[1], theta.shape
    is_cheaper = images == 1 and 1 / columns + 1 / len(values) < 1 / count
    if is_cheaper and isinstance(values, np.ndarray):
        along_phi = product(phi.reshape(3 * rows, -1), values)
        flat = product(along_phi, theta[0].T)
    else:
        along_theta = product(values, theta.reshape(-1, count).T)
        flat = product(phi.reshape(3 * rows, -1), along_theta.reshape(-1, columns))
    return flat.reshape(3, rows, columns)


def product(a: Any, b: Any) -> Any:
    """Return a @ b, for arrays (i, k) and (k, j).

    Products of NumPy arrays are computed in blocks. The blocks are so small that OpenBLAS
    starts no threads. After a product, such threads wait for the next product and keep a processor
    busy. On two processors, `prepare` (6 digits) took 145 ms with these threads and 98 ms without.
    """
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)):
        return a @ b
    found = np.empty((len(a), b.shape[1]))
    width = min(b.shape[1], max(1, _ONE_THREAD // (_LEAST_ROWS * len(b))))
    height = max(1, _ONE_THREAD // (len(b) * width))
    for top, left in itertools.product(range(0, len(a), height), range(0, b.shape[1], width)):
        block = slice(top, top + height), slice(left, left + width)
        np.matmul(a[block[0]], b[:, block[1]], out=found[block])
    return found


def as_rows(values: Any) -> Any:
    """Return vectors (nphi, ntheta, 3) as the rows (3 nphi, ntheta) that `resampled` takes."""
    return values.swapaxes(1, 2).reshape(-1, values.shape[1])


def laboratory_matrices(value: np.ndarray, slope: np.ndarray, angles, given):
    """Return matrices along phi that interpolate and convert to laboratory components.

    `value` and `slope`, (a, n), are from `interpolation_matrices` for toroidal angles (a,). The
    results (3, a, 3 n) are for `resampled`. `given`, (n,), are the angles by which the samples must
    be rotated back into the co-rotating frame: the toroidal angles of the rows for laboratory
    components, and 0 for co-rotating components.
    """
    turn, quarter = np.subtract.outer(angles, given), 0.5 * np.pi
    turned = rotation(turn)
    # The derivative of rotation(a) is rotation(a + pi/2), but with 0 instead of 1 along z.
    turning = rotation(turn + quarter) * np.array([1.0, 1.0, 0.0])[:, None, None, None]
    return tuple(
        matrix.transpose(0, 2, 3, 1).reshape(3, turn.shape[0], -1)
        for matrix in (turned * value, turned * slope + turning * value)
    )
