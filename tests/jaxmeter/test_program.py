"""Program sizes are exact, and the fingerprint sees the program and nothing else."""

import jax
import jax.numpy as jnp

from jaxmeter._program.jaxprs import equations_count
from jaxmeter._program.program import describe_program, strip_hlo

X = jnp.arange(6.0)


def traced_and_compiled(fn, *args):
    traced = jax.jit(fn).trace(*args)
    return traced.jaxpr, traced.lower().compile()


def test_equations_are_counted_one_by_one():
    assert equations_count(jax.make_jaxpr(lambda x: jnp.sin(x) * 2.0 + x)(X)) == 3
    assert equations_count(jax.make_jaxpr(lambda x: x)(X)) == 0


def test_equations_of_sub_jaxprs_count_with_the_equation_that_holds_them():
    # jit 1 + (scan 1 + (sin 1 + mul 1))
    def nested(x):
        return jax.lax.scan(lambda c, _: (jnp.sin(c) * 2.0, None), x, None, length=3)[0]

    assert equations_count(jax.make_jaxpr(jax.jit(nested))(X)) == 4


def test_a_shared_sub_jaxpr_counts_as_often_as_it_is_held():
    inner = jax.jit(lambda x: jnp.sin(x) * 2.0)
    assert equations_count(jax.make_jaxpr(lambda x: inner(inner(x)))(X)) == 6


def test_deeply_shared_jaxprs_are_walked_once():
    fn = jnp.sin
    for _ in range(40):  # 2^40 equations if each were visited
        fn = jax.jit(lambda x, fn=fn: fn(fn(x)))
    assert equations_count(jax.make_jaxpr(fn)(X)) > 2**40


def test_flops_and_bytes_of_a_matrix_product_are_known():
    matrix = jnp.ones((32, 16))
    program = describe_program(*traced_and_compiled(lambda a, b: a @ b, matrix, matrix.T))
    assert program.flops == 2 * 32 * 16 * 32
    assert program.accessed_bytes == 8 * (32 * 16 * 2 + 32 * 32)
    assert program.jaxpr_equations_count == 1


def test_hlo_instructions_and_fusions_are_counted():
    program = describe_program(*traced_and_compiled(lambda x: x, X))
    assert program.fusions_count == 0
    more = describe_program(*traced_and_compiled(lambda x: jnp.sin(x) * jnp.cos(x) + x, X))
    assert more.fusions_count == 1
    assert program.hlo_instructions_count and more.hlo_instructions_count
    assert more.hlo_instructions_count > program.hlo_instructions_count


HLO = """HloModule jit_f, is_scheduled=true

FileNames
1 "/home/someone/x.py"

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%fused_computation (param_0: f64[3]) -> f64[3] {
  %param_0 = f64[3]{0} parameter(0)
  ROOT %sin.1 = f64[3]{0} sine(%param_0), metadata={op_name="jit(f)/a{b} \\" fusion(/sin" id=6}
}

ENTRY %main (x: f64[3]) -> (f64[3], f64[3]) {
  %x = f64[3]{0} parameter(0), metadata={op_name="x"}
  %fused = f64[3]{0} fusion(%x), kind=kLoop, calls=%fused_computation, metadata={op_name="y"}
  ROOT %tuple = (f64[3]{0}, /*index=1*/f64[3]{0}) tuple(%fused, %x)
}
"""


class FakeCompiled:
    def as_text(self):
        return HLO

    def cost_analysis(self):
        return None


def test_a_known_hlo_text_is_counted_right():
    program = describe_program(jax.make_jaxpr(jnp.sin)(X), FakeCompiled())  # pyright: ignore
    assert program.hlo_instructions_count == 5
    assert program.fusions_count == 1
    assert program.flops is None


def test_stripping_leaves_the_program_alone():
    stripped = strip_hlo(HLO)
    assert "metadata" not in stripped
    assert "someone" not in stripped and "StackFrames" not in stripped and "jit_f" not in stripped
    assert "sine(%param_0)\n" in stripped
    assert "calls=%fused_computation\n" in stripped


def test_the_fingerprint_does_not_depend_on_name_or_line():
    def one(x):
        return jnp.sin(x) * 2.0

    def other(x):
        # some lines further down
        return jnp.sin(x) * 2.0

    prints = {describe_program(*traced_and_compiled(fn, X)).hlo_fingerprint for fn in (one, other)}
    assert len(prints) == 1


def test_the_fingerprint_tells_programs_apart():
    def fingerprint(fn):
        return describe_program(*traced_and_compiled(fn, X)).hlo_fingerprint

    assert fingerprint(lambda x: jnp.sin(x) * 2.0) != fingerprint(lambda x: jnp.sin(x) * 3.0)
    assert fingerprint(jnp.sin) != fingerprint(jnp.cos)


def test_without_a_compiled_program_only_the_jaxpr_is_counted():
    program = describe_program(jax.make_jaxpr(jnp.sin)(X))
    assert program.jaxpr_equations_count == 1
    assert program.hlo_instructions_count is None and program.hlo_fingerprint is None
