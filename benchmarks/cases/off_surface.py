"""The case that evaluates fields at points that all have the same distance from the surface."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

import vcjax
from benchmarks.cases import preparing
from benchmarks.cases.quantities import WrongAnswer
from benchmarks.workloads.casing import problem_named
from jaxmeter import Case
from vcjax.problems import Problem, magnetic_field


def fields_at_distance(*, workload: str, digits: int, distance: float, point_count: int) -> Case:
    """Return the case that evaluates the external and internal field near the surface.

    The `point_count` points lie on both sides of the surface, all at the same `distance` from the
    surface, in metres.
    """
    problem = problem_named(workload, digits=digits)
    rule = preparing.choose_off_surface(problem)
    casing = vcjax.prepare_off_surface(rule, jnp.asarray(problem.X))
    points = points_at_distance(problem, distance, point_count)

    def check(found: vcjax.OffSurface) -> dict[str, float]:
        error = error_at(problem, points, found)
        if not error <= 10.0 ** (1 - digits):
            raise WrongAnswer(
                f"{workload} at distance {distance:g}: the error is {error:.2e}; "
                f"the limit at {digits} digits is {10.0 ** (1 - digits):.0e}"
            )
        return {"error_relative": error, "estimate_relative": float(np.max(found.error))}

    arguments = casing, jnp.asarray(problem.B), jnp.asarray(points)
    return Case(fn=vcjax.field_at, args=arguments, check=check)


def points_at_distance(
    problem: Problem, distance: float, count: int, *, inside: bool = False
) -> np.ndarray:
    """Return points at a distance from the surface: on both sides, or only inside the surface.

    A grid on the surface has 8 values of phi. Each returned point lies on the surface normal at a
    grid point. `distance` has the unit of the surface points. The result has the shape (count, 3).
    """
    options = {**preparing.symmetry(problem), "nphi": 8, "ntheta": -(-count // 8)}
    x = vcjax.surface_points(problem.X, **options)
    normal = np.cross(*vcjax.surface_tangents(problem.X, **options))
    normal *= np.sign((normal * x).sum()) / np.linalg.norm(normal, axis=2, keepdims=True)
    grid = x.shape[:2]
    sides = -np.ones(grid) if inside else (-1.0) ** np.indices(grid).sum(axis=0)
    return (x + distance * sides[:, :, None] * normal).reshape(-1, 3)[:count]


def error_at(
    problem: Problem,
    points: np.ndarray,
    found: vcjax.OffSurface,
    exact: Callable[..., np.ndarray] = magnetic_field,
) -> float:
    """Return the largest error at the points, divided by the largest component of the total field.

    The external field is compared at points inside the surface, and the internal field at points
    outside. ``exact(sources, points)`` returns the known field of given sources. If `found` has
    gradients of the fields, `exact` must return the gradient of the known field.
    """
    external, internal = (exact(sources, points) for sources in (problem.outside, problem.inside))
    inside = np.asarray(found.inside).reshape(-1, *[1] * (external.ndim - 1))
    missed = np.where(inside, found.external - external, found.internal - internal)
    return float(np.abs(missed).max() / np.abs(problem.B).max())
