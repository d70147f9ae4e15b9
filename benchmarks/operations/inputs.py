"""Inputs and checks of the operations; expensive inputs are made only once in a process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import vcjax
from benchmarks.cases import preparing
from benchmarks.cases.off_surface import points_at_distance
from benchmarks.cases.quantities import FIELD, GRADIENT
from vcjax import problems

DIGITS = 4
PROBLEM = functools.partial(problems.rotating_ellipse, DIGITS)
POINT_COUNT = 400  # on CPUs, more points than a tile has
DISTANCE = 0.04  # at this distance some points need a patch of their own
ROUNDING = 1e-11
"""Smaller violations of an identity are rounding, and are reported as this value."""
# The limit for gradients is larger, because a gradient is the finite part of an integral: a
# difference of large numbers.
ROUNDING_OF_GRADIENTS = 1e-6


@functools.cache
def rule(*, gradient: bool = False) -> vcjax.Rule:
    """Return the quadrature rule for the operations' surface, for fields or for gradients."""
    return preparing.choose(PROBLEM(), GRADIENT if gradient else FIELD)


@functools.cache
def off_surface_rule(**options: Any) -> vcjax.Rule:
    """Return the rule for points off the surface, with hashable options of `choose_off_surface`."""
    return preparing.choose_off_surface(PROBLEM(), **options)


def surface() -> jax.Array:
    """Return the points of the surface, shape (nphi, ntheta, 3)."""
    return jnp.asarray(PROBLEM().X)


def total() -> jax.Array:
    """Return the total field, shape (src_nphi, src_ntheta, 3)."""
    return jnp.asarray(PROBLEM().B)


def points(count: int = POINT_COUNT) -> jax.Array:
    """Return points on both sides of the surface, shape (count, 3)."""
    return jnp.asarray(points_at_distance(PROBLEM(), DISTANCE, count))


@functools.cache
def casing(**options: Any) -> vcjax.Casing:
    """Return the prepared surface; `options` are hashable keyword arguments of `vcjax.prepare`."""
    return vcjax.prepare(rule(), PROBLEM().X, **options)


@functools.cache
def gradient_casing() -> vcjax.GradientCasing:
    """Return the surface prepared for gradients."""
    return vcjax.prepare_gradient(rule(gradient=True), PROBLEM().X)


@functools.cache
def off_surface_casing(**options: Any) -> vcjax.OffSurfaceCasing:
    """Return the surface prepared for points off it, with the options of `off_surface_rule`."""
    return vcjax.prepare_off_surface(off_surface_rule(**options), PROBLEM().X)


def violation(found: Any, expected: Any, floor: float = ROUNDING) -> float:
    """Return the largest relative difference of two pytrees, but at least `floor`.

    Differences are relative to the largest absolute value of each array in `expected`. If any
    value is NaN or infinite, the result is NaN.
    """
    worst = floor
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        one, other = np.asarray(one, float), np.asarray(other, float)
        if not (np.isfinite(one).all() and np.isfinite(other).all()):
            return np.nan
        largest = max(float(np.abs(other).max(initial=0.0)), 1e-300)
        worst = max(worst, float(np.abs(one - other).max(initial=0.0)) / largest)
    return worst


def determined(external: jax.Array, internal: jax.Array, inside: jax.Array) -> jax.Array:
    """Return the external field at points inside the surface, and the internal field outside.

    The other field is NaN, and must not be differentiated. The arguments are attributes of
    `vcjax.OffSurface`.
    """
    return jnp.where(inside.reshape(-1, *[1] * (external.ndim - 1)), external, internal)


def linearity(
    run: Callable[..., Any], *arguments: Any, floor: float = ROUNDING
) -> dict[str, float]:
    """Check that a program is linear in its second argument, a field; return the relative error.

    The result for 3 times the field is compared with 3 times the result for the field. The two
    results have different rounding errors. If a part of the program computes in single precision,
    the difference is therefore about 1e-8, at any number of digits.
    """
    first, field, *rest = arguments
    once = jax.tree.map(lambda leaf: leaf * 3.0, run(first, field, *rest))
    return {"linearity_error_relative": violation(run(first, field * 3.0, *rest), once, floor)}
