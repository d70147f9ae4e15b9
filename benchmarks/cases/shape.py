"""The case that differentiates a field with respect to the surface; it runs in worker processes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import vcjax
from benchmarks.cases import preparing
from benchmarks.cases.quantities import WrongAnswer
from benchmarks.workloads.casing import problem_named
from jaxmeter import Case, peak_rss_bytes

COMPARISONS = 5
# Forward and reverse mode compute the same number in two ways: only rounding may differ.
LARGEST_DIFFERENCE = 1e-10


def shape_gradient(*, workload: str, digits: int) -> Case:
    """Return the case that differentiates a scalar with respect to the surface points.

    The scalar is a weighted sum of squares of the external field. The check of the case runs after
    all samples. It times the scalar and its gradient alternately. It also computes the derivative
    along one direction twice, from the gradient and by forward mode, and compares the two values.
    """
    problem = problem_named(workload, digits=digits)
    rule, extras = preparing.chosen(problem)
    weight = np.random.default_rng(0).normal(size=(*rule.trg_shape, 3))
    given = jnp.asarray(problem.B), jnp.asarray(weight), vcjax.tables(rule)

    def value(X, B, weight, constants):
        casing = vcjax.prepare(rule, X, constants=constants)
        return (weight * vcjax.external_field(casing, B) ** 2).sum()

    gradient = jax.jit(jax.grad(value))
    X = jnp.asarray(problem.X)

    def check(found) -> dict[str, float]:
        # Read the peak of the gradient alone, before anything else is compiled.
        peak = peak_rss_bytes()
        along = 0.1 * X * jnp.cos(problem.nfp * jnp.arctan2(X[..., 1:2], X[..., :1]))
        slope = jax.jit(lambda X, along, *rest: _slope(value, X, along, *rest))(X, along, *given)
        difference = float(jnp.abs((found * along).sum() / slope - 1))
        if not difference <= LARGEST_DIFFERENCE:
            raise WrongAnswer(
                f"{workload}: the derivatives by forward and reverse mode differ by "
                f"{difference:.1e}, limit {LARGEST_DIFFERENCE:.0e}"
            )
        forward = jax.jit(value)
        jax.block_until_ready(forward(X, *given))
        ours, theirs = preparing.timed_interleaved(
            lambda: forward(X, *given), lambda: gradient(X, *given), COMPARISONS
        )
        return {
            "value_seconds": ours.wall_seconds,
            "gradient_seconds": theirs.wall_seconds,
            "modes_error_relative": difference,
            "process_peak_bytes": float(peak),
        }

    nodes = float(rule.quad_nphi * rule.quad_ntheta)
    return Case(fn=gradient, args=(X, *given), check=check, extras={**extras, "node_count": nodes})


def _slope(value, X, along, *rest):
    """Return the derivative of `value` along a direction, by forward mode."""
    return jax.jvp(lambda X: value(X, *rest), (X,), (along,))[1]
