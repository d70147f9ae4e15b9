"""Fix a program until it matches the locked version.

This file has the function `field` of lesson 6 with two regressions. The first version of `field`
was locked. The check compares your program with the locked version. Captured bytes, equations,
instructions and all other quantities should be the same.
"""

import jax
import jax.numpy as jnp

ANGLE = jnp.linspace(0.0, 2 * jnp.pi, 1025)
CORNERS = jnp.stack([jnp.cos(ANGLE), jnp.sin(ANGLE), 0.1 * jnp.sin(3 * ANGLE)], axis=-1)


def segment_field(start, end, point):
    # J. D. Hanson, S. P. Hirshman, Phys. Plasmas 9 (2002) 4410.
    along = end - start
    length = jnp.linalg.norm(along)
    to_start, to_end = point - start, point - end
    near, far = jnp.linalg.norm(to_start), jnp.linalg.norm(to_end)
    size = 2 * (near + far) / (near * far) / ((near + far) ** 2 - length**2)
    return size * jnp.cross(along, to_start)


def field(points, corners, current):
    def at(point):
        over = jax.vmap(segment_field, (0, 0, None))
        parts = [over(CORNERS[k:-1:4], CORNERS[k + 1 :: 4], point).sum(axis=0) for k in range(4)]
        return parts[0] + parts[1] + parts[2] + parts[3]

    return 1e-7 * current * jax.lax.map(at, points)
