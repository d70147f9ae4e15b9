"""Make the tables of an XLA dump."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Any

import pandas as pd

from jaxmeter._program.buffers import allocated_bytes, buffers_in
from jaxmeter._program.hlo import (
    MOVING_OPCODES,
    Instruction,
    bodies,
    instructions,
    named_instructions,
)
from jaxmeter._tables.dumps import Dump, dump_text
from jaxmeter._tables.schemas import TEXT, WHOLE, frame, most, schema
from jaxmeter.errors import JaxmeterError

schema(
    "dump",
    "One row describes the whole dump.",
    {
        "folder": (TEXT, "folder of the dump"),
        "module": (TEXT, "name of the program, such as `jit_f`"),
        "instructions_before_count": (WHOLE, "number of instructions before any pass"),
        "instructions_count": (
            WHOLE,
            "number of instructions of the optimised program, including those in fusions",
        ),
        "fusions_count": (WHOLE, "number of fusions in the optimised program"),
        "custom_calls_count": (WHOLE, "number of calls of foreign code in the optimised program"),
        "passes_count": (WHOLE, "number of passes that were dumped"),
        "argument_bytes": (WHOLE, "size of the arguments in the buffer assignment, bytes"),
        "output_bytes": (WHOLE, "size of the results in the buffer assignment, bytes"),
        "temp_bytes": (
            WHOLE,
            "size of the temporaries in the buffer assignment, bytes; memory that temporaries "
            "share is counted once",
        ),
        "analysed_temp_bytes": (
            WHOLE,
            "size of the temporaries that `memory_analysis()` reports, bytes; missing if an "
            "existing dump was read",
        ),
        "largest_temp_bytes": (WHOLE, "size of the largest temporary, bytes"),
        "largest_temp": (TEXT, "shape, operation and named scope of the largest temporary"),
        "constant_bytes": (WHOLE, "size of the constants of the program, bytes"),
    },
)
schema(
    "dump_opcodes",
    "Each row counts the instructions with one opcode, before or after optimisation.",
    {
        "stage": (TEXT, "`before` or `after`"),
        "opcode": (TEXT, "kind of instruction"),
        "count": (WHOLE, "number of instructions"),
        "fused_count": (WHOLE, "number of instructions inside fusions"),
        "result_bytes": (WHOLE, "size of the results of instructions outside fusions, bytes"),
    },
)
schema(
    "dump_passes",
    "Each row is a pass that changed the program, or the beginning of a pipeline. The rows are in "
    "the order of execution.",
    {
        "position": (WHOLE, "number of the pass in the dump"),
        "pipeline": (TEXT, "pipeline of the pass"),
        "name": (TEXT, "name of the pass; `pipeline-start` at the beginning of a pipeline"),
        "instructions_count": (WHOLE, "number of instructions after the pass"),
        "instructions_change_count": (
            WHOLE,
            "change of instructions_count from the previous row; negative if the pass removed "
            "instructions",
        ),
        "fusions_count": (WHOLE, "number of fusions after the pass"),
        "fusions_change_count": (
            WHOLE,
            "change of fusions_count from the previous row; negative if the pass removed fusions",
        ),
    },
)
schema(
    "dump_fusions",
    "Each row is a fusion of the optimised program. The fusion with the largest result is first.",
    {
        "fusion": (TEXT, "name of the fusion"),
        "fusion_kind": (TEXT, "`kLoop`, `kInput`, `kOutput`, `kCustom`"),
        "shape": (TEXT, "type and shape of the result"),
        "bytes": (WHOLE, "size of the result, bytes"),
        "operations": (TEXT, "opcodes in the fusion, without those that only move data"),
        "operations_count": (
            WHOLE,
            "number of instructions in the fusion, without those that only move data",
        ),
        "scope": (TEXT, "named scopes"),
        "source": (TEXT, "file and line"),
    },
)
schema(
    "dump_buffers",
    "Each row is a value with memory in XLA's buffer assignment or, without an assignment, the "
    "result of an instruction outside fusions. The largest value is first.",
    {
        "buffer_kind": (TEXT, "`argument`, `output`, `temporary`, `constant`"),
        "bytes": (WHOLE, "size, bytes"),
        "shape": (TEXT, "type and shape"),
        "opcode": (TEXT, "kind of the instruction that computes the value"),
        "scope": (TEXT, "named scopes; for an argument, its name"),
        "source": (TEXT, "file and line"),
        "instruction": (TEXT, "name of the instruction in the optimised HLO"),
        "offset_bytes": (
            WHOLE,
            "start of a temporary within the memory of all temporaries, bytes; temporaries that "
            "overlap are never in use at the same time",
        ),
    },
)
schema(
    "dump_constants",
    "Each row is a constant of the optimised program. The largest constant is first.",
    {
        "constant": (TEXT, "name of the instruction"),
        "shape": (TEXT, "type and shape"),
        "bytes": (WHOLE, "size, bytes"),
        "value": (TEXT, "value as XLA writes it, shortened"),
        "scope": (TEXT, "named scopes"),
        "source": (TEXT, "file and line"),
    },
)
schema(
    "dump_precision",
    "Each row counts the instructions of the optimised program with one named scope and one type "
    "of result.",
    {
        "dtype": (TEXT, "XLA's name of the type: `f64`, `f32`, `s32`, `pred`"),
        "scope": (TEXT, "named scopes"),
        "count": (
            WHOLE,
            "number of instructions, including those in fusions, without parameters, tuples, tuple "
            "elements and bitcasts",
        ),
        "result_bytes": (WHOLE, "size of the results of instructions outside fusions, bytes"),
    },
)
schema(
    "dump_custom_calls",
    "Each row is a call of foreign code, such as a library function, in the optimised program.",
    {
        "instruction": (TEXT, "name of the instruction"),
        "call_target": (TEXT, "name of the function that is called"),
        "shape": (TEXT, "type and shape of the result"),
        "bytes": (WHOLE, "size of the result, bytes"),
        "scope": (TEXT, "named scopes"),
        "source": (TEXT, "file and line"),
    },
)

_VALUE_LENGTH = 60
_WITHOUT_RESULT = ("parameter", "get-tuple-element", "bitcast")


def dump_tables(dump: Dump) -> dict[str, pd.DataFrame]:
    """Return all tables of a dump by name.

    Raises
    ------
    JaxmeterError
        If the optimised program has no instruction, or the file of a pass cannot be read.
    """
    known = named_instructions(dump.after)
    if not known:
        raise JaxmeterError(
            f"dump: got {str(dump.folder)!r}, in which the optimised program is empty; dump again, "
            "and check that the compiler is not interrupted"
        )
    before, after = list(instructions(dump.before)), list(known.values())
    tables = {
        "dump_opcodes": frame(
            "dump_opcodes", [*_opcodes("before", before), *_opcodes("after", after)]
        ),
        "dump_passes": _passes(dump),
        "dump_fusions": _fusions(after),
        "dump_buffers": _buffers(dump, known),
        "dump_constants": _constants(after),
        "dump_precision": _precision(after),
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


def _opcodes(stage: str, program: Collection[Instruction]) -> list[dict[str, Any]]:
    fused = _fused(program)
    counts, inside, sizes = Counter(), Counter(), Counter()
    for instruction in program:
        counts[instruction.opcode] += 1
        if instruction.computation in fused:
            inside[instruction.opcode] += 1
        else:
            sizes[instruction.opcode] += instruction.bytes
    return [
        {
            "stage": stage,
            "opcode": opcode,
            "count": count,
            "fused_count": inside[opcode],
            "result_bytes": sizes[opcode],
        }
        for opcode, count in counts.most_common()
    ]


def _fused(program: Collection[Instruction]) -> set[str]:
    """Return the names of the computations of fusions; results inside them need no memory."""
    return {instruction.calls for instruction in program if instruction.opcode == "fusion"}


def _passes(dump: Dump) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for position, pipeline, name, path in dump.passes:
        text = dump_text(path)
        opcodes = [instruction.opcode for instruction in instructions(text)]
        row = {
            "position": position,
            "pipeline": pipeline,
            "name": name,
            "instructions_count": len(opcodes),
            "fusions_count": opcodes.count("fusion"),
        }
        if rows:
            for what in ("instructions", "fusions"):
                row[f"{what}_change_count"] = row[f"{what}_count"] - rows[-1][f"{what}_count"]
        rows.append(row)
    return frame("dump_passes", rows)


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


def _precision(program: list[Instruction]) -> pd.DataFrame:
    fused = _fused(program)
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for part in program:
        if part.shape.startswith("(") or part.opcode in _WITHOUT_RESULT:
            continue
        of_type = sums[part.shape.partition("[")[0], part.scope]
        of_type[0] += 1
        of_type[1] += 0 if part.computation in fused else part.bytes
    rows = [
        {"dtype": dtype, "scope": scope, "count": count, "result_bytes": size}
        for (dtype, scope), (count, size) in sums.items()
    ]
    return most(frame("dump_precision", rows), "count")


def _custom_calls(program: list[Instruction]) -> pd.DataFrame:
    rows = [
        {**_described(part), "instruction": part.name, "call_target": part.call_target}
        for part in program
        if part.call_target
    ]
    return frame("dump_custom_calls", rows)
