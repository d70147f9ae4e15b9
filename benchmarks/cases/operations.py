"""Cases of vcjax's operations, for profiles of compiles and for the lock file.

A casing in the arguments of a case has shapes and types but no values. The lock file
``jaxmeter.lock.toml`` has exact quantities, such as bytes and counts, of the programs of
`prepare`, `field` and `gradient` for W7-X at three digits. ``jaxmeter lock --check`` compiles
these programs in a few seconds and compares their quantities with the lock file.
"""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp

import vcjax
from benchmarks.cases.preparing import choose
from benchmarks.cases.quantities import FIELD, GRADIENT, Quantity
from benchmarks.workloads.casing import problem_named
from jaxmeter import Case

jax.config.update("jax_enable_x64", True)


def prepare(*, workload: str = "w7x", digits: int = 3) -> Case:
    """Return the case that prepares a surface for evaluating the field."""
    return _preparation(FIELD, workload, digits)


def field(*, workload: str = "w7x", digits: int = 3) -> Case:
    """Return the case that evaluates the external field on a prepared surface."""
    return _evaluation(FIELD, workload, digits)


def gradient(*, workload: str = "w7x", digits: int = 3) -> Case:
    """Return the case that evaluates the gradient of the external field on a prepared surface."""
    return _evaluation(GRADIENT, workload, digits)


def gradient_in_X(*, workload: str = "w7x", digits: int = 3) -> Case:
    """Return the case that differentiates the sum of squares of the external field.

    The derivative is with respect to the surface points X.
    """
    preparation = _preparation(FIELD, workload, digits)
    X, tables = preparation.args

    def value(X, B, tables):
        return (FIELD.evaluate(preparation.fn(X, tables), B) ** 2).sum()

    B = jnp.asarray(problem_named(workload, digits=digits).B)
    return Case(jax.grad(value), (X, B, tables))


def _preparation(quantity: Quantity, workload: str, digits: int) -> Case:
    problem = problem_named(workload, digits=digits)
    with warnings.catch_warnings():  # the values of the field do not matter here
        warnings.simplefilter("ignore", vcjax.UnresolvedWarning)
        rule = choose(problem, quantity)

    def prepare(X, constants):
        return quantity.prepare(rule, X, constants=constants)

    return Case(prepare, (jnp.asarray(problem.X), quantity.tables(rule)))


def _evaluation(quantity: Quantity, workload: str, digits: int) -> Case:
    preparation = _preparation(quantity, workload, digits)
    casing = jax.eval_shape(preparation.fn, *preparation.args)
    B = jnp.asarray(problem_named(workload, digits=digits).B)
    return Case(quantity.evaluate, (casing, B))
