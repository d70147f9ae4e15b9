"""The kernel of the gradient: its far part and its near part.

The kernel of the field is in `vcjax._kernels.far` and `vcjax._kernels.near`.

Far part. Let F = n x B and s = n.B at the source y, and r = x - y for the target x. The field at x
is a sum over the sources y and over m of r_m A_mk / r^3, where A_mk = (e_m x F)_k - s delta_mk. The
gradient is a sum of

    d_i (r_m / r^3) A_mk = {r^2 A_ik - 3 r_i r_m A_mk} / r^5.

The gradient of a field without divergence and curl is symmetric and has no trace. Let <a, b> be the
symmetric part of a_i b_k less its trace. This part of the numerator is 3 <r, s r - r x F>, because
A_ik is a multiple of the identity plus an antisymmetric matrix. The rest is antisymmetric. It is
left out, because its sum over the whole surface is zero if no current crosses the surface.

The numerator is a polynomial in x and y. The contribution of a block of sources to a tile of
targets is therefore the matrix of w = 1/r^5, (targets, sources), times a matrix of 17 columns. If c
is the centre of the block, y' = y - c and g = s y' - y' x F, the columns are

    s,  F,  h = 2 s y' - 3/2 y' x F,  and the five components of each of <y', F> and <y', g>.

With x' = x - c, and with the rows S_i of <y', F>, the numerator is 3 times the sum over sources of

    <x', s x' - x' x F - h>  +  the symmetric part of (x' x S_i)_k  +  <y', g>.

If (size of the block / r)^2 is 10^k, the expansion of squared distances loses k digits. With a
centre that is far from all sources, such as the origin, it would lose seven digits. Therefore each
block has its own centre, and the size of blocks is bounded.

Near part. With the normal n at y, the gradient of the field's kernel is

    d_i {B x (n x r) - B (n.r)} / r^3 = B x (n x K_i) - (n.K_i) B,  K_im = d_i (r_m / r^3).

In the near part, K_im = N1(alpha r) delta_im / r^3 - 3 N2(alpha r) r_i r_m / r^5, with N1 and alpha
from `vcjax._kernels.near` and N2(t) = N1(t) + 4 t^3 exp(-t^2) / (3 sqrt(pi)). At each node of a
patch the near part needs four weights for each i: V_i = n x K_i and s_i = n.K_i. The field needs
only four weights in total.

The integral is Hadamard's finite part. At the radius rho of a ray from the target, the integrand is
a/rho^2 + b/rho + ..., where b cancels against the opposite ray and a is the kernel of the tangent
plane. For the integral of 1/rho^2 from 0 to 1, the radial rule gives a sum S, but the finite part
is -1. Therefore (-1 - S) times the tangent plane's kernel is added at the centre of each patch. The
far kernel K - K_near is smooth. Its value at r = 0, 4 alpha^3 / (3 sqrt(pi)) delta_im, is missing
from the far sum, which leaves out the target. Therefore it is added at the centre too.
"""

from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vcjax._geometry.resample import equispaced
from vcjax._kernels.far import Kernel
from vcjax._kernels.near import field_split, split_weights, weights_at
from vcjax._kernels.vectors import AXES, components, cross, dot, stacked
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import GradientTables, radii

_LARGEST_BLOCK = 1024
"""Largest number of nodes in a block up to 7 digits; see `_block_limit`."""


def _moments(y: Float[Array, "3 n"], densities: Float[Array, "4 n"]) -> Float[Array, "17 n"]:
    s, *F = components(densities)
    at = components(y)
    crossed = cross(at, F)
    g = [s * a - b for a, b in zip(at, crossed, strict=True)]
    h = [2 * s * a - 1.5 * b for a, b in zip(at, crossed, strict=True)]
    return stacked([s, *F, *h, *_five(at, F), *_five(at, g)])


