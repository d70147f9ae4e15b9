"""Any text is read as a record or raises RecordError.

HLO text and buffer assignments are read or raise JaxmeterError.

``pytest tests/jaxmeter/test_fuzz.py --hypothesis-profile nightly`` tries many more examples.
"""

import json
import random

from hypothesis import example, given
from hypothesis import strategies as st

from jaxmeter import JaxmeterError, Record, RecordError
from jaxmeter._program.buffers import allocated_bytes, buffers_in
from jaxmeter._program.hlo import fingerprint, instructions, module_name, named_instructions
from tests.jaxmeter.records.test_record import FULL
from tests.reports.hostile_files import changed_bytes, changed_fields

DATA = json.loads(FULL.to_json())
CHANGED = st.builds(
    lambda changed, seed: next(changed(DATA, random.Random(seed))),
    st.sampled_from([changed_fields, changed_bytes]),
    st.integers(0),
)


@given(st.one_of(CHANGED, st.binary(max_size=300)))
@example('{"schema": 2, "schema": 2, "name": "twice", "status": "ok"}')
@example('{"schema": 2, "name": "a", "status": "ok", "wall_seconds": NaN}')
@example("[" * 100_000)
@example('{"schema": 2, "name": "a", "status": "ok", "\\ud800": 1}')
@example('{"schema": 2, "name": "\\ud800", "status": "\\ud800"}')
def test_any_text_is_a_record_or_refused(text):
    try:
        record = Record.from_json(text)
    except RecordError as error:
        assert str(error).startswith("Record.from_json: ")
        return
    assert Record.from_json(record.to_json()).to_json() == record.to_json()


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
    """Draw HLO text from valid and invalid names, types, calls and metadata."""
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


def test_instructions_that_refer_to_each_other_in_cycles_are_all_read():
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
