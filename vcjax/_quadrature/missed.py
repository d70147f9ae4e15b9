"""Estimate the parts of a field that its grid and the interpolation on patches miss."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from vcjax._geometry import symmetry
from vcjax._geometry.foot import Foot
from vcjax._quadrature.rule import Rule
from vcjax._quadrature.spectrum import BETWEEN_NODES, amplitudes, last_modes, missed_values

_MISSED_WAVES = 0.1
"""Waves that advance by fewer turns than this from node to node have negligible interpolation
errors."""


def unresolved(samples: Any, rule: Rule, xp: Any):
    """Estimate the errors that the grid of B and the interpolation of B on patches cause.

    The samples (3, n, m) are co-rotating components of one period of B on its own grid. The results
    are the errors `tails` (2,) of the grid of B along phi and theta, and the errors `missed` (n, m)
    of the interpolation. All errors are relative to max |B|, and are not differentiated.
    `unresolved_at` gives the effect of these errors at points off the surface.

    `missed` is the largest error within half a patch radius of each sample. Beyond half the radius,
    the near kernel is small. If the rule is for points off the surface, `missed` is multiplied by
    `BETWEEN_NODES`.
    """
    samples = samples if xp is np else lax.stop_gradient(samples)
    largest = xp.sqrt((samples**2).sum(axis=0).max())
    largest = xp.where(largest > 0, largest, 1.0)
    tails = [last_modes(share) for share in amplitudes(samples, xp)]
    nodes = rule.period_rows, rule.quad_ntheta
    missed = xp.maximum(
        *(
            missed_values(samples, axis, 1 / each, count, xp)
            for axis, each, count in zip((1, 2), nodes, rule.stencil_counts, strict=True)
        )
    )
    for axis, each, patch in zip((0, 1), nodes, (rule.patch_phi, rule.patch_theta), strict=True):
        count = missed.shape[axis]
        missed = _largest_around(missed, axis, math.ceil(0.5 * patch * count / each), xp)
    between = BETWEEN_NODES if rule.core_count else 1.0
    return xp.stack(tails) / largest, between * missed / largest


def _largest_around(values, axis: int, reach: int, xp: Any):
    """Return the maximum of each value and `reach` values on either side, along a periodic axis."""
    width, count = 1, min(2 * reach + 1, values.shape[axis])
    while width < count:
        shift = min(width, count - width)
        values = xp.maximum(values, xp.roll(values, shift, axis))
        width += shift
    return xp.roll(values, -reach, axis)


def unresolved_at(foot: Foot, unresolved, spacing, rule: Rule):
    """Return the effect of the errors from `unresolved` at n points off the surface.

    The results are relative to max |B|: the errors (n, 2) that the grid of B causes along phi and
    theta, and the errors (n,) that the interpolation on patches causes. `spacing` is the largest
    distance between neighbouring nodes.

    Around a cylinder of radius a, the field of mode m decays like (1 + d/a)^-m with the distance d
    from the cylinder. Here m is the second-highest mode of the grid of B, and the circumference
    2 pi a is `spacing` times the number of nodes along phi or theta. The near kernel of a patch
    decays like exp(-(alpha d)^2), with its cut-off rate alpha (`vcjax._kernels.near`), and is 0
    beyond the radius of the patch. The field of a wave on the surface decays like exp(-2 pi w d/h).
    Here w (`_MISSED_WAVES`) is the number of turns of the wave from node to node, and h is the
    distance between nodes. The error of the interpolation is taken at the sample of B nearest to
    the foot.
    """
    tails, missed = unresolved
    grid = np.array([rule.src_shape[0] * rule.images, rule.src_shape[1]])
    modes = np.maximum(grid / 2 - [rule.nfp, 1], 0.0)
    lengths = spacing * np.array([rule.quad_nphi, rule.quad_ntheta], dtype=float)
    fading = (1 + 2 * np.pi * foot.distance[:, None] / lengths) ** -modes
    away = foot.distance / foot.spacing
    near = away / (rule.cutoff**2 / np.pi)
    fading_waves = jnp.exp(-((rule.cutoff * near) ** 2) - 2 * np.pi * _MISSED_WAVES * away)
    patches = jnp.where(near < 1, fading_waves, 0.0)
    rows, columns = missed.shape
    start, step = symmetry.field_angles(rows, rule.nfp, rule.half_period)
    row = jnp.rint((rule.first_angle - start + rule.spacing[0] * foot.u) / step).astype(int)
    column = jnp.rint(foot.v * (columns / rule.quad_ntheta)).astype(int)
    return tails * fading, missed[row % rows, column % columns] * patches
