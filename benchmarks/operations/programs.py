"""Programs of the operations: preparations, fields, gradients, matrices and self-tests."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import vcjax
from benchmarks.cases.off_surface import error_at
from benchmarks.operations import inputs
from benchmarks.operations.inputs import PROBLEM, determined, linearity, violation
from benchmarks.operations.table import Program, operation
from vcjax.problems import magnetic_field_gradient


def _evaluation(
    evaluate: Callable[..., Any], casing: Any, error: Callable[[Any], float]
) -> Program:
    arguments = (casing, inputs.total())
    is_gradient = isinstance(casing, vcjax.GradientCasing)
    floor = inputs.ROUNDING_OF_GRADIENTS if is_gradient else inputs.ROUNDING

    def check(answer, run):
        return {"error_relative": error(answer), **linearity(run, *arguments, floor=floor)}

    return Program(evaluate, arguments, check)


@operation("vcjax.external_field")
def external_field() -> Program:
    """Return the program that evaluates the external field on the surface."""
    return _evaluation(vcjax.external_field, inputs.casing(), PROBLEM().external_error)


@operation("vcjax.internal_field")
def internal_field() -> Program:
    """Return the program that evaluates the internal field on the surface."""
    return _evaluation(vcjax.internal_field, inputs.casing(), PROBLEM().internal_error)


@operation("vcjax.external_field")
def field_in_single_precision() -> Program:
    """Return the program that evaluates the external field, with the far field in float32."""
    evaluate = functools.partial(vcjax.external_field, far_dtype="float32")
    return _evaluation(evaluate, inputs.casing(), PROBLEM().external_error)


@operation("vcjax.prepare", "vcjax.external_field")
def field_of_streamed_weights() -> Program:
    """Return the program that computes the near weights and evaluates the external field."""
    casing = inputs.casing(near_weights="streamed")
    return _evaluation(vcjax.external_field, casing, PROBLEM().external_error)


@operation("vcjax.external_field")
def fields_of_a_batch() -> Program:
    """Return the program that evaluates a batch of three fields by ``vmap``."""

    def batch(casing, B):
        return jax.vmap(lambda one: vcjax.external_field(casing, one))(B)

    scales = (1.0, 2.0, 3.0)
    B = jnp.stack([inputs.total() * scale for scale in scales])
    casing, error = inputs.casing(), PROBLEM().external_error

    def check(answer, run):
        errors = [error(one / scale) for one, scale in zip(answer, scales, strict=True)]
        return {"error_relative": float(np.max(errors)), **linearity(run, casing, B)}

    return Program(batch, (casing, B), check)


@operation("vcjax.prepare", "vcjax.external_field")
def field_on_two_devices() -> Program:
    """Return the program that evaluates the external field, with targets on two virtual devices."""
    casing = vcjax.prepare(inputs.rule(), PROBLEM().X, devices=jax.devices()[:2])
    return _evaluation(vcjax.external_field, casing, PROBLEM().external_error)


@operation("vcjax.external_gradient")
def external_gradient() -> Program:
    """Return the program that evaluates the gradient of the external field."""
    error = PROBLEM().external_gradient_error
    return _evaluation(vcjax.external_gradient, inputs.gradient_casing(), error)


@operation("vcjax.internal_gradient")
def internal_gradient() -> Program:
    """Return the program that evaluates the gradient of the internal field."""
    error = PROBLEM().internal_gradient_error
    return _evaluation(vcjax.internal_gradient, inputs.gradient_casing(), error)


@operation("vcjax.prepare", "vcjax.tables")
def prepare() -> Program:
    """Return the program that prepares a traced surface for fields."""
    return _preparation(vcjax.prepare, inputs.rule(), vcjax.tables(inputs.rule()), 0)


@operation("vcjax.prepare_gradient", "vcjax.gradient_tables")
def prepare_gradient() -> Program:
    """Return the program that prepares a traced surface for gradients."""
    rule = inputs.rule(gradient=True)
    return _preparation(vcjax.prepare_gradient, rule, vcjax.gradient_tables(rule), -1)


@operation("vcjax.prepare_off_surface", "vcjax.off_surface_tables")
def prepare_off_surface() -> Program:
    """Return the program that prepares a traced surface for points off the surface."""
    rule = inputs.off_surface_rule()
    tables = vcjax.off_surface_tables(rule)
    return _preparation(vcjax.prepare_off_surface, rule, tables, 1, part="sources")


def _preparation(
    prepare: Callable[..., Any],
    rule: Any,
    constants: Any,
    degree: int,
    *,
    part: str = "near_weights",
) -> Program:
    """Return the program that prepares a traced surface.

    The attribute `part` of the prepared surface is proportional to a power of the surface's size,
    with the exponent `degree`. The check of the program returns the error of this relation.
    """

    def function(X, constants):
        return prepare(rule, X, constants=constants)

    X = inputs.surface()

    def check(answer, run):
        scaled = getattr(run(X * 3.0, constants), part) * 3.0**-degree
        return {"scaling_error_relative": violation(scaled, getattr(answer, part))}

    return Program(function, (X, constants), check)


@operation("vcjax.field_at")
def field_at() -> Program:
    """Return the program that evaluates fields at points on both sides of the surface."""
    return _at_points(vcjax.field_at, error_at)


@operation("vcjax.gradient_at")
def gradient_at() -> Program:
    """Return the program that evaluates gradients of fields, at the same points as `field_at`."""
    error = functools.partial(error_at, exact=magnetic_field_gradient)
    return _at_points(vcjax.gradient_at, error, gradient=True)


def _at_points(
    evaluate: Callable[..., Any], error: Callable[..., float], **options: Any
) -> Program:
    casing = inputs.off_surface_casing(**options)
    arguments = (casing, inputs.total(), inputs.points())

    def fields(casing, B, points):
        found = evaluate(casing, B, points)
        return found.external, found.internal, found.inside

    def check(answer, run):
        external, internal, inside = answer
        found = vcjax.OffSurface(external, internal, inside, inside, inside)
        casing, B, points = arguments
        scaled = determined(*run(casing, B * 3.0, points))
        return {
            "error_relative": error(PROBLEM(), np.asarray(points), found),
            "linearity_error_relative": violation(scaled, determined(*answer) * 3.0),
        }

    return Program(fields, arguments, check)


@operation("vcjax.dense_operator")
def dense_operator() -> Program:
    """Return the program that computes the matrix of the external field."""
    casing = inputs.casing()

    def check(answer, run):
        found = (answer @ inputs.total().ravel()).reshape(*inputs.rule().trg_shape, 3)
        field = vcjax.external_field(casing, inputs.total())
        return {
            "error_relative": PROBLEM().external_error(found),
            "matrix_error_relative": violation(found, field),
        }

    return Program(lambda casing: vcjax.dense_operator(casing).matrix, (casing,), check)


@operation("vcjax.DenseOperator.apply")
def apply_dense_operator() -> Program:
    """Return the program that multiplies a batch of fields by a random matrix."""
    src, trg = inputs.rule().src_shape, inputs.rule().trg_shape
    shape = 3 * trg[0] * trg[1], 3 * src[0] * src[1]
    matrix = jnp.asarray(np.random.default_rng(0).normal(size=shape))
    operator = vcjax.DenseOperator(src, trg, matrix)
    B = jnp.stack([inputs.total(), inputs.total()])

    def check(answer, run):
        return linearity(run, operator, B)

    return Program(lambda operator, B: operator.apply(B), (operator, B), check)


@operation("vcjax.self_test")
def self_test() -> Program:
    """Return the program that computes the error of the quadrature at each target."""
    return _self_test(inputs.casing())


@operation("vcjax.self_test")
def self_test_of_gradients() -> Program:
    """Return the program that computes the error of the gradient's quadrature at each target."""
    return _self_test(inputs.gradient_casing())


def _self_test(casing: Any) -> Program:
    def check(answer, run):
        return {"violation_error_relative": float(np.max(answer))}

    return Program(vcjax.self_test, (casing,), check)
