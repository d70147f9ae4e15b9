"""The case that computes the gradient of a scalar with respect to the surface points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import vcjax
from benchmarks.cases import preparing
from benchmarks.cases.quantities import WrongAnswer
from benchmarks.workloads.casing import problem_named
from jaxmeter import Case, peak_rss_bytes
from vcjax.problems import Problem

COMPARISONS = 5
# Forward and reverse mode compute the same number in two ways: only rounding may differ.
LARGEST_DIFFERENCE = 1e-10


def shape_gradient(*, workload: str, digits: int) -> Case:
    """Return the case that differentiates a scalar with respect to the surface points.

    The scalar is a weighted sum of squares of the external field. The check of the case runs after
    the measured calls of the gradient. The check times the scalar and the gradient alternately. It
    also computes the derivative of the scalar along one direction twice, from the gradient and by
    forward mode, and compares the two values.
    """
    problem = problem_named(workload, digits=digits)
    rule, extras = preparing.chosen(problem)
    value, arguments = scalar_of_field(problem, rule)
    gradient = jax.jit(jax.grad(value))

    def check(found) -> dict[str, float]:
        # Read the peak memory now, because only the gradient has been compiled so far.
        peak = peak_rss_bytes()
        difference = modes_difference(problem, value, arguments, found)
        if not difference <= LARGEST_DIFFERENCE:
            raise WrongAnswer(
                f"{workload}: the derivatives by forward and reverse mode differ by "
                f"{difference:.1e}; the limit is {LARGEST_DIFFERENCE:.0e}"
            )
        forward = jax.jit(value)
        jax.block_until_ready(forward(*arguments))
        ours, theirs = preparing.timed_interleaved(
            lambda: forward(*arguments), lambda: gradient(*arguments), COMPARISONS
        )
        return {
            "value_seconds": ours.wall_seconds,
            "gradient_seconds": theirs.wall_seconds,
            "modes_error_relative": difference,
            "process_peak_bytes": float(peak),
        }

    return Case(fn=gradient, args=arguments, check=check, extras=extras)


def scalar_of_field(
    problem: Problem,
    rule: vcjax.Rule,
    *,
    prepare: Callable[..., Any] = vcjax.prepare,
    evaluate: Callable[..., Any] = vcjax.external_field,
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return a function that computes a scalar, and the arguments of this function.

    The scalar is a weighted sum of squares of the field that `prepare` and `evaluate` compute. The
    first argument of the function is the array of surface points.
    """
    weight = np.random.default_rng(0).normal(size=(*rule.trg_shape, 3))

    def value(X, B, weight, constants):
        casing = prepare(rule, X, constants=constants)
        return (weight * evaluate(casing, B) ** 2).sum()

    return value, (*map(jnp.asarray, (problem.X, problem.B, weight)), vcjax.tables(rule))


def modes_difference(
    problem: Problem, value: Callable[..., Any], arguments: tuple[Any, ...], gradient: jax.Array
) -> float:
    """Return the relative difference between a scalar's derivatives by reverse and forward mode.

    Both derivatives are along one direction. The derivative by reverse mode is computed from
    `gradient`. `value` and `arguments` are the results of `scalar_of_field`.
    """
    X, *rest = arguments
    along = 0.1 * X * jnp.cos(problem.nfp * jnp.arctan2(X[..., 1:2], X[..., :1]))

    @jax.jit
    def slope(X, along, *rest):
        return jax.jvp(lambda X: value(X, *rest), (X,), (along,))[1]

    return float(jnp.abs((gradient * along).sum() / slope(X, along, *rest) - 1))
