"""The HLO reader: instructions, inherited names, named scopes, fingerprints."""

import re
import runpy

import jax
import jax.numpy as jnp
import pytest

from jaxmeter._program.hlo import fingerprint, instructions, named_instructions, named_scopes
from jaxmeter._program.program import describe_program

HLO = """HloModule jit_f, is_scheduled=true

FileNames
1 "/home/someone/x.py"

FileLocations
1 {file_name_id=1 function_name_id=1 line=7 end_line=7}

StackFrames
1 {file_location_id=1 parent_frame_id=1}


%fused (p: f64[3]) -> f64[3] {
  %p = f64[3]{0} parameter(0)
  ROOT %sin.1 = f64[3]{0} sine(%p), metadata={op_name="jit(f)/a{b} \\" fusion(/s" stack_frame_id=1}
}

ENTRY %main (x: f64[3]) -> (f64[3], f64[3]) {
  %x = f64[3]{0} parameter(0), metadata={op_name="x"}
  %c = pred[7,2]{1,0} constant({...})
  %f = f64[3]{0} fusion(%x), kind=kLoop, calls=%fused, metadata={op_name="jit(f)/y"}
  %solve = f64[3]{0} custom-call(%f, %x), custom_call_target="lapack_dpotrf", api_version=1
  ROOT %t = (f64[3]{0}, /*index=1*/(bf16[2]{0}, s4[3]{0})) tuple(%f, %x)
}
"""


def test_the_instructions_of_a_known_text_are_read():
    p, sine, x, constant, fusion, call, root = instructions(HLO)
    assert (p.computation, sine.computation, x.computation) == ("fused", "fused", "main")
    assert (sine.opcode, sine.shape, sine.bytes) == ("sine", "f64[3]", 24)
    assert (sine.op_name, sine.source) == ('a{b} " fusion(/s', "/home/someone/x.py:7")
    assert (constant.opcode, constant.arguments, constant.bytes) == ("constant", "{...}", 14)
    assert (fusion.fusion_kind, fusion.calls, fusion.op_name) == ("kLoop", "fused", "y")
    assert (call.call_target, call.operands) == ("lapack_dpotrf", ["f", "x"])
    assert (root.opcode, root.bytes, root.is_root) == ("tuple", 24 + 4 + 3, True)


@pytest.mark.parametrize("added", [1, 0])
def test_the_lines_of_the_calls_are_read_whether_or_not_one_was_added_to_the_callers(added):
    frames = [f"{n} {{file_location_id={n} parent_frame_id={n - 1 + added}}}" for n in (1, 2, 3)]
    places = [f"{n} {{file_name_id=1 function_name_id=1 line={7 * n}}}" for n in (1, 2, 3)]
    text = HLO.replace("1 {file_location_id=1 parent_frame_id=1}", "\n".join(frames))
    text = text.replace(
        "1 {file_name_id=1 function_name_id=1 line=7 end_line=7}", "\n".join(places)
    )
    _, sine, *_ = instructions(text.replace("stack_frame_id=1", "stack_frame_id=3"))
    assert sine.stack == tuple(f"/home/someone/x.py:{line}" for line in (21, 14, 7))


class FakeCompiled:
    def as_text(self):
        return HLO

    def cost_analysis(self):
        return None


def test_the_instructions_of_a_known_text_are_counted():
    program = describe_program(jax.make_jaxpr(jnp.sin)(1.0), FakeCompiled())  # pyright: ignore
    assert (program.hlo_instructions_count, program.fusions_count) == (7, 1)
    assert program.flops is None
    assert program.hlo_fingerprint == fingerprint(HLO)


def test_the_fingerprint_depends_on_the_operations_and_not_on_names_and_metadata():
    other = HLO.replace("jit_f", "jit_g").replace("jit(f)", "jit(g)")
    other = other.replace("someone", "else").replace("line=7", "line=8")
    assert fingerprint(other) == fingerprint(HLO)
    renamed = re.sub(r"%[\w.]+|\b[px](?=: )", r"\g<0>.7", HLO)
    assert renamed != HLO and fingerprint(renamed) == fingerprint(HLO)
    for old, new in (
        ("sine(", "cosine("),
        ("constant({...})", "constant(2)"),
        ("calls=%fused", "calls=%main"),
        ("custom-call(%f, %x)", "custom-call(%x, %f)"),
    ):
        assert fingerprint(HLO.replace(old, new)) != fingerprint(HLO)
    printing = HLO.replace(
        "custom-call(%f, %x)", 'custom-call(%f, %x), backend_config={format="%d"}'
    )
    assert printing != HLO and fingerprint(printing.replace("%d", "%s")) != fingerprint(printing)


