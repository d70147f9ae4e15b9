"""Make the tables of an XLA dump."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd

from jaxmeter._program.buffers import allocated_bytes, buffers_in, is_cut_off
from jaxmeter._program.hlo import (
    MOVING_OPCODES,
    Instruction,
    bodies,
    instructions,
    named_instructions,
)
from jaxmeter._records.argument_types import checking_types
from jaxmeter._tables.dumps import Dump, dump_text
from jaxmeter._tables.schemas import frame, most, schema
from jaxmeter.errors import JaxmeterError

schema(
    "dump",
    "One row describes the whole dump.",
    folder="folder of the dump",
    module="name of the program, such as `jit_f`",
    instructions_before_count="number of instructions before any pass",
    instructions_count="number of instructions of the optimised program, including instructions in "
    "fusions",
    fusions_count="number of fusions in the optimised program",
    custom_calls_count="number of calls of foreign code in the optimised program",
    passes_count="number of rows of `dump_passes`",
    argument_bytes="size of the arguments in the buffer assignment, bytes",
    output_bytes="size of the results in the buffer assignment, bytes",
    temp_bytes="size of the temporaries in the buffer assignment, bytes; memory that temporaries "
    "share is counted once",
    analysed_temp_bytes="size of the temporaries that `memory_analysis()` reports, bytes; missing "
    "if an existing dump was read",
    largest_temp_bytes="size of the largest temporary, bytes",
    largest_temp="shape, operation and named scope of the largest temporary",
    constant_bytes="size of the constants of the program, bytes",
)
schema(
    "dump_opcodes",
    "Each row counts the instructions with one opcode, before or after optimisation.",
    stage="`before` or `after`",
    opcode="kind of instruction",
    count="number of instructions",
    fused_count="number of instructions inside fusions",
    result_bytes="size of the results of instructions outside fusions, bytes",
)
schema(
    "dump_passes",
    "Each row is a pass that changed the program, or the beginning of a pipeline. The rows are in "
    "the order of execution.",
    position="number of the pass in the dump",
    pipeline="pipeline of the pass",
    name="name of the pass; `pipeline-start` at the beginning of a pipeline",
    instructions_count="number of instructions after the pass",
    instructions_change_count="change of instructions_count from the previous row; negative if "
    "the pass removed instructions",
    fusions_count="number of fusions after the pass",
    fusions_change_count="change of fusions_count from the previous row; negative if the pass "
    "removed fusions",
)
schema(
    "dump_fusions",
    "Each row is a fusion of the optimised program. The fusion with the largest result is first.",
    fusion="name of the fusion",
    fusion_kind="XLA's kind of fusion: `kLoop`, `kInput`, `kOutput`, `kCustom`",
    shape="type and shape of the result",
    bytes="size of the result, bytes",
    operations="opcodes in the fusion, except opcodes that only move or name data",
    operations_count="number of instructions in the fusion, except instructions that only move or "
    "name data",
    scope="named scopes",
    source="file and line",
)
schema(
    "dump_buffers",
    "Each row is a value that has memory in XLA's buffer assignment. If there is no assignment, "
    "each row is the result of an instruction outside fusions. The largest value is first.",
    buffer_kind="`argument`, `output`, `temporary`, `constant`",
    bytes="size, bytes",
    shape="type and shape",
    opcode="kind of the instruction that computes the value",
    scope="named scopes; for an argument, the name of the argument",
    source="file and line",
    instruction="name of the instruction in the optimised HLO",
    offset_bytes="start of a temporary within the memory of all temporaries, bytes; temporaries "
    "that overlap are never in use at the same time",
)
schema(
    "dump_constants",
    "Each row is a constant of the optimised program. The largest constant is first.",
    constant="name of the instruction",
    shape="type and shape",
    bytes="size, bytes",
    value="value as XLA writes it, shortened",
    scope="named scopes",
    source="file and line",
)
schema(
    "dump_precision",
    "Each row counts the instructions of the optimised program with one named scope and one type "
    "of result.",
    dtype="XLA's name of the type, such as `f64`, `f32`, `s32` or `pred`",
    scope="named scopes",
    count="number of instructions, including instructions in fusions; parameters, tuple elements, "
    "bitcasts and instructions with a tuple as result are not counted",
    result_bytes="size of the results of instructions outside fusions, bytes",
)
schema(
    "dump_custom_calls",
    "Each row is a call of foreign code, such as a library function, in the optimised program.",
    instruction="name of the instruction",
    call_target="name of the function that is called",
    shape="type and shape of the result",
    bytes="size of the result, bytes",
    scope="named scopes",
    source="file and line",
)

_VALUE_LENGTH = 60
_WITHOUT_RESULT = ("parameter", "get-tuple-element", "bitcast")


@checking_types
def dump_tables(dump: Dump) -> dict[str, pd.DataFrame]:
    """Return all tables of a dump by name.

    Raises
    ------
    JaxmeterError
        If the optimised program has no instruction, the text of a program or the buffer assignment
        is cut off, or the file of a pass cannot be read.
    """
    known = named_instructions(dump.after)
    if not known:
        raise JaxmeterError(
            f"dump: got {str(dump.folder)!r}, in which the optimised program is empty; dump again, "
            "and check that the compiler is not interrupted"
        )
    for text in (dump.before, dump.after):
        if text and not ("\nENTRY " in text and text.rstrip().endswith("\n}")):
            raise _cut_off(dump, "the text of a program")
    if dump.assignment and is_cut_off(dump.assignment):
        raise _cut_off(dump, "the buffer assignment")
    before, after = list(instructions(dump.before)), list(known.values())
    # The sizes are Python integers, because their sum may need more than 64 bits.
    parts = pd.DataFrame([*_parts("before", before), *_parts("after", after)], dtype=object)
    tables = {
        "dump_opcodes": _opcodes(parts),
        "dump_passes": _passes(dump),
        "dump_fusions": _fusions(after),
        "dump_buffers": _buffers(dump, known),
        "dump_constants": _constants(after),
        "dump_precision": _precision(parts),
        "dump_custom_calls": _custom_calls(after),
    }
    sizes = allocated_bytes(dump.assignment) if dump.assignment else {}
    row = {
        "folder": str(dump.folder),
        "module": dump.module,
        "instructions_before_count": len(before) or None,
        "instructions_count": len(after),
        "fusions_count": len(tables["dump_fusions"]),
        "custom_calls_count": len(tables["dump_custom_calls"]),
        "passes_count": len(dump.passes),
        "argument_bytes": sizes.get("argument"),
        "output_bytes": sizes.get("output"),
        "temp_bytes": sizes.get("temporary"),
        "analysed_temp_bytes": dump.analysed_temp_bytes,
        "constant_bytes": sum(tables["dump_constants"]["bytes"].tolist()),
    }
    temporaries = tables["dump_buffers"].query("buffer_kind == 'temporary'").to_dict("records")
    if temporaries:
        largest = temporaries[0]
        row["largest_temp_bytes"] = largest["bytes"]
        row["largest_temp"] = f"{largest['shape']} {largest['opcode']} of {largest['scope']}"
    return {"dump": frame("dump", [row]), **tables}


def _cut_off(dump: Dump, what: str) -> JaxmeterError:
    return JaxmeterError(
        f"dump: got {str(dump.folder)!r}, in which {what} is cut off; dump again, and check that "
        "the files are complete"
    )


def _parts(stage: str, program: Collection[Instruction]) -> list[dict[str, Any]]:
    """Return a dictionary for each instruction, with the properties that the tables count by."""
    # Results inside fusions need no memory.
    fused = {part.calls for part in program if part.opcode == "fusion"}
    return [
        {
            "stage": stage,
            "opcode": part.opcode,
            "dtype": part.shape.partition("[")[0],
            "scope": part.scope,
            "is_fused": part.computation in fused,
            "result_bytes": 0 if part.computation in fused else part.bytes,
        }
        for part in program
    ]


def _opcodes(parts: pd.DataFrame) -> pd.DataFrame:
    sums = parts.groupby(["stage", "opcode"], sort=False).agg(
        count=("opcode", "size"),
        fused_count=("is_fused", "sum"),
        result_bytes=("result_bytes", "sum"),
    )
    sums = sums.sort_values(["stage", "count"], ascending=False, kind="stable")
    return frame("dump_opcodes", sums.reset_index())


def _passes(dump: Dump) -> pd.DataFrame:
    rows = []
    for position, pipeline, name, path in dump.passes:
        opcodes = [instruction.opcode for instruction in instructions(dump_text(path))]
        sizes = {"instructions_count": len(opcodes), "fusions_count": opcodes.count("fusion")}
        rows.append({"position": position, "pipeline": pipeline, "name": name, **sizes})
    table = frame("dump_passes", rows)
    for what in ("instructions", "fusions"):
        table[f"{what}_change_count"] = table[f"{what}_count"].diff()
    return table


def _described(instruction: Instruction) -> dict[str, Any]:
    names = ("shape", "bytes", "scope", "source")
    return {name: getattr(instruction, name) for name in names}


def _fusions(program: list[Instruction]) -> pd.DataFrame:
    inside = bodies(part for part in program if part.opcode not in MOVING_OPCODES)
    rows = [
        {
            **_described(fusion),
            "fusion": fusion.name,
            "fusion_kind": fusion.fusion_kind,
            "operations": ", ".join(dict.fromkeys(part.opcode for part in inside[fusion.calls])),
            "operations_count": len(inside[fusion.calls]),
        }
        for fusion in program
        if fusion.opcode == "fusion"
    ]
    return most(frame("dump_fusions", rows), "bytes")


def _buffers(dump: Dump, known: dict[str, Instruction]) -> pd.DataFrame:
    rows = []
    for buffer in buffers_in(dump.assignment, known.values())[0]:
        instruction = known.get(buffer.instruction)
        scope = "" if instruction is None else instruction.scope
        rows.append(
            {
                "buffer_kind": buffer.kind,
                "bytes": buffer.bytes,
                "shape": buffer.shape,
                "opcode": buffer.opcode,
                "scope": buffer.scope if buffer.kind == "argument" else scope,
                "source": "" if instruction is None else instruction.source,
                "instruction": buffer.instruction,
                "offset_bytes": buffer.offset_bytes,
            }
        )
    return frame("dump_buffers", rows)


def _constants(program: list[Instruction]) -> pd.DataFrame:
    rows = [
        {**_described(part), "constant": part.name, "value": part.arguments[:_VALUE_LENGTH]}
        for part in program
        if part.opcode == "constant"
    ]
    return most(frame("dump_constants", rows), "bytes")


def _precision(parts: pd.DataFrame) -> pd.DataFrame:
    is_counted = ~parts["dtype"].str.startswith("(") & ~parts["opcode"].isin(_WITHOUT_RESULT)
    after = parts[is_counted & (parts["stage"] == "after")]
    sums = after.groupby(["dtype", "scope"], sort=False).agg(
        count=("dtype", "size"), result_bytes=("result_bytes", "sum")
    )
    return most(frame("dump_precision", sums.reset_index()), "count")


def _custom_calls(program: list[Instruction]) -> pd.DataFrame:
    rows = [
        {**_described(part), "instruction": part.name, "call_target": part.call_target}
        for part in program
        if part.call_target
    ]
    return frame("dump_custom_calls", rows)
