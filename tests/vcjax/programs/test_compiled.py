"""How public calls compile their programs, and how they convert arrays."""

import gc
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vcjax
from tests.vcjax.common import casing_of, rule_of, small_torus, toroidal_field
from vcjax import problems
from vcjax._programs import compiled

X = np.linspace(0.0, 1.0, 3)


@compiled.compiled({"no_such_option": 1}, static_argnums=(1,))
def scaled(x, factor):
    return factor * x**2


@pytest.mark.cpu
def test_only_direct_calls_are_compiled_with_the_options():
    with pytest.raises(Exception, match="no_such_option"):
        scaled(X, 2)
    np.testing.assert_array_equal(jax.jit(scaled, static_argnums=1)(X, 2), 2 * X**2)
    np.testing.assert_array_equal(jax.jit(lambda: scaled(X, 2))(), 2 * X**2)
    np.testing.assert_array_equal(jax.vmap(lambda x: scaled(x, 2))(X), 2 * X**2)
    np.testing.assert_array_equal(jax.grad(lambda x: scaled(x, 2).sum())(jnp.asarray(X)), 4 * X)


@pytest.mark.cpu
@pytest.mark.parametrize("options", [{}, compiled.QUICK, compiled.ONE_THREAD])
def test_the_sum_of_a_product_with_a_captured_array_is_right(options):
    """Without the options that vcjax adds, JAX 0.10.2 to 0.12 compute NaN or arbitrary numbers."""
    size = 256
    x, ones = np.ones((size, size)), np.ones((size, size))
    total = compiled.compiled(options)(lambda x: (x @ jnp.asarray(ones)).sum())
    assert total(x) == size**3


def test_garbage_collection_is_off_during_a_call_and_then_as_before():
    seen = []

    @compiled.compiled({})
    def traced(x):
        seen.append(gc.isenabled())
        if x.size > 3:
            raise ValueError
        return x

    traced(X)
    with pytest.raises(ValueError):
        traced(np.ones(4))
    assert seen == [False, False] and gc.isenabled()
    gc.disable()
    try:
        traced(np.ones(2))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_garbage_collection_stays_off_until_the_last_of_several_calls_ends():
    seen, started, ends = [], *({n: threading.Event() for n in (5, 6)} for _ in range(2))

    @compiled.compiled({})
    def traced(x):
        started[x.size].set()
        assert ends[x.size].wait(60)
        seen.append(gc.isenabled())
        return x

    def call(size):
        found = pool.submit(traced, np.ones(size))
        assert started[size].wait(60)
        return found

    with ThreadPoolExecutor() as pool:
        for size, result in [(size, call(size)) for size in (5, 6)]:
            ends[size].set()
            result.result()
    assert seen == [False, False] and gc.isenabled()


def test_options_that_the_user_sets_in_XLA_FLAGS_are_not_changed(monkeypatch):
    name = "xla_backend_optimization_level"
    monkeypatch.setattr(compiled, "_FLAGS", f"--{name}=0")
    assert name not in compiled._options(**{name: 1})
    monkeypatch.setattr(compiled, "_FLAGS", "")
    assert name in compiled._options(**{name: 1})
    monkeypatch.setattr(compiled, "_FLAGS", "--xla_cpu_experimental_ynn_fusion_type=-reduce")
    assert compiled._correct() == {}


@pytest.mark.parametrize("avx512", [True, False])
def test_vectors_of_512_bits_are_requested_only_with_avx512(monkeypatch, avx512):
    monkeypatch.setattr(compiled, "_FLAGS", "")
    monkeypatch.setattr(compiled, "has_avx512", lambda: avx512)
    options = compiled._options()
    assert options == ({"xla_cpu_prefer_vector_width": 512} if avx512 else {})
    program = compiled.compiled(options)(lambda x: x**2)
    np.testing.assert_array_equal(program(X), X**2)


def test_calls_work_if_the_caller_forbids_rank_promotion():
    problem = small_torus()
    casing = casing_of(problem, 2)
    rule = rule_of(problem, 2, gradient=True)
    with jax.numpy_rank_promotion("raise"):
        field = vcjax.external_field(casing, problem.B)
        matrix = vcjax.dense_operator(casing)
        gradient = jax.grad(lambda B: vcjax.external_field(casing, B).sum())(problem.B)
        jax.eval_shape(partial(vcjax.prepare_gradient, rule), problem.X)
    np.testing.assert_allclose(matrix.apply(problem.B), field, atol=1e-13)
    np.testing.assert_allclose((gradient * problem.B).sum(), field.sum(), rtol=1e-12)


def test_xla_does_not_compute_with_captured_arrays_while_it_compiles():
    surface = problems.circular_torus(major_radius=1.0, minor_radius=0.3)
    x = surface.points(6, 24, half_period=False)
    B = toroidal_field(x)
    rule = vcjax.choose(x, B, 2, nfp=1)

    def field(x, B):
        return vcjax.external_field(vcjax.prepare(rule, x), B)

    def products(function, *args):
        text = jax.jit(function).lower(*args).compile().as_text()
        assert text
        # Some compilers call a library for a product.
        return len(re.findall(r' dot\(|custom_call_target="[^"]*(?:gemm|matmul)', text))

    given = products(field, x, B)
    assert given > 0
    assert given == products(lambda x: field(x, B), x) == products(lambda B: field(x, B), B)
    np.testing.assert_array_equal(jax.jit(lambda x: field(x, B))(x), jax.jit(field)(x, B))


def test_a_jitted_function_may_capture_both_a_casing_and_a_field():
    casing, B = casing_of(small_torus(), 3), jnp.asarray(small_torus().B)
    expected = vcjax.external_field(casing, B)
    found = jax.jit(lambda factor: factor * vcjax.external_field(casing, B))(1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_field_may_be_overwritten_after_the_call():
    casing, B = casing_of(small_torus(), 3), small_torus().B
    expected = np.asarray(vcjax.external_field(casing, B))
    # JAX can use the memory of a NumPy array without a copy if it begins at a multiple of 64 bytes.
    memory = np.empty(B.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    aligned = memory[start : start + B.nbytes].view(float).reshape(B.shape)
    for _ in range(10):
        aligned[...] = B
        found = vcjax.external_field(casing, aligned)
        aligned[...] = 0.0
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_large_array_may_be_overwritten_as_soon_as_it_is_converted():
    array = np.ones(2_000_000)
    for _ in range(5):
        array[:] = 1.0
        found = compiled.operands(array)
        array[:] = 0.0
        assert found.min() == 1.0


def test_two_calls_in_a_traced_function_share_a_captured_array():
    casing, B = casing_of(small_torus(), 3), small_torus().B

    def total(casing):
        return vcjax.external_field(casing, B) + vcjax.internal_field(casing, B)

    captured = [c for c in jax.make_jaxpr(total)(casing).consts if np.shape(c) == B.shape]
    assert len(captured) == 1
