"""A dump of XLA as tables."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import Any

import pandas as pd

from jaxmeter._program.buffers import buffers_in
from jaxmeter._program.hlo import Instruction, instructions
from jaxmeter._tables import dump_schemas  # noqa: F401
from jaxmeter._tables.dumps import Dump
from jaxmeter._tables.modules import Origin, origins
from jaxmeter._tables.schemas import frame, most
from jaxmeter.errors import JaxmeterError

_MOVES = {"parameter", "constant", "bitcast", "tuple", "get-tuple-element", "broadcast", "copy"}
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.\-]+ = ", re.MULTILINE)
_FUSION = re.compile(r"[\s)}\]]fusion\(")
_CONSTANT = re.compile(
    r"^\s+(?:ROOT )?%?(?P<name>[\w.\-]+) = \S+ constant\((?P<value>.*?)\)(?:,|$)"
)
_CALL = re.compile(
    r'^\s+(?:ROOT )?%?(?P<name>[\w.\-]+) = .* custom-call\(.*custom_call_target="(?P<target>[^"]+)"'
)
_ALLOCATION = re.compile(r"^allocation \d+: size (?P<size>\d+), (?P<kind>.*)$", re.MULTILINE)
_VALUE_LENGTH = 60


def dump_tables(dump: Dump) -> dict[str, pd.DataFrame]:
    """All tables of a dump.

    Raises
    ------
    JaxmeterError
        If the optimised program holds no instruction.
    """
    every = list(instructions(dump.after))
    if not every:
        raise JaxmeterError(
            f"dump: got {str(dump.folder)!r}, whose optimised program is empty; was the compiler "
            "interrupted?"
        )
    of = origins(dump.after)
    fused = {one.calls for one in every if one.opcode == "fusion"}
    tables = {
        "dump_opcodes": _opcodes(dump, every),
        "dump_passes": _passes(dump),
        "dump_fusions": _fusions(every, of),
        "dump_buffers": _buffers(dump, of),
        "dump_constants": _constants(dump, every, of),
        "dump_precision": _precision(every, of, fused),
        "dump_custom_calls": _custom_calls(dump, of),
    }
    return {"dump": _summary(dump, every, tables), **tables}


def _summary(dump: Dump, every: list[Instruction], tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    buffers = tables["dump_buffers"].to_dict("records")
    largest = next((row for row in buffers if row["buffer_kind"] == "temporary"), None)
    row = {
        "folder": str(dump.folder),
        "module": dump.module,
        "instructions_before_count": len(_INSTRUCTION.findall(dump.before)) or None,
        "instructions_count": len(every),
        "fusions_count": len(tables["dump_fusions"]),
        "custom_calls_count": len(tables["dump_custom_calls"]),
        "passes_count": len(dump.passes),
        **_allocated(dump.assignment),
        "analysed_temp_bytes": dump.analysed_temp_bytes,
        "constant_bytes": sum(tables["dump_constants"]["bytes"].tolist()),
    }
    if largest is not None:
        row["largest_temp_bytes"] = largest["bytes"]
        row["largest_temp"] = f"{largest['shape']} {largest['opcode']} of {largest['scope']}"
    return frame("dump", [row])


def _allocated(assignment: str) -> dict[str, int | None]:
    """Bytes of all arguments, results and temporaries."""
    if not assignment:
        return dict.fromkeys(("argument_bytes", "output_bytes", "temp_bytes"))
    sizes = {"argument_bytes": 0, "output_bytes": 0, "temp_bytes": 0}
    for match in _ALLOCATION.finditer(assignment):
        kind, size = match["kind"], int(match["size"])
        if "thread-local" in kind or "constant" in kind:
            continue
        if "preallocated-temp" in kind:
            sizes["temp_bytes"] += size
        elif "live-out" in kind or "output" in kind:
            sizes["output_bytes"] += size
        elif "parameter" in kind:
            sizes["argument_bytes"] += size
    return {**sizes}


def _opcodes(dump: Dump, every: list[Instruction]) -> pd.DataFrame:
    rows = []
    for stage, program in (("before", list(instructions(dump.before))), ("after", every)):
        fused = {one.calls for one in program if one.opcode == "fusion"}
        counts, inside, sizes = Counter(), Counter(), Counter()
        for one in program:
            counts[one.opcode] += 1
            if one.computation in fused:
                inside[one.opcode] += 1
            else:
                sizes[one.opcode] += one.bytes
        rows += [
            {
                "stage": stage,
                "opcode": opcode,
                "count": count,
                "fused_count": inside[opcode],
                "result_bytes": sizes[opcode],
            }
            for opcode, count in counts.most_common()
        ]
    return frame("dump_opcodes", rows)


def _passes(dump: Dump) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for position, pipeline, name, path in dump.passes:
        text = path.read_text(encoding="utf-8", errors="replace")
        row = {
            "position": position,
            "pipeline": pipeline,
            "name": name,
            "instructions_count": len(_INSTRUCTION.findall(text)),
            "fusions_count": len(_FUSION.findall(text)),
        }
        if rows:
            for what in ("instructions", "fusions"):
                row[f"{what}_change_count"] = row[f"{what}_count"] - rows[-1][f"{what}_count"]
        rows.append(row)
    return frame("dump_passes", rows)


def _fusions(every: list[Instruction], of: dict[str, Origin]) -> pd.DataFrame:
    bodies: dict[str, list[str]] = defaultdict(list)
    for one in every:
        if one.opcode not in _MOVES:
            bodies[one.computation].append(one.opcode)
    rows = [
        {
            "fusion": one.name,
            "fusion_kind": one.kind,
            "shape": one.shape,
            "bytes": one.bytes,
            "operations": ", ".join(dict.fromkeys(bodies[one.calls])),
            "operations_count": len(bodies[one.calls]),
            "scope": of[one.name].scope,
            "source": of[one.name].source,
        }
        for one in every
        if one.opcode == "fusion"
    ]
    return most(frame("dump_fusions", rows), "bytes")


def _buffers(dump: Dump, of: dict[str, Origin]) -> pd.DataFrame:
    found, _ = buffers_in(dump.assignment, dump.after)
    rows = [
        {
            "buffer_kind": one.kind,
            "bytes": one.bytes,
            "shape": one.shape,
            "opcode": one.opcode,
            "scope": one.scope if one.kind == "argument" else _scope(of, one.instruction),
            "source": of[one.instruction].source if one.instruction in of else "",
            "instruction": one.instruction,
            "offset_bytes": one.offset_bytes,
        }
        for one in found
    ]
    return frame("dump_buffers", rows)


def _scope(of: dict[str, Origin], name: str) -> str:
    return of[name].scope if name in of else ""


def _constants(dump: Dump, every: list[Instruction], of: dict[str, Origin]) -> pd.DataFrame:
    values = {m["name"]: m["value"] for m in map(_CONSTANT.match, dump.after.splitlines()) if m}
    rows = [
        {
            "constant": one.name,
            "shape": one.shape,
            "bytes": one.bytes,
            "value": values.get(one.name, "")[:_VALUE_LENGTH],
            "scope": of[one.name].scope,
            "source": of[one.name].source,
        }
        for one in every
        if one.opcode == "constant"
    ]
    return most(frame("dump_constants", rows), "bytes")


def _precision(every: list[Instruction], of: dict[str, Origin], fused: set[str]) -> pd.DataFrame:
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for one in every:
        if one.shape.startswith("(") or one.opcode in ("parameter", "get-tuple-element", "bitcast"):
            continue
        into = sums[one.shape.partition("[")[0], of[one.name].scope]
        into[0] += 1
        into[1] += 0 if one.computation in fused else one.bytes
    rows = [
        {"dtype": dtype, "scope": scope, "count": count, "result_bytes": size}
        for (dtype, scope), (count, size) in sums.items()
    ]
    return most(frame("dump_precision", rows), "count")


def _custom_calls(dump: Dump, of: dict[str, Origin]) -> pd.DataFrame:
    rows = []
    for match in map(_CALL.match, dump.after.splitlines()):
        if match is None or match["name"] not in of:
            continue
        origin = of[match["name"]]
        rows.append(
            {
                "instruction": match["name"],
                "call_target": match["target"],
                "shape": origin.shape,
                "bytes": origin.bytes,
                "scope": origin.scope,
                "source": origin.source,
            }
        )
    return frame("dump_custom_calls", rows)
