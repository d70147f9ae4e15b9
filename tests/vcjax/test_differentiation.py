"""Derivatives in surface and field: modes agree, second order is right, memory is bounded.

The cut-off rates of the quadrature are not differentiated (see `vcjax._kernels.near`), so
derivatives lack the derivative of the quadrature error. They agree with finite differences to fewer
digits than the rule has. The modes of differentiation agree with each other to rounding.
"""

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


@pytest.fixture(scope="module")
def problem():
    return problems.axisymmetric(5, shape=(6, 20), src_shape=(6, 20), trg_shape=(20, 16))


@pytest.fixture(scope="module")
def rule(problem):
    return rule_of(problem, 5)


@pytest.fixture(scope="module")
def at(problem):
    return jnp.asarray(problem.X), jnp.asarray(problem.B)


@pytest.fixture(scope="module")
def along(problem):
    """Return smooth changes of surface and field, without the symmetry of the problem."""
    X, B = problem.X, problem.B
    phi, z = np.arctan2(X[..., 1], X[..., 0])[..., None], X[..., 2:]
    return jnp.asarray(0.1 * X * (1 + np.cos(phi) + z)), jnp.asarray(B * (np.sin(phi) + 0.2 * z))


@pytest.fixture(scope="module")
def field(rule):
    def field(X, B, constants):
        casing = vcjax.prepare(rule, X, constants=constants)
        return vcjax.external_field(casing, B, chunk_size=512, target_chunk_size=32)

    return field


@pytest.fixture(scope="module")
def scalar(field):
    return lambda X, B, constants: (WEIGHT * field(X, B, constants) ** 2).sum()


@pytest.fixture(scope="module")
def change(field, rule):
    """Return a function for the field and its change along directions of surface and field.

    It uses forward mode.
    """
    compiled = jax.jit(lambda at, along, c: jax.jvp(lambda *v: field(*v, c), at, along))
    return lambda at, along: compiled(at, along, vcjax.tables(rule))


@pytest.fixture(scope="module")
def gradient(scalar, rule, at):
    """Return the compiled program of the gradient in surface and field."""
    return jax.jit(jax.grad(scalar, argnums=(0, 1))).lower(*at, vcjax.tables(rule)).compile()


@pytest.fixture(scope="module")
def hessian(scalar, rule, at):
    """Return a function that multiplies the Hessian by a direction, forward over reverse."""

    @jax.jit
    def product(constants, along):
        def gradient(X, B):
            return jax.grad(scalar, argnums=(0, 1))(X, B, constants)

        return jax.jvp(gradient, at, along)[1]

    return lambda along: product(vcjax.tables(rule), along)


def moved(at, along, step):
    return [x + step * d for x, d in zip(at, along, strict=True)]


def dot(left, right):
    return sum(float((a * b).sum()) for a, b in zip(left, right, strict=True))


def test_forward_and_reverse_mode_agree(gradient, change, rule, at, along):
    value, slope = change(at, along)
    reverse = dot(gradient(*at, vcjax.tables(rule)), along)
    np.testing.assert_allclose(reverse, float((2 * WEIGHT * value * slope).sum()), rtol=1e-10)


def test_the_derivative_by_the_size_of_the_surface_is_nearly_zero(change, rule, at):
    """The principle has no unit of length: the derivative by the size of the surface is zero.

    A uniform field is all external, so its error is the error of the quadrature, here at most a
    tenth of the requested error. The error depends on the cut-off rate alpha like exp(-T^2), with
    T = `rule.cutoff` proportional to alpha. Without the derivative of alpha, derivatives are wrong
    by at most 2 T^2 times the largest error.
    """
    uniform = jnp.zeros_like(at[1]).at[..., 2].set(1.0)
    value, slope = change((at[0], uniform), (at[0], jnp.zeros_like(uniform)))
    error = jnp.abs(value - jnp.array([0.0, 0.0, 1.0])).max()
    assert error <= 1e-6
    assert jnp.abs(slope).max() <= 2 * rule.cutoff**2 * 1e-6


def test_the_gradient_agrees_with_finite_differences(scalar, gradient, rule, at, along):
    constants = vcjax.tables(rule)
    value = jax.jit(scalar)
    after, before = (value(*moved(at, along, s * STEP), constants) for s in (1, -1))
    difference = float(after - before) / (2 * STEP)
    np.testing.assert_allclose(dot(gradient(*at, constants), along), difference, rtol=1e-4)


def test_the_hessian_agrees_with_finite_differences(gradient, hessian, rule, at, along):
    constants = vcjax.tables(rule)
    sides = [gradient(*moved(at, along, s * STEP), constants) for s in (1, -1)]
    for after, before, product in zip(*sides, hessian(along), strict=True):
        difference = (after - before) / (2 * STEP)
        assert jnp.abs(difference - product).max() <= 1e-3 * jnp.abs(difference).max()


def test_the_hessian_is_symmetric(hessian, at, along):
    other = at[0] * jnp.array([0.0, 0.0, 0.3]), 0.5 * at[1][::-1]
    np.testing.assert_allclose(dot(hessian(other), along), dot(hessian(along), other), rtol=1e-9)


def test_the_gradient_keeps_less_than_one_number_for_each_pair(gradient, rule):
    """Tiles and rows are recomputed; a stored kernel alone would have a number for each pair."""
    pairs = rule.quad_nphi * rule.quad_ntheta * rule.trg_shape[0] * rule.trg_shape[1]
    assert gradient.memory_analysis().temp_size_in_bytes < 8 * pairs
