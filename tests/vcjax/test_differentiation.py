"""Derivatives in surface and field: modes agree, Hessians are right, memory is bounded.

The cut-off rates of the quadrature are not differentiated (see `vcjax._kernels.near`), so
derivatives lack the derivative of the quadrature error. Therefore derivatives agree with finite
differences to fewer digits than the rule has. Forward and reverse mode agree to rounding.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import rule_of
from vcjax import problems

# Derivatives of coarse problems are compared with each other.
pytestmark = pytest.mark.filterwarnings("ignore::vcjax.UnresolvedWarning")

STEP = 1e-4
WEIGHT = np.random.default_rng(0).normal(size=(20, 16, 3))
PROBLEM = problems.axisymmetric(5, shape=(6, 20), src_shape=(6, 20), trg_shape=(20, 16))
X, B = AT = PROBLEM.X, PROBLEM.B
PHI, Z = np.arctan2(X[..., 1], X[..., 0])[..., None], X[..., 2:]
ALONG = 0.1 * X * (1 + np.cos(PHI) + Z), B * (np.sin(PHI) + 0.2 * Z)
"""Smooth changes of surface and field, without the symmetry of the problem."""


@cache
def rule():
    return rule_of(PROBLEM, 5)


@cache
def constants():
    return vcjax.tables(rule())


def field(X, B, constants):
    casing = vcjax.prepare(rule(), X, constants=constants)
    return vcjax.external_field(casing, B, chunk_size=512, target_chunk_size=32)


def scalar(X, B, constants):
    return (WEIGHT * field(X, B, constants) ** 2).sum()


@jax.jit
def change(at, along, constants):
    """Return the field, and its change along directions of surface and field, in forward mode."""
    return jax.jvp(lambda X, B: field(X, B, constants), at, along)


@cache
def gradient():
    """Return the compiled program of the gradient in surface and field."""
    return jax.jit(jax.grad(scalar, argnums=(0, 1))).lower(*AT, constants()).compile()


@jax.jit
def hessian(along, constants):
    """Multiply the Hessian by a direction, in forward mode over reverse mode."""
    at_point = jax.grad(lambda X, B: scalar(X, B, constants), argnums=(0, 1))
    return jax.jvp(at_point, AT, along)[1]


def moved(step):
    return [x + step * d for x, d in zip(AT, ALONG, strict=True)]


def dot(left, right):
    return sum(float((a * b).sum()) for a, b in zip(left, right, strict=True))


def test_forward_and_reverse_mode_agree():
    value, slope = change(AT, ALONG, constants())
    reverse = dot(gradient()(*AT, constants()), ALONG)
    np.testing.assert_allclose(reverse, float((2 * WEIGHT * value * slope).sum()), rtol=1e-10)


def test_the_derivative_by_the_size_of_the_surface_is_nearly_zero():
    """If X is scaled and B stays the same, the external field at the targets stays the same.

    The derivative by the size of the surface is therefore zero. A uniform field is entirely
    external, so its error is the error of the quadrature. Here this error is at most a tenth of the
    requested error. The error depends on the cut-off rate alpha like exp(-T^2), with
    T = `rule.cutoff` proportional to alpha. Without the derivative of alpha, derivatives are wrong
    by at most 2 T^2 times the largest error.
    """
    uniform = np.zeros_like(B) + np.array([0.0, 0.0, 1.0])
    value, slope = change((X, uniform), (X, 0 * uniform), constants())
    assert jnp.abs(value - uniform[0, 0]).max() <= 1e-6
    assert jnp.abs(slope).max() <= 2 * rule().cutoff ** 2 * 1e-6


def test_the_gradient_agrees_with_finite_differences():
    value = jax.jit(scalar)
    after, before = (value(*moved(s * STEP), constants()) for s in (1, -1))
    difference = float(after - before) / (2 * STEP)
    np.testing.assert_allclose(dot(gradient()(*AT, constants()), ALONG), difference, rtol=1e-4)


def test_the_hessian_agrees_with_finite_differences():
    sides = [gradient()(*moved(s * STEP), constants()) for s in (1, -1)]
    for after, before, product in zip(*sides, hessian(ALONG, constants()), strict=True):
        difference = (after - before) / (2 * STEP)
        assert jnp.abs(difference - product).max() <= 1e-3 * jnp.abs(difference).max()


def test_the_hessian_is_symmetric():
    other = X * np.array([0.0, 0.0, 0.3]), 0.5 * B[::-1]
    one, two = (hessian(along, constants()) for along in (other, ALONG))
    np.testing.assert_allclose(dot(one, ALONG), dot(two, other), rtol=1e-9)


@pytest.mark.cpu
def test_the_gradient_keeps_less_than_one_number_for_each_pair():
    """Tiles and rows are recomputed. A stored kernel would have a number for each pair."""
    pairs = rule().quad_nphi * rule().quad_ntheta * rule().trg_shape[0] * rule().trg_shape[1]
    memory = gradient().memory_analysis()
    assert memory is not None and memory.temp_size_in_bytes < 8 * pairs
