"""Make the tables of an XLA dump."""

from __future__ import annotations

import dataclasses
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
    named_scopes,
)
from jaxmeter._records.argument_types import checking_types
from jaxmeter._tables.dumps import Dump, dump_text
from jaxmeter._tables.schemas import frame, most
from jaxmeter.errors import JaxmeterError

_VALUE_LENGTH = 60
_WITHOUT_RESULT = ("parameter", "get-tuple-element", "bitcast")


@checking_types
def dump_tables(dump: Dump) -> dict[str, pd.DataFrame]:
    """Return all tables of a dump by name.

    Raises
    ------
    JaxmeterError
        If the optimised program has no instruction, if the text of a program or of the buffer
        assignment is cut off, or if the file of a pass cannot be read.
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
        operation = f"{largest['shape']} {largest['opcode']}"
        row["largest_temp"] = " of ".join(filter(None, (operation, largest["scope"])))
    return {"dump": frame("dump", [row]), **tables}


def _cut_off(dump: Dump, what: str) -> JaxmeterError:
    return JaxmeterError(
        f"dump: got {str(dump.folder)!r}, in which {what} is cut off; dump again, and check that "
        "the files are complete"
    )


def _parts(stage: str, program: Collection[Instruction]) -> list[dict[str, Any]]:
    """Return a row for each instruction, with the columns that `_opcodes` and `_precision` use."""
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
        row = dataclasses.asdict(buffer)
        row["buffer_kind"] = row.pop("kind")
        row["source"] = "" if instruction is None else instruction.source
        if buffer.kind != "argument":
            row["scope"] = named_scopes(buffer.scope)
        rows.append(row)
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
