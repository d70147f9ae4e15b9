"""Define the kernel of the gradient: its far part and its near part.

The kernel of the field is in `vcjax._kernels.far` and `vcjax._kernels.near`.

Far part. Let F = n x B and s = n.B at the source y, and r = x - y for the target x. The field at x
is a sum over the sources y and over m of r_m A_mk / r^3, where A_mk = (e_m x F)_k - s delta_mk. The
gradient is a sum of

    d_i (r_m / r^3) A_mk = {r^2 A_ik - 3 r_i r_m A_mk} / r^5.

The gradient of a field without divergence and curl is symmetric and has no trace. Let <a, b> be the
symmetric part of a_i b_k less its trace. The symmetric traceless part of the numerator is
3 <r, s r - r x F>, because A_ik is a multiple of the identity plus an antisymmetric matrix. The
rest is antisymmetric. It is left out, because its sum over the whole surface is zero if no current
crosses the surface.

The numerator is a polynomial in x and y. The contribution of a block of sources to a tile of
targets is therefore the matrix of w = 1/r^5, (targets, sources), times a matrix of 17 columns. If c
is the centre of the block, y' = y - c and g = s y' - y' x F, the columns are

    s,  F,  h = 2 s y' - 3/2 y' x F,  and the five components of each of <y', F> and <y', g>.

With x' = x - c, and with the rows S_i of <y', F>, the numerator is 3 times the sum over sources of

    <x', s x' - x' x F - h>  +  the symmetric part of (x' x S_i)_k  +  <y', g>.

If (size of the block / r)^2 is 10^k, the expansion of squared distances loses k digits. With a
centre that is far from all sources, such as the origin, it would lose seven digits. Therefore each
block has its own centre, and the size of blocks is bounded.

Near part. With the normal n, the derivative of the field's kernel is

    d_i {B x (n x r) - B (n.r)} / r^3 = B x (n x K_i) - (n.K_i) B,  K_im = d_i (r_m / r^3).

The near part has K_im = N1(alpha r) delta_im / r^3 - q r_i r_m with q = 3 N2(alpha r) / r^5. N1 and
alpha are defined in `vcjax._kernels.near`, and N2(t) = N1(t) + 4 t^3 exp(-t^2) / (3 sqrt(pi)).
Again only the symmetric part less its trace is kept. The term with N1 has no such part. With
w = n x r, the other term is -q r_i {B x w - (n.r) B}_k. Its symmetric traceless part is

    the symmetric part of (B x S_i)_k  +  <B, v>,
    S = -q <r, w>,  v = -q {r^2 n - 3 (n.r) r} / 2,

because the antisymmetric part of r_i w_k belongs to the vector r x w = r^2 n - (n.r) r. Therefore
each node of a patch has eight weights: five components of S, with rows S_i, and three of v.

The integral is Hadamard's finite part. At the radius rho of a ray from the target, the integrand is
a/rho^2 + b/rho + .... Here a is the kernel of the tangent plane, and the term with b cancels
against the same term of the opposite ray. For the integral of 1/rho^2 from 0 to 1, the radial rule
gives a sum R, but the finite part is -1. Therefore (-1 - R) times the tangent plane's kernel is
added at the centre of each patch. The far sum leaves out the target. There the smooth far kernel
K - K_near is a multiple of the identity, and would add nothing.
"""

from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vcjax._geometry.resample import equispaced
from vcjax._kernels.far import Kernel
from vcjax._kernels.near import field_split, split_weights, weights_at
from vcjax._kernels.vectors import AXES, components, cross, dot, stacked
from vcjax._quadrature.polar import radii
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import GradientTables

_LARGEST_BLOCK = 1024
"""Largest number of nodes in a block up to 7 digits; see `_block_limit`."""


def _moments(y: Float[Array, "3 n"], densities: Float[Array, "4 n"]) -> Float[Array, "17 n"]:
    s, *F = components(densities)
    at = components(y)
    crossed = cross(at, F)
    g = [s * a - b for a, b in zip(at, crossed, strict=True)]
    h = [2 * s * a - 1.5 * b for a, b in zip(at, crossed, strict=True)]
    return stacked([s, *F, *h, *_five(_product(at, F)), *_five(_product(at, g))])


def _combine(x: Float[Array, "3 t"], m: Float[Array, "17 t"]) -> Float[Array, "5 t"]:
    """Return the five components of the gradient from the weighted moments m of a block of sources.

    The targets x are relative to the block's centre.
    """
    at, (s, *rest) = components(x), components(m)
    F, h = rest[:3], rest[3:6]
    crossed = [cross(at, row) for row in _matrix(rest[6:11])]
    direct = [s * a - b - c for a, b, c in zip(at, cross(at, F), h, strict=True)]
    parts = zip(_five(_product(at, direct)), _five(crossed), rest[11:], strict=True)
    # A stack computes each component once. A selection by index would take five times as long.
    return jnp.stack([3 * (a + b + c) for a, b, c in parts])


def _expand(five: Float[Array, "5 t"]) -> Float[Array, "3 3 t"]:
    """Return the gradient [i, k] from its five components."""
    rows = _matrix(components(five))
    return stacked(sum(rows, [])).reshape(3, 3, -1)


