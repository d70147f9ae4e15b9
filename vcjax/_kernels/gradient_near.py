"""The near part of the gradient: the splitting of `_near`, for a kernel one power more singular.

With r = x - y and the normal n at y, the gradient of the field's kernel is

    d_i {B x (n x r) - B (n.r)} / r^3 = B x (n x K_i) - (n.K_i) B,  K_im = d_i (r_m / r^3).

Its near part has K_im = N1(alpha r) delta_im / r^3 - 3 N2(alpha r) r_i r_m / r^5, where
N2(t) = N1(t) + 4 t^3 exp(-t^2) / (3 sqrt(pi)). For each i it takes four weights of a patch node,
V_i = n x K_i and s_i = n.K_i, where the field takes four in all.

The integral is meant in Hadamard's finite part. Along a ray rho from the target the integrand is
a/rho^2 + b/rho + ..., where b cancels against the opposite ray and a is the kernel of the tangent
plane. The radial rule sums 1/rho^2 to S, its finite part is -1: the centre of each patch gets
(-1 - S) times the tangent plane's kernel. The far kernel K - K_near is smooth; at r = 0 it is
4 alpha^3 / (3 sqrt(pi)) delta_im, which the punctured sum leaves out.
"""

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from vcjax._geometry.resample import equispaced
from vcjax._kernels.near import field_split, split_weights, weights_at
from vcjax._quadrature.gradient_tables import GradientTables
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.tables import radii


def gradient_weights_at(
    points: Float[Array, "3 row column"],
    area_normals: Float[Array, "3 row column"],
    constants: GradientTables,
    rule: Rule,
) -> Callable:
    """Weights (V_i, s_i), i = x, y, z in the frame of the target row, of every patch node, as a
    function of targets: (row, columns) to (t, 12, patch).

    Parameters
    ----------
    points, area_normals : co-rotating components of one period; normals carry the area of their
        node.
    """

    def patch_weights(patch, interpolation, polar_weights, rule):
        weights, alpha = split_weights(_kernel, patch, interpolation, polar_weights, rule)
        centre = _finite_part(patch, constants, rule) + _far_at_centre(patch, alpha, rule)
        return weights.at[:, :, weights.shape[2] // 2].add(centre) / (4 * np.pi)

    return weights_at(points, area_normals, constants.field, rule, patch_weights)


def combine_gradient(
    b: Float[Array, "t 3 patch"], w: Float[Array, "t 12 patch"]
) -> Float[Array, "t 3 3"]:
    """The near part of the gradient [i, k] = d_i T_k."""
    moment = jnp.einsum("tjp,twp->jwt", b, w).reshape(3, 3, 4, -1)
    curl = [moment[a, :, b] - moment[b, :, a] for a, b in ((1, 2), (2, 0), (0, 1))]
    return jnp.stack([c - moment[k, :, 3] for k, c in enumerate(curl)]).transpose(2, 1, 0)


def _kernel(offset, normal, weights, alpha, axis: int):
    """weights * near kernel, twelve values along an axis; zero where weights are."""
    square = (offset**2).sum(axis=axis)
    square = jnp.where(weights == 0, 1.0, square)
    distance = jnp.sqrt(square)
    t = alpha * distance
    first = field_split(t)
    second = first + (4 / (3 * np.sqrt(np.pi))) * t**3 * jnp.exp(-t * t)
    cubed = weights / (square * distance)
    return _twelve(offset, normal, cubed * first, 3 * cubed / square * second, axis)


def _twelve(offset, normal, isotropic, directed, axis: int):
    """(n x K_i, n.K_i) for i = x, y, z, where K_im = isotropic delta_im - directed r_i r_m."""
    r = [lax.index_in_dim(offset, i, axis, keepdims=False) for i in range(3)]
    n = [lax.index_in_dim(normal, i, axis, keepdims=False) for i in range(3)]
    values = []
    for i in range(3):
        along = directed * r[i]
        K = [isotropic - along * r[m] if m == i else -along * r[m] for m in range(3)]
        values += [n[a] * K[b] - n[b] * K[a] for a, b in ((1, 2), (2, 0), (0, 1))]
        values.append(sum(n[m] * K[m] for m in range(3)))
    return jnp.stack(values, axis=axis)


def _finite_part(patch, constants: GradientTables, rule: Rule) -> Float[Array, "ttheta 12"]:
    """(-1 - S) times the tangent plane's kernel, summed over the angles of the polar rule.

    The plane is spanned by derivatives of the patch interpolation itself, as the polar nodes see
    it: with those of the surface ten times more rounding error would be left.
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
    """The far kernel at r = 0."""
    normal = patch[:, 3:, rule.reach_phi, rule.reach_theta]
    rate = (4 / (3 * np.sqrt(np.pi))) * alpha[:, 0] ** 3
    return _twelve(jnp.zeros_like(normal), normal, rate, jnp.zeros_like(rate), axis=1)
