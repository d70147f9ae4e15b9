"""The far part of the gradient: a punctured trapezoidal sum of the whole kernel, tile by tile.

With F = n x B and s = n.B at the source and r = x - y, the field is a sum of
r_m A_mk / r^3, where A_mk = (e_m x F)_k - s delta_mk, and its gradient one of

    d_i (r_m / r^3) A_mk = {r^2 A_ik - 3 r_i r_m A_mk} / r^5.

Both terms are polynomials in x and y, so that a tile of (targets x sources) is one matrix of
w = 1/r^5 times a matrix of 32 columns: for a block of sources with centre c, y' = y - c and
g = s y' - y' x F,

    q,  q y'^2,  q y'_i  with q = (s, F),  and  g,  y'_i g.

Expanding squares of distances loses digits, about as many as (size of the block / r)^2 has: seven
where the centre is far from all sources, as the origin is. Therefore blocks are bounded in size.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vcjax._geometry.resample import rotate
from vcjax._kernels.far import Kernel, source_blocks, turn_angles, turned_sum

# Rounding grows like the nodes in a block: never more than this, whatever the caller allows. On
# W7-X at 12 digits 128, 1024 and 4096 leave 0.7, 2 and 9 times 1e-10 of max |grad B|; below 1024 a
# pair takes longer.
_LARGEST_BLOCK = 1024


@jax.named_scope("far_gradient")
def far_gradient(
    targets: Float[Array, "t 3"],
    sources: Float[Array, "3 row column"],
    area_normals: Float[Array, "3 row column"],
    B: Float[Array, "3 row column"],
    *,
    nfp: int,
    aspect: float,
    chunk_size: int,
    target_chunk_size: int,
) -> Float[Array, "3 3 t"]:
    """Gradient [i, k] = d_i T_k of the far part, laboratory components.

    Parameters
    ----------
    targets : laboratory points; those that are sources must be exactly equal to them.
    sources, area_normals, B : laboratory components on one field period.
    aspect : rows over columns of a square on the surface, roughly.
    chunk_size, target_chunk_size : largest number of sources and targets of a tile.
    """
    largest = min(chunk_size, _LARGEST_BLOCK)
    blocks = source_blocks(sources, area_normals, B, largest, aspect)
    turned = turned_sum(_KERNEL, targets, blocks, nfp, target_chunk_size)
    return rotate_tensor(turned, turn_angles(nfp)).sum(axis=2) / (4 * np.pi)


def rotate_tensor(values: Float[Array, "3 3 n m"], angles: Float[Array, " n"]):
    """Rotate both indices about the z axis by angles (n,), one for each row."""

    def first(v):
        return jax.vmap(lambda column: rotate(column, angles, jnp), in_axes=1, out_axes=1)(v)

    return first(first(values).swapaxes(0, 1)).swapaxes(0, 1)


def _moments(y: Float[Array, "3 n"], densities: Float[Array, "4 n"]) -> Float[Array, "32 n"]:
    s, F = densities[:1], densities[1:]
    g = s * y - jnp.cross(y, F, axis=0)
    by_offset = [y[i] * v for v in (densities, g) for i in range(3)]
    return jnp.concatenate([densities, densities * (y**2).sum(axis=0), g, *by_offset])


def _combine(x: Float[Array, "3 t"], m: Float[Array, "32 t"]) -> Float[Array, "3 3 t"]:
    """Gradient [i, k] at targets x (from the block's centre) from the weighted moments."""
    q, q_square, g = m[:4], m[4:8], m[8:11]
    q_offset, g_offset = m[11:23].reshape(3, 4, -1), m[23:32].reshape(3, 3, -1)
    # r^2 q = (x - y)^2 q, and r x F - s r = x x F - s x + g.
    square = (x**2).sum(axis=0) * q - 2 * (x[:, None] * q_offset).sum(axis=0) + q_square
    crossed = jnp.cross(x, q[1:], axis=0) - q[0] * x + g
    rows = []
    for i in range(3):
        beside = jnp.cross(x, q_offset[i, 1:], axis=0) - q_offset[i, 0] * x + g_offset[i]
        a, b = (i + 1) % 3, (i + 2) % 3
        # A_i = e_i x F - s e_i has the components -s, -F_b, F_a along i, a, b.
        isotropic = jnp.roll(jnp.stack([-square[0], -square[1 + b], square[1 + a]]), i, axis=0)
        rows.append(isotropic - 3 * (x[i] * crossed - beside))
    return jnp.stack(rows)


_KERNEL = Kernel(5, _moments, _combine)