def _combine(x: Float[Array, "3 t"], m: Float[Array, "17 t"]) -> Float[Array, "3 3 t"]:
    """Return the gradient [i, k] at targets from the weighted moments m of a block of sources.

    The targets x are relative to the block's centre.
    """
    at, (s, *rest) = components(x), components(m)
    F, h = rest[:3], rest[3:6]
    crossed = [cross(at, row) for row in _matrix(rest[6:11])]
    direct = [s * a - b - c for a, b, c in zip(at, cross(at, F), h, strict=True)]
    turned = [0.5 * (crossed[i][k] + crossed[k][i]) for i, k in _FIVE]
    parts = zip(_five(at, direct), turned, rest[11:], strict=True)
    rows = _matrix([3 * (a + b + c) for a, b, c in parts])
    return stacked([value for row in rows for value in row]).reshape(3, 3, -1)


_FIVE = (0, 0), (1, 1), (0, 1), (0, 2), (1, 2)
"""Indices of the components xx, yy, xy, xz, yz of a symmetric matrix without trace."""


def _five(a: Sequence[Array], b: Sequence[Array]) -> list[Array]:
    """Return the five components of <a, b>, see the module's docstring."""
    third = dot(a, b) / 3
    return [0.5 * (a[i] * b[k] + a[k] * b[i]) - (third if i == k else 0) for i, k in _FIVE]


def _matrix(five: Sequence[Array]) -> list[list[Array]]:
    """Return the rows of the symmetric traceless matrix with these five components."""
    xx, yy, xy, xz, yz = five
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, -xx - yy]]


