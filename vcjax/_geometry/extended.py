"""Compute points of the quadrature grid in extended precision."""

from typing import Any

import numpy as np

from vcjax._geometry.resample import as_rows, interpolate, resampled, rotate
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import Tables


def with_lost_digits(rule: Rule, X: Any, constants: Tables, nodes: Any, xp: Any) -> Any:
    """Return nodes with correctly rounded points, followed by the digits lost in rounding.

    Rounding moves a point by about 1e-16 of the size of the torus. Where nodes are h apart, this
    error of a point changes a gradient by 1e-16/h^2.

    Parameters
    ----------
    X, constants : the surface and tables from which the nodes were computed.
    nodes : (6, row, column) from `surface_nodes`.
    xp : ``numpy``, or ``jax.numpy`` for traced arrays, which have no lost digits.

    Returns
    -------
    (9, row, column) points, normals, and the exact points minus the rounded points.
    """
    if xp is not np:
        return xp.concatenate([nodes, xp.zeros_like(nodes[:3])])
    samples = resampled(as_rows(X), constants.samples_phi, constants.samples_theta)
    (rows, columns), (above, beside) = rule.continued_shape, rule.overlap
    # The first row is at the angle pi / (2 nfp trg_nphi) if the grid covers half a period.
    first = np.longdouble(rule.half_period) / (4 * rule.nfp * rule.trg_shape[0])
    turns_phi = first + (np.arange(rows) - above) / np.longdouble(rule.quad_nphi)
    turns_theta = ((np.arange(columns) - beside) % rule.quad_ntheta).astype(np.longdouble)
    exact = extended_points(samples, rule.nfp, turns_phi, turns_theta / rule.quad_ntheta)
    rounded = exact.astype(np.float64)
    return np.concatenate([rounded, nodes[3:], (exact - rounded).astype(np.float64)])


def extended_points(samples: np.ndarray, nfp: int, turns_phi, turns_theta) -> np.ndarray:
    """Return points of a surface in laboratory components, in extended precision.

    The precision is NumPy's ``longdouble``, which is no better than float64 on some platforms.

    Parameters
    ----------
    samples : (3, n, m) co-rotating components from `surface_period`.
    turns_phi, turns_theta : (a,) and (b,) toroidal and poloidal angles divided by 2 pi, longdouble.

    Returns
    -------
    (3, a, b) longdouble.
    """
    turn = 8 * np.arctan(np.longdouble(1))
    by_phi = _extended_matrix(samples.shape[1], nfp * turns_phi, turn)
    by_theta = _extended_matrix(samples.shape[2], turns_theta, turn)
    found = interpolate(by_phi, samples.astype(np.longdouble), by_theta)
    return rotate(found, turn * turns_phi)


def _extended_matrix(count: int, turns: np.ndarray, turn: np.longdouble) -> np.ndarray:
    """Return the matrix `value` of `interpolation_matrices`, (a, count), in extended precision.

    Parameters
    ----------
    count : number of samples in a period.
    turns : (a,) positions to which the matrix interpolates, divided by the period.
    turn : 2 pi.
    """
    modes = np.arange(count // 2 + 1)
    single = (modes == 0) | (2 * modes == count)
    weights = np.where(single, 1, 2).astype(np.longdouble) / count
    at = turn * ((np.outer(turns, modes)) % 1)
    nodes = turn * (np.outer(np.arange(count), modes) % count) / count
    return np.cos(at) @ (np.cos(nodes) * weights).T + np.sin(at) @ (np.sin(nodes) * weights).T
