"""Any text is read as a record or raises RecordError; HLO text is read or raises JaxmeterError.

``pytest tests/jaxmeter/test_fuzz.py --hypothesis-profile nightly`` tries many more examples.
"""

import json
import math

from hypothesis import example, given
from hypothesis import strategies as st

import jaxmeter
from jaxmeter import JaxmeterError, Record, RecordError
from jaxmeter._program.buffers import allocated_bytes, buffers_in
from jaxmeter._program.hlo import fingerprint, instructions, module_name, named_instructions

RECORD = Record(
    "a/b",
    "failed",
    "package:function",
    {"digits": 3, "variant": "closure"},
    jaxmeter.Failure("compile", "Timeout", "killed"),
    jaxmeter.Phases(1.0, 0.5, math.nan, None),
    samples_seconds=(0.1, 0.2),
    constants=jaxmeter.Constants(8, 1, arrays=(jaxmeter.ConstantArray((1,), "f8", 8, ""),)),
    checks={"error_relative": 1e-7},
    environment=jaxmeter.host_environment(),
)
DATA = json.loads(RECORD.to_json())
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63, -(2**64), 10**400]),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["NaN", "Infinity", "ok", "\ud800"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def places(data, path=()):
    if isinstance(data, dict):
        for name, value in data.items():
            yield (*path, name)
            yield from places(value, (*path, name))
    elif isinstance(data, list):
        for number, value in enumerate(data):
            yield from places(value, (*path, number))


@st.composite
def record_texts(draw):
    """Draw the text of a record with one to three changed fields, and perhaps a replaced part."""
    data = json.loads(json.dumps(DATA))
    for _ in range(draw(st.integers(1, 3))):
        *folders, last = draw(st.sampled_from(list(places(DATA))))
        place = data
        for name in folders:
            place = place[name] if isinstance(place, dict) and name in place else {}
        if isinstance(place, dict):
            name = draw(st.one_of(st.just(last), st.text(max_size=5)))
            place[name] = draw(VALUES)
    text = json.dumps(data)
    if draw(st.booleans()):
        return text
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    return text[:start] + draw(st.sampled_from(["", "[", '"', "NaN", "9" * 5000])) + text[end:]


def read_or_refused(text):
    try:
        record = Record.from_json(text)
    except RecordError as error:
        assert str(error).startswith("Record.from_json: ")
        return
    assert Record.from_json(record.to_json()).to_json() == record.to_json()


@given(record_texts())
@example('{"schema": 2, "schema": 2, "name": "twice", "status": "ok"}')
@example('{"schema": 2, "name": "a", "status": "ok", "wall_seconds": NaN}')
@example("[" * 100_000)
@example('{"schema": 2, "name": "a", "status": "ok", "\\ud800": 1}')
@example('{"schema": 2, "name": "\\ud800", "status": "\\ud800"}')
def test_a_changed_text_is_a_record_or_refused(text):
    read_or_refused(text)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_record_or_refused(content):
    read_or_refused(content)


NAMES = st.sampled_from(["a", "b.1", "fusion", "%c", "ENTRY", "", "x" * 300, "é"])
TYPES = st.sampled_from(
    [
        *("f32[2,3]{1,0}", "f64[]", "(f32[2], /*index=1*/s32[4])", "pred[<=4]", "token[]", "x"),
        *("f32[99999999999]", "f32[" + "9" * 6000 + "]", "u" + "8" * 6000 + "[2]", "{" * 500),
        *("f32[" + ",".join(["1000000000"] * 30) + "]", "/*" * 500, "bf16[0]", "s4[3]"),
    ]
)
METADATA = st.sampled_from(
    [
        "",
        ', metadata={op_name="jit(f)/a/b" source_file="x.py" source_line=3}',
        ", metadata={op_name=" + '"(" ' * 50 + "}",
        ", metadata={stack_frame_id=" + "9" * 6000 + "}",
        ", metadata={stack_frame_id=1}",
        ', kind=kLoop, calls=%a, metadata={op_name="' + "vmap(" * 300 + '"}',
    ]
)


@st.composite
def hlo_texts(draw):
    """Draw HLO text with names, types, calls and metadata that no compiler writes."""
    lines = [draw(st.sampled_from(["HloModule jit_f, x={}", "HloModule", ""]))]
    for table in draw(st.lists(st.sampled_from(["FileNames", "StackFrames", "FileLocations"]))):
        lines += [table, '1 "x.py"', f"{'9' * draw(st.integers(1, 5000))} file_location_id=1"]
    for _ in range(draw(st.integers(0, 3))):
        lines.append(
            f"{draw(st.sampled_from(['', 'ENTRY ']))}%{draw(NAMES)} (p: f32[]) -> f32[] {{"
        )
        for _ in range(draw(st.integers(0, 6))):
            root = draw(st.sampled_from(["", "ROOT "]))
            operands = ", ".join(f"%{draw(NAMES)}" for _ in range(draw(st.integers(0, 3))))
            opcode = draw(st.sampled_from(["add", "fusion", "tuple", "while", "constant"]))
            calls = draw(st.sampled_from(["", ", calls=%a", ", body=%b.1", ", to_apply=%c"]))
            value = f"{draw(TYPES)} {opcode}({operands}){calls}{draw(METADATA)}"
            lines.append(f"  {root}%{draw(NAMES)} = {value}")
        lines.append("}")
    text = "\n".join(lines)
    start, end = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    return text if draw(st.booleans()) else text[:start] + draw(st.text(max_size=9)) + text[end:]


@given(hlo_texts())
def test_any_hlo_text_is_read_or_refused(text):
    module_name(text)
    fingerprint(text)
    try:
        for instruction in named_instructions(text).values():
            assert instruction.bytes >= 0 and isinstance(instruction.scope, str)
            assert isinstance(instruction.operands, list)
    except JaxmeterError as error:
        assert str(error).startswith("hlo: got ")


def test_instructions_that_refer_to_each_other_endlessly_are_named_in_bounded_steps():
    names = [f"%i{number}" for number in range(300)]
    lines = [f"  {name} = f32[] add({', '.join(names)})" for name in names]
    text = "\n".join(["HloModule m", "ENTRY %main (p: f32[]) -> f32[] {", *lines, "}"])
    assert len(named_instructions(text)) == 300


ASSIGNMENTS = st.lists(
    st.sampled_from(
        [
            "allocation 0: size 8, parameter 0, shape |f32[2]| at ShapeIndex {}:",
            f"allocation 1: size {'9' * 6000}, preallocated-temp:",
            "allocation 2: size 16, maybe-live-out:",
            " value: <3 a @0> (size=8,offset=0): f32[2]{0}",
            f" value: <3 a @0> (size={'9' * 6000},offset=0): f32[2]",
            "allocation 3",
        ]
    ),
    max_size=8,
).map("\n".join)


@given(ASSIGNMENTS, hlo_texts())
def test_any_buffer_assignment_is_read_or_refused(assignment, text):
    try:
        allocated_bytes(assignment)
        buffers_in(assignment, instructions(text))
    except JaxmeterError as error:
        assert "hlo: got " in str(error) or "buffer" in str(error)