def _block_limit(digits: int) -> int:
    """Return the largest number of nodes in a block, for gradients with this number of digits.

    The result is 1024 up to 7 digits, then 512, 128, 64, and 32 from 11 digits. Relative to
    max |grad B|, blocks of 1024, 512, 128 and 64 nodes were measured to add rounding errors of
    7e-9, 2.5e-9, 1.5e-10 and 6e-11 on a rotating ellipse of 8 : 1. Smaller blocks take more time:
    on W7-X 128 nodes take 1.2 times as long as 1024, and 64 nodes take 1.4 times as long.
    """
    if digits >= 11:
        return 32
    blocks = int(_LARGEST_BLOCK * 10.0 ** ((7.5 - digits) / 2)) // 64
    return 64 * min(max(blocks, 1), _LARGEST_BLOCK // 64)


GRADIENT = Kernel("far_gradient", 5, _moments, _combine, rank=2, block_limit=_block_limit)


def gradient_weights_at(
    nodes: Float[Array, "part row column"], constants: GradientTables, rule: Rule
) -> Callable:
    """Return a function that computes the near weights of the gradient for a block of targets.

    The function takes the index of a row of targets and the indices of t targets in this row. It
    returns weights of shape (t, 12, patch): s_i and V_i (see the module's docstring) for
    i = x, y, z.

    Parameters
    ----------
    nodes : (6, row, column) points and outward normals on the continued nodes; the length of a
        normal is the area that its node stands for. Three more components, if given, are the
        digits lost in rounding (`vcjax._geometry.nodes.with_lost_digits`).
    """

    def patch_weights(patch, interpolation, polar_weights, rule):
        patch, lost = patch[:, :6], patch[:, 6:]
        exact = patch.at[:, :3].add(lost) if lost.shape[1] else patch
        weights, alpha = split_weights(
            _near_kernel, patch, interpolation, polar_weights, rule, exact
        )
        centre = _finite_part(exact, constants, rule) + _far_at_centre(patch, alpha, rule)
        return weights.at[:, :, weights.shape[2] // 2].add(centre) / (4 * np.pi)

    return weights_at(nodes, constants.field, rule, patch_weights)


def combine_gradient(
    b: Float[Array, "t 3 patch"], w: Float[Array, "t 12 patch"]
) -> Float[Array, "t 3 3"]:
    """Return the near part of the gradient [i, k] = d_i T_k, from B and weights on patches."""
    moment = jnp.einsum("tjp,twp->tjw", b, w).reshape(-1, 3, 3, 4)
    values = [
        moment[:, i, :, 1 + j] - moment[:, j, :, 1 + i] - moment[:, k, :, 0] for k, i, j in AXES
    ]
    return stacked(values, axis=2)


def _near_kernel(nodes, weights, alpha, axis: int):
    """Return `weights` times the near kernel: (n.K_i, n x K_i) for i = x, y, z, along `axis`.

    Parameters
    ----------
    nodes : offsets from the target and normals, six components along `axis`.
    weights : weights of the nodes; where a weight is 0 the result is 0.
    alpha : cut-off rates, broadcast against the nodes.
    """
    offset, normal = jnp.split(nodes, 2, axis=axis)
    r = components(offset, axis)
    square = jnp.where(weights == 0, 1.0, dot(r, r))
    distance = jnp.sqrt(square)
    t = alpha * distance
    first = field_split(t)
    second = first + (4 / (3 * np.sqrt(np.pi))) * t**3 * jnp.exp(-t * t)
    cubed = weights / (square * distance)
    return _twelve(offset, normal, cubed * first, 3 * cubed / square * second, axis)


def _twelve(r, normal, isotropic, directed, axis: int):
    """Return (n.K_i, n x K_i) for i = x, y, z, as twelve values along `axis`.

    Here K_im = isotropic delta_im - directed r_i r_m, and n is `normal`.
    """
    n, at = components(normal, axis), components(r, axis)
    # A stack is computed once; a selection would be computed again wherever it is read.
    products = jnp.stack([dot(n, at), *cross(n, at)], axis)
    units = _units([isotropic * v for v in n], axis)
    rows = [
        u - jnp.expand_dims(directed * v, axis) * products for u, v in zip(units, at, strict=True)
    ]
    return jnp.concatenate(rows, axis)


def _units(normal: Sequence[Array], axis: int) -> list[Array]:
    """Return a list of (n.e_i, n x e_i) for i = x, y, z, each of four values along `axis`."""
    x, y, z = normal
    zero = jnp.zeros_like(x)
    rows = (x, zero, z, -y), (y, -z, zero, x), (z, y, -x, zero)
    return [stacked(row, axis) for row in rows]


def _finite_part(patch, constants: GradientTables, rule: Rule) -> Float[Array, "ttheta 12"]:
    """Return (-1 - S) times the tangent plane's kernel, summed over the angles of the polar rule.

    The module's docstring defines S. The tangent plane is spanned by the derivatives of the patch
    interpolation, because the polar nodes use the same interpolation. With derivatives of the
    surface, the rounding error would be ten times as large.

    Parameters
    ----------
    patch : (t, 6, p, q) offsets from the targets, then normals.
    """
    i, j = rule.reach_phi, rule.reach_theta
    slope_phi = jnp.einsum("sp,tkp->stk", constants.centre_phi, patch[:, :3, :, j])
    slope_theta = jnp.einsum("sq,tkq->stk", constants.centre_theta, patch[:, :3, i, :])
    quarter = rule.angular_count // 4
    step = 2 * np.pi / rule.angular_count
    angle = equispaced(0.5 * step, step, quarter, jnp)
    signs = equispaced(1.0, -2.0, 2, jnp)
    cosine = rule.patch_phi * jnp.cos(angle) * signs[:, None]
    sine = rule.patch_theta * jnp.sin(angle) * signs[:, None]
    # Axes: target, component, right or left, upper or lower, angle within the quadrant.
    phi_part = jnp.einsum("stk,sa->tksa", slope_phi, cosine)
    theta_part = jnp.einsum("stk,sa->tksa", slope_theta, sine)
    ray = phi_part[:, :, :, None] + theta_part[:, :, None]
    square = (ray**2).sum(axis=1)
    cubed = 1.0 / (square * jnp.sqrt(square))
    normal = patch[:, 3:, i, j, None, None, None]
    plane = _twelve(ray, normal, cubed, 3 * cubed / square, axis=1).sum(axis=(2, 3, 4))
    rho, weights = radii(rule)
    missing = -1.0 - float((weights / rho**2).sum())
    return missing * step * rule.patch_phi * rule.patch_theta * plane


def _far_at_centre(patch, alpha, rule: Rule) -> Float[Array, "ttheta 12"]:
    """Return the far kernel at r = 0, as twelve weights for the centre of each patch."""
    normal = patch[:, 3:, rule.reach_phi, rule.reach_theta]
    units = jnp.concatenate(_units(components(normal, 1), axis=1), axis=1)
    return (4 / (3 * np.sqrt(np.pi))) * alpha**3 * units
