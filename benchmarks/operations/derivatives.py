"""Programs that differentiate a scalar with respect to the field, the surface or the points.

The scalar is half the squared norm (the sum of squares) of a computed field or gradient. In the
docstrings, B is the total field, X are the surface points, and "the points" lie off the surface.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import vcjax
from benchmarks.operations import inputs
from benchmarks.operations.inputs import ROUNDING, ROUNDING_OF_GRADIENTS, determined, violation
from benchmarks.operations.table import Program, operation


def _half_square(values: Any) -> Any:
    return 0.5 * sum((leaf**2).sum() for leaf in jax.tree.leaves(values))


def _scaled_alike(gradients: Any, values: Any, expected: float) -> float:
    """Return the relative error of sum(gradients * values): NaN, or at least `ROUNDING`.

    The error is the difference from `expected`, divided by the sum of the terms' absolute values.
    For a homogeneous function, the expected sum is the degree times the value of the function
    (Euler's theorem).
    """
    pairs = list(zip(jax.tree.leaves(gradients), jax.tree.leaves(values), strict=True))
    largest = sum(float(jnp.abs(g * v).sum()) for g, v in pairs)
    along = sum(float((g * v).sum()) for g, v in pairs)
    # `max` would lose a NaN.
    return float(np.maximum(ROUNDING, abs(along - expected) / largest))


def _in_the_field(evaluate: Callable[..., Any], casing: Any) -> Program:
    def value(B, casing):
        return _half_square(evaluate(casing, B))

    B = inputs.total()

    def check(answer, run):
        value, gradient = answer
        # The scalar is a quadratic form of B, so its derivative along B is twice its value.
        return {"slope_error_relative": _scaled_alike(gradient, B, 2.0 * float(value))}

    return Program(jax.value_and_grad(value), (B, casing), check)


@operation("vcjax.external_field")
def field_slope_in_the_field() -> Program:
    """Differentiate half the squared norm of the external field with respect to the field B."""
    return _in_the_field(vcjax.external_field, inputs.casing())


@operation("vcjax.internal_gradient")
def gradient_slope_in_the_field() -> Program:
    """Differentiate half the squared norm of the internal gradient with respect to the field B."""
    return _in_the_field(vcjax.internal_gradient, inputs.gradient_casing())


@operation("vcjax.prepare", "vcjax.external_field")
def field_slope_in_the_surface() -> Program:
    """Differentiate half the squared norm of the external field with respect to the surface X."""
    rule = inputs.rule()

    def value(X, B, constants):
        return _half_square(vcjax.external_field(vcjax.prepare(rule, X, constants=constants), B))

    return _in_the_points(value, inputs.surface(), vcjax.tables(rule), degree=0)


@operation("vcjax.prepare_gradient", "vcjax.external_gradient")
def gradient_slope_in_the_surface() -> Program:
    """Differentiate half the squared norm of the external gradient with respect to X."""
    rule = inputs.rule(gradient=True)

    def value(X, B, constants):
        casing = vcjax.prepare_gradient(rule, X, constants=constants)
        return _half_square(vcjax.external_gradient(casing, B))

    return _in_the_points(value, inputs.surface(), vcjax.gradient_tables(rule), degree=-2)


def _in_the_points(value: Callable[..., Any], given: Any, constants: Any, degree: int) -> Program:
    """Return the program that differentiates a scalar with respect to points.

    `given` is the surface points X, or the pair (points off the surface, X). The check returns the
    errors of two identities. First, the scalar is a homogeneous function of all points in `given`,
    and `degree` is its degree. Euler's theorem therefore holds up to the error of the quadrature.
    Second, the derivative is a quadratic function of the field B: if B is multiplied by 3, the
    derivative is multiplied by 9.
    """
    B = inputs.total()

    def check(answer, run):
        found, gradient = answer
        square = jax.tree.map(lambda leaf: leaf * 9.0, gradient)
        tripled = run(given, B * 3.0, constants)[1]
        return {
            "slope_error_relative": _scaled_alike(gradient, given, degree * float(found)),
            "linearity_error_relative": violation(tripled, square, ROUNDING_OF_GRADIENTS),
        }

    return Program(jax.value_and_grad(value), (given, B, constants), check)


@operation("vcjax.prepare_off_surface", "vcjax.field_at")
def field_slope_in_the_points() -> Program:
    """Differentiate half the squared norm of off-surface fields with respect to points and X."""
    rule = inputs.off_surface_rule()

    def value(given, B, constants):
        points, X = given
        casing = vcjax.prepare_off_surface(rule, X, constants=constants)
        return _half_square(determined(*vcjax.field_at(casing, B, points)[:3]))

    given = inputs.points(64), inputs.surface()
    return _in_the_points(value, given, vcjax.off_surface_tables(rule), degree=0)


@operation("vcjax.gradient_at")
def gradient_slope_in_the_points() -> Program:
    """Differentiate half the squared norm of off-surface gradients with respect to the points."""

    def value(points, B, casing):
        return _half_square(determined(*vcjax.gradient_at(casing, B, points)[:3]))

    casing = inputs.off_surface_casing(gradient=True)
    points, B = inputs.points(64), inputs.total()

    def check(answer, run):
        found, square = run(points, B * 3.0, casing)[1], answer[1] * 9.0
        return {"linearity_error_relative": violation(found, square, ROUNDING_OF_GRADIENTS)}

    return Program(jax.value_and_grad(value), (points, B, casing), check)