_FIVE = (0, 0), (1, 1), (0, 1), (0, 2), (1, 2)
"""Indices of the components xx, yy, xy, xz, yz of a symmetric matrix without trace."""


def _five(m: Sequence[Sequence[Array]]) -> list[Array]:
    """Return the five components of the symmetric part of a 3 x 3 matrix less its trace."""
    third = (m[0][0] + m[1][1] + m[2][2]) / 3
    return [0.5 * (m[i][k] + m[k][i]) - (third if i == k else 0) for i, k in _FIVE]


def _product(a: Sequence[Array], b: Sequence[Array]) -> list[list[Array]]:
    return [[x * y for y in b] for x in a]


def _matrix(five: Sequence[Array]) -> list[list[Array]]:
    """Return the rows of the symmetric traceless matrix with these five components."""
    xx, yy, xy, xz, yz = five
    return [[xx, xy, xz], [xy, yy, yz], [xz, yz, -xx - yy]]


def _block_limit(digits: int) -> int:
    """Return the largest number of nodes in a block, for gradients with this number of digits.

    The result is 1024 up to 7 digits, then 512, 128, 64, and 32 from 11 digits. On a rotating
    ellipse of 8 : 1, blocks of 1024, 512, 128 and 64 nodes added rounding errors of 7e-9, 2.5e-9,
    1.5e-10 and 6e-11, relative to max |grad B|. Smaller blocks take more time: on W7-X, 128 nodes
    take 1.2 times as long as 1024 nodes, and 64 nodes take 1.4 times as long as 1024 nodes.
    """
    if digits >= 11:
        return 32
    blocks = int(_LARGEST_BLOCK * 10.0 ** ((7.5 - digits) / 2)) // 64
    return 64 * min(max(blocks, 1), _LARGEST_BLOCK // 64)


GRADIENT = Kernel("far_gradient", 5, _moments, _combine, _expand, rank=2, block_limit=_block_limit)


def gradient_weights_at(
    nodes: Float[Array, "part row column"], constants: GradientTables, rule: Rule
) -> Callable:
    """Return a function that computes the near weights of the gradient for a block of targets.

    The function takes the index of a row of targets and the indices of t targets in this row. It
    returns weights of shape (t, 8, patch): S and v (see the module's docstring).

    Parameters
    ----------
    nodes : (6, row, column) points and outward normals on the continued nodes; the length of a
        normal is the area that its node stands for. Three more components, if given, are the
        digits lost in rounding (`vcjax._geometry.extended.with_lost_digits`).
    """

    def patch_weights(patch, interpolation, polar_weights, rule):
        patch, lost = patch[:, :6], patch[:, 6:]
        exact = patch.at[:, :3].add(lost) if lost.shape[1] else patch
        weights = split_weights(_near_kernel, patch, interpolation, polar_weights, rule, exact)
        centre = _finite_part(exact, constants, rule)
        return weights.at[:, :, weights.shape[2] // 2].add(centre) / (4 * np.pi)

    return weights_at(nodes, constants.field, rule, patch_weights)


def combine_gradient(
    b: Float[Array, "t 3 patch"], w: Float[Array, "t 8 patch"]
) -> Float[Array, "t 3 3"]:
    """Return the near part of the gradient [i, k] = d_i T_k, from B and weights on patches."""
    moments = components(jnp.einsum("tjp,twp->jwt", b, w))
    S = [_matrix(components(moment[:5])) for moment in moments]
    v = [components(moment[5:]) for moment in moments]
    crossed = [[S[i][row][j] - S[j][row][i] for _, i, j in AXES] for row in range(3)]
    rows = _matrix([x + y for x, y in zip(_five(crossed), _five(v), strict=True)])
    return stacked(sum(rows, []), axis=1).reshape(-1, 3, 3)


def _near_kernel(nodes, weights, alpha, axis: int):
    """Return `weights` times the near kernel: the components of S, then of v, along `axis`.

    The module's docstring defines S and v.

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
    split = field_split(t) + (4 / (3 * np.sqrt(np.pi))) * t**3 * jnp.exp(-t * t)
    return _eight(r, components(normal, axis), 3 * weights * split / (square**2 * distance), axis)


def _eight(r: Sequence[Array], normal: Sequence[Array], q, axis: int):
    """Return the five components of S and the three components of v, stacked along `axis`.

    The module's docstring defines q, S and v.
    """
    along, square = dot(normal, r), dot(r, r)
    v = [1.5 * along * a - 0.5 * square * n for a, n in zip(r, normal, strict=True)]
    return jnp.stack([q * value for value in (*_five(_product(r, cross(r, normal))), *v)], axis)


def _finite_part(patch, constants: GradientTables, rule: Rule) -> Float[Array, "ttheta 8"]:
    """Return (-1 - R) times the tangent plane's kernel, summed over the angles of the polar rule.

    The module's docstring defines R. The tangent plane is spanned by the derivatives of the patch
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
    normal = patch[:, 3:, i, j, None, None, None]
    q = 3 / (square**2 * jnp.sqrt(square))
    plane = _eight(components(ray, 1), components(normal, 1), q, axis=1).sum(axis=(2, 3, 4))
    rho, weights = radii(rule)
    missing = -1.0 - float((weights / rho**2).sum())
    return missing * step * rule.patch_phi * rule.patch_theta * plane
