"""Inputs and checks that the operations share; what takes long to make is made once a process."""

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
POINT_COUNT = 400  # more than a tile has
DISTANCE = 0.04  # where no point needs a patch of its own
ROUNDING = 1e-11
"""Violations of an identity below this are rounding, and reported as this."""
ROUNDING_OF_GRADIENTS = 1e-6  # the finite part is what large numbers leave


@functools.cache
def rule(*, gradient: bool = False) -> vcjax.Rule:
    """Return the rule of the problem, for fields or for gradients."""
    return preparing.choose(PROBLEM(), GRADIENT if gradient else FIELD)


@functools.cache
def off_surface_rule() -> vcjax.Rule:
    """Return the rule of the problem for points off the surface."""
    problem = PROBLEM()
    return vcjax.choose_off_surface(
        problem.X, problem.B, DIGITS, nfp=problem.nfp, half_period=problem.half_period
    )


def surface() -> jax.Array:
    """Return the points of the surface, (nphi, ntheta, 3)."""
    return jnp.asarray(PROBLEM().X)


def total() -> jax.Array:
    """Return the total field, (src_nphi, src_ntheta, 3)."""
    return jnp.asarray(PROBLEM().B)


def points(count: int = POINT_COUNT) -> jax.Array:
    """Return points on both sides of the surface, (count, 3)."""
    return jnp.asarray(points_at_distance(PROBLEM(), DISTANCE, count))


@functools.cache
def casing(**options: Any) -> vcjax.Casing:
    """Return the prepared surface; `options` of `vcjax.prepare`, hashable."""
    return vcjax.prepare(rule(), PROBLEM().X, **options)


@functools.cache
def gradient_casing() -> vcjax.GradientCasing:
    """Return the surface prepared for gradients."""
    return vcjax.prepare_gradient(rule(gradient=True), PROBLEM().X)


@functools.cache
def off_surface_casing() -> vcjax.OffSurfaceCasing:
    """Return the surface prepared for points off it."""
    return vcjax.prepare_off_surface(off_surface_rule(), PROBLEM().X)


def violation(found: Any, expected: Any, floor: float = ROUNDING) -> float:
    """Return the largest difference of two pytrees over the largest number, at least `floor`.

    NaN counts as equal to NaN alone.
    """
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    worst = floor
    for one, other in pairs:
        one, other = np.asarray(one, float), np.asarray(other, float)
        if not np.array_equal(np.isnan(one), np.isnan(other)):
            return np.nan
        largest = max(float(np.nanmax(np.abs(other), initial=0.0)), 1e-300)
        worst = max(worst, float(np.nanmax(np.abs(one - other), initial=0.0)) / largest)
    return worst


def linearity(
    run: Callable[..., Any], *arguments: Any, floor: float = ROUNDING
) -> dict[str, float]:
    """Return how far a program is from linear in its second argument, a field.

    Fields scaled by 3 are rounded differently, so that a step in single precision shows as 1e-8
    whatever the digits of the answer.
    """
    first, field, *rest = arguments
    once = jax.tree.map(lambda leaf: leaf * 3.0, run(first, field, *rest))
    return {"linearity_error_relative": violation(run(first, field * 3.0, *rest), once, floor)}
