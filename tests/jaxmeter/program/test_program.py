"""Program sizes are exact, and costs that XLA does not know are unknown."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxmeter._program.jaxprs import equations_count
from jaxmeter._program.program import describe_program

X = jnp.arange(6.0)


def traced_and_compiled(fn, *args):
    traced = jax.jit(fn).trace(*args)
    return traced.jaxpr, traced.lower().compile()


def nested(x):
    return jax.lax.scan(lambda c, _: (jnp.sin(c) * 2.0, None), x, None, length=3)[0]


inner = jax.jit(lambda x: jnp.sin(x) * 2.0)


@pytest.mark.parametrize(
    ("fn", "count"),
    [
        (lambda x: jnp.sin(x) * 2.0 + x, 3),
        (lambda x: x, 0),
        (jax.jit(nested), 4),  # jit 1 + (scan 1 + (sin 1 + mul 1))
        (lambda x: inner(inner(x)), 6),  # a shared jaxpr counts at each call
    ],
)
def test_equations_are_counted_including_inner_jaxprs(fn, count):
    assert equations_count(jax.make_jaxpr(fn)(X)) == count


def test_deeply_shared_jaxprs_are_walked_once():
    fn = jnp.sin
    for _ in range(40):  # 2^40 calls of sin
        fn = jax.jit(lambda x, fn=fn: fn(fn(x)))
    assert equations_count(jax.make_jaxpr(fn)(X)) > 2**40


def test_flops_and_bytes_of_a_matrix_product_are_exact():
    matrix = jnp.ones((32, 16))
    program = describe_program(*traced_and_compiled(lambda a, b: a @ b, matrix, matrix.T))
    assert program.flops == 2 * 32 * 16 * 32
    assert program.accessed_bytes == 8 * (32 * 16 * 2 + 32 * 32)
    assert program.jaxpr_equations_count == 1


def test_without_a_compiled_program_only_the_jaxpr_is_counted():
    program = describe_program(jax.make_jaxpr(jnp.sin)(X))
    assert program.jaxpr_equations_count == 1
    assert program.hlo_instructions_count is None and program.hlo_fingerprint is None


def test_the_cost_of_host_callbacks_is_unknown():
    def with_callback(a):
        return jax.pure_callback(np.asarray, jax.ShapeDtypeStruct(a.shape, a.dtype), a @ a)

    program = describe_program(*traced_and_compiled(with_callback, jnp.ones((4, 4))))
    assert program.flops is None and program.accessed_bytes is None
    assert program.hlo_instructions_count
