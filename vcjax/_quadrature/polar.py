"""Place the polar nodes of a patch: radii, angles and weights.

The `Rule` contains the numbers of radii and angles, which `vcjax._quadrature.plan` chooses.
"""

from functools import lru_cache

import numpy as np

from vcjax._quadrature.rule import Rule

CORE = 0.15
"""Radius of the core of a patch, relative to the radius of the patch. For a point near the surface,
but not on it, the kernel is nearly singular in the core."""
_NEWTON_STEPS = 4
"""Number of Newton steps to the roots of a Legendre polynomial, enough for hundreds of nodes."""


def radii(rule: Rule) -> tuple[np.ndarray, np.ndarray]:
    """Return the radii and radial weights of the polar nodes of a patch, with radius 1 at the rim.

    The radii are the nodes of the Gauss-Legendre rule on [0, 1]. If the patch has a core (see
    `Rule`), the radii are the nodes of two such rules, on [0, CORE] and [CORE, 1]. A ray and the
    opposite ray are not joined to one interval [-1, 1], because the near kernel has a term |rho|^3,
    which is not smooth at the centre, rho = 0.
    """
    if not rule.core_count:
        return gauss_legendre(rule.radial_count)
    core = gauss_legendre(rule.core_count, 0.0, CORE)
    outer = gauss_legendre(rule.radial_count, CORE)
    return np.concatenate([core[0], outer[0]]), np.concatenate([core[1], outer[1]])


def gauss_legendre(count: int, first: float = 0.0, last: float = 1.0):
    """Return the nodes and weights of the Gauss-Legendre rule on an interval.

    Nodes and weights are computed in extended precision, where the platform has it. The weights of
    ``numpy.polynomial.legendre.leggauss`` have relative errors of up to 5e-12, which would limit
    the digits of gradients.
    """
    t, weights = _half_rule(count)
    mirrored = slice(None, None, -1) if count % 2 == 0 else slice(-2, None, -1)
    length = 0.5 * (last - first)
    nodes = np.concatenate([first + length * t, last - length * t[mirrored]])
    weights = length * np.concatenate([weights, weights[mirrored]])
    return nodes.astype(float), weights.astype(float)


@lru_cache(maxsize=64)
def _half_rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return t = 1 - x and the weights, for nodes x >= 0 of the Gauss-Legendre rule on [-1, 1]."""
    half = (count + 1) // 2
    t = 2 * np.sin(np.pi * (np.arange(half, dtype=np.longdouble) + 0.75) / (2 * count + 1)) ** 2
    for _ in range(_NEWTON_STEPS):
        value, slope = _legendre_polynomial(count, t)
        t = t + value / slope
    _, slope = _legendre_polynomial(count, t)
    return t, 2 / (t * (2 - t) * slope**2)


def _legendre_polynomial(degree: int, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Legendre polynomial P_n(x) of degree n, and its derivative, at x = 1 - t.

    The polynomials are summed from their differences,

        P_{k+1} - P_k = (k (P_k - P_{k-1}) - (2k + 1) t P_k) / (k + 1),

    so that the relative errors of t, not of x, determine the errors next to x = 1.
    """
    value, difference = 1 - t, -t
    for k in range(1, degree):
        difference = (k * difference - (2 * k + 1) * t * value) / (k + 1)
        value = value + difference
    return value, degree * (t * value - difference) / (t * (2 - t))


def polar_quadrant(rule: Rule) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return offsets (u, v) and weights of the polar nodes of a patch's first quadrant.

    The offsets from the centre of the patch are u along phi and v along theta, in node spacings. If
    the patch has no core (see `Rule`), the polar nodes are sorted by v, so that consecutive nodes
    take their values from few columns of the patch. If the patch has a core, they are sorted by
    radius, which is nearly as good, and then by angle.
    """
    rho, rho_weights = radii(rule)
    angle = 2 * np.pi * (np.arange(rule.angular_count // 4) + 0.5) / rule.angular_count
    u = np.outer(rho, np.cos(angle)).ravel() * rule.patch_phi
    v = np.outer(rho, np.sin(angle)).ravel() * rule.patch_theta
    area = (2 * np.pi / rule.angular_count) * rule.patch_phi * rule.patch_theta
    order = np.arange(v.size) if rule.core_count else np.argsort(v, kind="stable")
    return u[order], v[order], np.repeat(rho * rho_weights * area, angle.size)[order]


def rim_nodes(rule: Rule) -> np.ndarray:
    """Return the indices of the outermost nodes in the arrays of `polar_quadrant`."""
    u, v, _ = polar_quadrant(rule)
    radius = np.hypot(u / rule.patch_phi, v / rule.patch_theta)
    return np.sort(np.argsort(radius)[-(rule.angular_count // 4) :])
