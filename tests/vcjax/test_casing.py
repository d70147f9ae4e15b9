"""The casing as a JAX value: linear, traceable, differentiable, nothing embedded."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxmeter
import vcjax
from vcjax import problems


@pytest.fixture(scope="module")
def problem():
    return problems.rotating_ellipse(3)


@pytest.fixture(scope="module")
def rule(problem):
    return vcjax.choose(
        problem.X, problem.B, 3, nfp=4, half_period=True, trg_nphi=19, trg_ntheta=29
    )


@pytest.fixture(scope="module")
def casing(rule, problem):
    return vcjax.prepare(rule, problem.X)


def test_fields_add_up_to_the_field_at_the_targets(casing, problem):
    total = vcjax.external_field(casing, problem.B) + vcjax.internal_field(casing, problem.B)
    # The 9 x 45 source grid itself carries B to its spectral tail only.
    tail = vcjax.spectral_tail(problem.B, nfp=4, half_period=True)
    error = np.abs(np.asarray(total) - (problem.B_ext + problem.B_int)).max()
    assert error <= 3 * tail * np.abs(problem.B).max()


def test_separation_is_linear(casing, problem):
    other = np.random.default_rng(0).normal(size=problem.B.shape)
    field = vcjax.external_field
    np.testing.assert_allclose(
        field(casing, 2.0 * problem.B - other),
        2.0 * field(casing, problem.B) - field(casing, other),
        atol=1e-11,
    )


@pytest.mark.parametrize("chunks", [(64, 16), (100_000, 100_000)])
def test_chunk_sizes_change_the_result_by_rounding_only(casing, problem, chunks):
    plain = vcjax.external_field(casing, problem.B)
    tiled = vcjax.external_field(
        casing, problem.B, chunk_size=chunks[0], target_chunk_size=chunks[1]
    )
    np.testing.assert_allclose(tiled, plain, atol=1e-12 * np.abs(problem.B).max())


def test_a_casing_survives_flattening(casing):
    leaves, tree = jax.tree.flatten(casing)
    again = jax.tree.unflatten(tree, leaves)
    assert again.rule == casing.rule
    assert all(isinstance(leaf, jax.Array) for leaf in leaves)


def test_prepare_and_evaluate_can_be_traced_together(rule, casing, problem):
    constants = vcjax.tables(rule)

    @jax.jit
    def both(X, B, constants):
        return vcjax.external_field(vcjax.prepare(rule, X, constants=constants), B)

    np.testing.assert_allclose(
        both(problem.X, problem.B, constants),
        vcjax.external_field(casing, problem.B),
        atol=1e-12 * np.abs(problem.B).max(),
    )


def test_an_evaluation_does_not_copy_the_field_to_the_host(casing, problem, monkeypatch):
    B = jnp.asarray(problem.B)
    expected = vcjax.external_field(casing, problem.B)

    def refuse(*_, **__):
        raise AssertionError("a JAX array was copied to the host")

    monkeypatch.setattr(type(B), "__array__", refuse)
    found = vcjax.external_field(casing, B)
    closure = jax.jit(lambda casing: vcjax.external_field(casing, B))(casing)
    monkeypatch.undo()
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(closure, expected, atol=1e-12)


def test_many_fields_share_one_casing_under_vmap(casing, problem):
    fields = jnp.stack([problem.B, 3.0 * problem.B])
    mapped = jax.vmap(lambda B: vcjax.external_field(casing, B))(fields)
    np.testing.assert_allclose(mapped[1], 3.0 * mapped[0], atol=1e-11)
    np.testing.assert_allclose(mapped[0], vcjax.external_field(casing, problem.B), atol=1e-12)


def test_an_evaluation_captures_nothing_and_a_closure_captures_the_casing_to_the_byte(
    casing, problem
):
    argument = jaxmeter.measure(vcjax.external_field, casing, problem.B, repeat=1)
    closure = jaxmeter.measure(lambda B: vcjax.external_field(casing, B), problem.B, repeat=1)
    size = sum(leaf.nbytes for leaf in jax.tree.leaves(casing))
    assert argument.constants is not None and closure.constants is not None
    assert argument.constants.captured_bytes == 0
    assert closure.constants.captured_bytes == closure.constants.embedded_bytes == size


def test_preparing_with_tables_as_an_argument_captures_next_to_nothing(rule, problem):
    record = jaxmeter.measure(
        lambda X, constants: vcjax.prepare(rule, X, constants=constants),
        jnp.asarray(problem.X),
        vcjax.tables(rule),
        repeat=1,
    )
    assert record.constants is not None and record.constants.captured_bytes is not None
    assert record.constants.captured_bytes < 10_000


def test_evaluation_has_an_exact_transpose(casing, problem):
    rng = np.random.default_rng(3)
    B = jnp.asarray(rng.normal(size=problem.B.shape))
    value, pull = jax.vjp(lambda b: vcjax.external_field(casing, b), B)
    weight = jnp.asarray(rng.normal(size=value.shape))
    (gradient,) = pull(weight)
    np.testing.assert_allclose((gradient * B).sum(), (value * weight).sum(), rtol=1e-10)
