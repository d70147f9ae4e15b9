"""The dense operator equals the evaluation, and refuses what it cannot apply."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import largest_error, rule_of
from vcjax import _options, problems

# Coarse grids and random fields are enough to compare results with each other.
pytestmark = pytest.mark.filterwarnings("ignore::vcjax.VcjaxWarning")


@pytest.fixture(scope="module")
def problem():
    return problems.rotating_ellipse(1)


@pytest.fixture(scope="module")
def casing(problem):
    return vcjax.prepare(rule_of(problem, 2, trg_nphi=2, trg_ntheta=6), problem.X)


@pytest.fixture(scope="module")
def operator(casing):
    return vcjax.dense_operator(casing)


def test_the_operator_equals_the_evaluation_for_single_fields_and_batches(
    operator, casing, problem
):
    fields = np.random.default_rng(0).normal(size=(2, 2, *problem.B.shape))
    values = operator.apply(fields)
    assert values.shape == (2, 2, 2, 6, 3)
    assert largest_error(values[1, 0], vcjax.external_field(casing, fields[1, 0])) < 1e-12
    assert largest_error(operator.apply(fields[0, 1]), values[0, 1]) < 1e-13


def test_the_internal_operator_equals_the_evaluation_from_streamed_weights(casing, problem):
    casing = vcjax.prepare(casing.rule, problem.X, near_weights="streamed")
    value = vcjax.dense_operator(casing, internal=True).apply(problem.B)
    assert largest_error(value, vcjax.internal_field(casing, problem.B)) < 1e-12


def test_the_operator_is_a_pytree_to_be_passed_as_an_argument(operator, problem):
    def energy(operator, B):
        return (operator.apply(B) ** 2).sum()

    slope = jax.jit(jax.grad(energy, argnums=1))(operator, jnp.asarray(problem.B))
    value = operator.apply(problem.B)
    np.testing.assert_allclose((slope * problem.B).sum(), 2 * (value**2).sum(), rtol=1e-12)


def test_a_matrix_beyond_the_memory_is_refused_with_its_size(casing, monkeypatch):
    monkeypatch.setattr(_options, "device_bytes", lambda count: 10_000 * count)
    with pytest.raises(vcjax.VcjaxError, match="12 targets: .* need .* GiB.*external_field"):
        vcjax.dense_operator(casing)


@pytest.mark.parametrize("shape", [(3, 14, 3), (2, 4, 15, 3), (0, 3, 15, 3)])
def test_fields_of_another_shape_and_empty_batches_are_refused(operator, shape):
    with pytest.raises(vcjax.VcjaxError, match="apply got B of shape"):
        operator.apply(np.zeros(shape))


@pytest.mark.parametrize("change", [lambda v: v[:5], lambda v: v.astype(np.float32)])
def test_an_operator_with_a_changed_matrix_is_refused(operator, problem, change):
    with pytest.raises(vcjax.VcjaxError, match="apply got a matrix of dtype float"):
        jax.tree.map(change, operator).apply(problem.B)