def test_instructions_without_metadata_inherit_the_scope_and_source_of_their_operation():
    text = (
        "HloModule jit_f\n\n%fused (p: f32[4]) -> f32[4] {\n"
        '  %sine.1 = f32[4]{0} sine(%p), metadata={op_name="jit(f)/wave/sin" '
        'source_file="a.py" source_line=3}\n'
        "  ROOT %copy.1 = f32[4]{0} copy(%sine.1)\n}\n\n"
        "ENTRY %main (x: f32[4]) -> f32[4] {\n"
        "  %fusion.1 = f32[4]{0} fusion(%x), kind=kLoop, calls=%fused\n"
        "  ROOT %copy.2 = f32[4]{0} copy(%fusion.1)\n}\n"
    )
    found = named_instructions(text)
    for name in ("fusion.1", "copy.1", "copy.2"):
        assert (found[name].scope, found[name].source) == ("wave", "a.py:3")
        assert found[name].is_inherited
    assert not found["sine.1"].is_inherited


def test_a_product_without_metadata_gets_the_line_of_the_bitcast_of_its_result():
    def bitcast(name, of, line):
        about = f'{{op_name="jit(f)/dot_general" source_file="a.py" source_line={line}}}'
        return f"%{name} = f32[4]{{0}} bitcast(%{of}), metadata={about}"

    text = (
        "HloModule jit_f\n\n%fused (p: f32[4,1], q: f32[4,1]) -> f32[4,1] {\n"
        "  %q = f32[4,1]{1,0} parameter(1)\n  %p = f32[4,1]{1,0} parameter(0)\n"
        f"  {bitcast('of_q', 'q', 2)}\n  {bitcast('of_p', 'p', 1)}\n"
        '  ROOT %sum = f32[4,1]{1,0} add(%of_p, %of_q), metadata={op_name="jit(f)/add"}\n}\n\n'
        "ENTRY %main (a: f32[4,4], x: f32[4,1]) -> f32[4] {\n"
        "  %dot = f32[4,1]{1,0} dot(%a, %x)\n  %dot.1 = f32[4,1]{1,0} dot(%a, %x)\n"
        "  %fusion = f32[4,1]{1,0} fusion(%dot, %dot.1), kind=kLoop, calls=%fused\n"
        f"  %dot.2 = f32[4,1]{{1,0}} dot(%a, %fusion)\n  ROOT {bitcast('result', 'dot.2', 3)}\n}}\n"
    )
    found = named_instructions(text)
    for line, name in enumerate(("dot", "dot.1", "dot.2"), 1):
        assert (found[name].op_name, found[name].source) == ("dot_general", f"a.py:{line}")
        assert found[name].is_inherited
    assert not found["p"].op_name  # a parameter is not a part of the operation


@pytest.mark.parametrize(
    ("op_name", "scope"),
    [
        ("jit(f)/layer/dot_general", "layer"),
        ("jit(f)/transpose(jvp(outer))/while/body/inner/mul", "outer/inner"),
        ("jit(f)/vmap(outer)/jit(_where)/select_n", "outer"),
        ("outer/kij,bj->kib/dot_general", "outer"),
        ("jit(f)/checkpoint/rematted_computation/cond/branch_1_fun/add", ""),
        ("reduce_sum", ""),
        ("", ""),
    ],
)
def test_named_scopes_leave_out_calls_control_flow_and_transformations(op_name, scope):
    assert named_scopes(op_name) == scope


@pytest.mark.parametrize("other", ["", ',a="b"', 'a="b",'])
def test_the_fingerprint_does_not_depend_on_the_digest_that_xla_writes_for_a_gpu(other):
    def marked(digest):
        own = f'fingerprint_before_lhs="{digest}"'
        attributes = own + other if other.startswith(",") else other + own
        return HLO.replace(line, f"{line}, frontend_attributes={{{attributes}}}")

    line = HLO.split("\n", 1)[0]
    texts = [marked("52b3fa48"), marked("db9773fd")]
    assert texts[0] != texts[1]
    assert fingerprint(texts[0]) == fingerprint(texts[1])
    assert (fingerprint(texts[0]) == fingerprint(HLO)) == (not other)


def test_a_backslash_before_a_digit_that_is_not_octal_is_left_out():
    _, sine, *_ = instructions(HLO.replace("jit(f)/a", r"jit(f)/\8a"))
    assert sine.op_name == '8a{b} " fusion(/s'


def test_names_and_files_with_other_characters_than_ascii_are_read_as_written(tmp_path):
    file = tmp_path / "modül.py"
    lines = (
        "import jax",
        "def f(x):",
        "    with jax.named_scope('größe'):",
        "        return jax.lax.sin(x)",
    )
    file.write_text("\n".join(lines))
    text = jax.jit(runpy.run_path(str(file))["f"]).lower(jnp.ones(3)).compile().as_text()
    (sine,) = [one for one in instructions(str(text)) if one.opcode == "sine"]
    assert (sine.scope, sine.source) == ("größe", f"{file}:4")
