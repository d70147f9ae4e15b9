"""Compute the gradient of a field on a surface from derivatives of the field along the surface."""

from typing import Any


def dual_basis(x_phi, x_theta, xp: Any):
    """Return the dual tangents of phi and theta, and the unit normal, for tangents (3, n, m).

    The normal has the direction of the cross product of x_phi and x_theta. In the result,
    (3, 3, n, m), the three vectors are along the first axis, their components along the second.
    """
    normal = xp.cross(x_phi, x_theta, axis=0)
    square = (normal**2).sum(axis=0)
    along_phi, along_theta = xp.cross(x_theta, normal, axis=0), xp.cross(normal, x_phi, axis=0)
    return xp.stack([along_phi / square, along_theta / square, normal / xp.sqrt(square)])


def total_gradient(basis, slopes):
    """Return the gradient [i, k] = d_i B_k of a field without divergence or curl.

    The gradient is the symmetric traceless part of the matrix D in the docstring of
    `vcjax._gradient`. It does not depend on the sign of the normal. The basis is from `dual_basis`.
    The slopes, (3, n, m) each, are the derivatives of the field with respect to phi and theta, in
    the same frame as the basis. The result is (3, 3, n, m).
    """
    *dual, normal = basis
    D = sum(e[:, None] * slope for e, slope in zip(dual, slopes, strict=True))
    across = sum(
        e * (normal * slope).sum(axis=0) - normal * (e * slope).sum(axis=0)
        for e, slope in zip(dual, slopes, strict=True)
    )
    return symmetric_traceless(D + normal[:, None] * across)


def symmetric_traceless(gradient):
    """Return the symmetric and traceless part of a gradient (3, 3, n, m).

    The gradient of a field without divergence or curl is symmetric and traceless. In a computed
    gradient, the other parts are errors.
    """
    even = 0.5 * (gradient + gradient.swapaxes(0, 1))
    third = (even[0, 0] + even[1, 1] + even[2, 2]) / 3
    identity = gradient.__array_namespace__().eye(3, dtype=gradient.dtype)
    return even - third * identity[:, :, None, None]
