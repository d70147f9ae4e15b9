"""The kernel of the gradient, far and near; see `vcjax._kernels.far`, `vcjax._kernels.near`.

Far: with F = n x B and s = n.B at the source and r = x - y, the field is a sum of r_m A_mk / r^3,
where A_mk = (e_m x F)_k - s delta_mk, and its gradient a sum of

    d_i (r_m / r^3) A_mk = {r^2 A_ik - 3 r_i r_m A_mk} / r^5.

Both terms are polynomials in x and y, so that a tile of (targets x sources) is one matrix of
w = 1/r^5 times a matrix of 32 columns: for a block of sources with centre c, y' = y - c and
g = s y' - y' x F,

    q,  q y'^2,  q y'_i  with q = (s, F),  and  g,  y'_i g.

Expanding squares of distances loses digits, about as many as (size of the block / r)^2 has: seven
where the centre is far from all sources, as the origin is. Therefore blocks are bounded in size.

Near: with the normal n at y, the gradient of the field's kernel is

    d_i {B x (n x r) - B (n.r)} / r^3 = B x (n x K_i) - (n.K_i) B,  K_im = d_i (r_m / r^3).

Its near part has K_im = N1(alpha r) delta_im / r^3 - 3 N2(alpha r) r_i r_m / r^5, where
N2(t) = N1(t) + 4 t^3 exp(-t^2) / (3 sqrt(pi)). For each i it takes four weights of a patch node,
V_i = n x K_i and s_i = n.K_i; the field takes four in all.

The integral is meant in Hadamard's finite part. Along a ray rho from the target the integrand is
a/rho^2 + b/rho + ..., where b cancels against the opposite ray and a is the kernel of the tangent
plane. The radial rule sums 1/rho^2 to S, its finite part is -1: the centre of each patch gets
(-1 - S) times the tangent plane's kernel. The far kernel K - K_near is smooth; at r = 0 it is
4 alpha^3 / (3 sqrt(pi)) delta_im, which the punctured sum leaves out.
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

# Rounding grows with the number of nodes in a block: never more than this, whatever the caller
# allows. On W7-X at 12 digits 128, 1024 and 4096 leave 0.7, 2 and 9 times 1e-10 of max |grad B|;
# below 1024 a pair takes longer.
_LARGEST_BLOCK = 1024


def _moments(y: Float[Array, "3 n"], densities: Float[Array, "4 n"]) -> Float[Array, "32 n"]:
    s, *F = components(densities)
    g = stacked([s * a - b for a, b in zip(components(y), cross(components(y), F), strict=True)])
    square = (y**2).sum(axis=0)
    by_offset = [(y[:, None] * v).reshape(-1, y.shape[1]) for v in (densities, g)]
    return jnp.concatenate([densities, densities * square, g, *by_offset])


def _combine(x: Float[Array, "3 t"], m: Float[Array, "32 t"]) -> Float[Array, "3 3 t"]:
    """Return the gradient [i, k] at targets x (from the block's centre) of weighted moments."""
    q, q_square, g = m[:4], m[4:8], m[8:11]
    q_offset, g_offset = m[11:23].reshape(3, 4, -1), m[23:32].reshape(3, 3, -1)
    # r^2 q = (x - y)^2 q, and r x F - s r = x x F - s x + g.
    s, a, b, c = components(
        (x**2).sum(axis=0) * q - 2 * (x[:, None] * q_offset).sum(axis=0) + q_square
    )
    crossed = stacked(cross(components(x), components(q[1:]))) - q[0] * x + g
    q_rows = components(q_offset, 1)
    other = stacked(cross([v[None] for v in components(x)], q_rows[1:]), axis=1)
    other = other - q_rows[0][:, None] * x + g_offset
    # A_i = e_i x F - s e_i has the components -s, -F_b, F_a along i, a, b.
    isotropic = stacked([-s, -c, b, c, -s, -a, -b, a, -s]).reshape(3, 3, -1)
    return isotropic - 3 * (x[:, None] * crossed - other)


GRADIENT = Kernel("far_gradient", 5, _moments, _combine, rank=2, largest_block=_LARGEST_BLOCK)


def gradient_weights_at(
    nodes: Float[Array, "6 row column"], constants: GradientTables, rule: Rule
) -> Callable:
    """Return weights (s_i, V_i) as a function of targets: (row, columns) to (t, 12, patch).

    They belong to i = x, y, z. For the nodes see `field_weights_at`.
    """

    def patch_weights(patch, interpolation, polar_weights, rule):
        weights, alpha = split_weights(_near_kernel, patch, interpolation, polar_weights, rule)
        centre = _finite_part(patch, constants, rule) + _far_at_centre(patch, alpha, rule)
        return weights.at[:, :, weights.shape[2] // 2].add(centre) / (4 * np.pi)

    return weights_at(nodes, constants.field, rule, patch_weights)


def combine_gradient(
    b: Float[Array, "t 3 patch"], w: Float[Array, "t 12 patch"]
) -> Float[Array, "t 3 3"]:
    """Return the near part of the gradient [i, k] = d_i T_k."""
    moment = jnp.einsum("tjp,twp->tjw", b, w).reshape(-1, 3, 3, 4)
    values = [
        moment[:, i, :, 1 + j] - moment[:, j, :, 1 + i] - moment[:, k, :, 0] for k, i, j in AXES
    ]
    return stacked(values, axis=2)


def _near_kernel(nodes, weights, alpha, axis: int):
    """Return weights * near kernel, twelve values along an axis; zero where weights are."""
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
    """Return (n.K_i, n x K_i), i = x, y, z, for K_im = isotropic delta_im - directed r_i r_m."""
    n, at = components(normal, axis), components(r, axis)
    # Stacks are computed once, where selections would be wherever they are read.
    products = jnp.stack([dot(n, at), *cross(n, at)], axis)
    units = _units([isotropic * v for v in n], axis)
    rows = [
        u - jnp.expand_dims(directed * v, axis) * products for u, v in zip(units, at, strict=True)
    ]
    return jnp.concatenate(rows, axis)


def _units(normal: Sequence[Array], axis: int) -> list[Array]:
    """Return (n.e_i, n x e_i) for i = x, y, z, four values along an axis."""
    x, y, z = normal
    zero = jnp.zeros_like(x)
    rows = (x, zero, z, -y), (y, -z, zero, x), (z, y, -x, zero)
    return [stacked(row, axis) for row in rows]


def _finite_part(patch, constants: GradientTables, rule: Rule) -> Float[Array, "ttheta 12"]:
    """Return (-1 - S) times the tangent plane's kernel, summed over the angles of the polar rule.

    The plane is spanned by derivatives of the patch interpolation, as the polar nodes see it;
    derivatives of the surface would leave ten times more rounding error.
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
    """Return the far kernel at r = 0."""
    normal = patch[:, 3:, rule.reach_phi, rule.reach_theta]
    units = jnp.concatenate(_units(components(normal, 1), axis=1), axis=1)
    return (4 / (3 * np.sqrt(np.pi))) * alpha**3 * units
