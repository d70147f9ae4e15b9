"""Make the tables of a trace: operations, scopes, threads, steps, annotations, phases, kernels."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from jaxmeter._program.hlo import Instruction, named_instructions
from jaxmeter._records.argument_types import checking_types
from jaxmeter._tables.schemas import frame, kernel_table, mismatch, most
from jaxmeter._tables.trace_host import annotation_table, phase_table
from jaxmeter._trace.intervals import union
from jaxmeter._trace.trace import Line, Trace
from jaxmeter._trace.xspace import programs

_DETAIL = re.compile(r"(\w+):(\S+)")

Ops = Sequence[Instruction | None]
"""The instruction of each entry of `Trace.ops`; None if it is not known."""


@checking_types
def trace_tables(trace: Trace, hlo: Mapping[str, str] | None = None) -> dict[str, pd.DataFrame]:
    """Return all tables of a trace by name.

    Parameters
    ----------
    trace : Trace
        The trace from `jaxmeter.tables.read_trace`.
    hlo : mapping, optional
        The HLO texts of programs by name, such as ``jit_f(30)`` or ``jit_f``. For other
        programs, the HLO in the trace is used.

    Raises
    ------
    JaxmeterError
        If an HLO text does not belong to a program that ran.
    OSError
        If the trace file was removed after it was read.
    """
    given = {name: named_instructions(text) for name, text in (hlo or {}).items()}
    for name, instructions in given.items():
        _check_ran(name, instructions, trace.ops)
    ran = {program for program, _ in trace.ops}
    missing = {program for program in ran if _module(program) not in given} - set(given)
    texts = programs(trace.path, missing) if missing else {}
    known = {**given, **{name: named_instructions(text) for name, text in texts.items() if text}}
    of_program = {name: known.get(name) or known.get(_module(name), {}) for name in ran}
    instructions = [of_program[program].get(op.lstrip("%")) for program, op in trace.ops]
    ops = _ops(trace, instructions)
    return {
        "trace": _summary(trace, ops, sum(map(bool, of_program.values()))),
        "trace_ops": ops,
        "trace_scopes": _scopes(ops),
        "trace_threads": _threads(trace),
        "trace_steps": _steps(trace),
        "trace_annotations": annotation_table(trace),
        "trace_phases": phase_table(trace),
        "kernels": _kernels(trace, instructions),
    }


def _module(program: str) -> str:
    return program.partition("(")[0]


def _check_ran(
    name: str, known: Mapping[str, Instruction], ops: tuple[tuple[str, str], ...]
) -> None:
    ran = [op for program, op in ops if name in (program, _module(program))]
    # The HLO of a program that ran may lack some of the trace's operations, but fewer than half.
    matched = sum(1 for op in ran if op.lstrip("%") in known)
    if 2 * matched <= len(ran):
        found = f"{matched} of the {len(ran)} operations of {name} in the trace"
        raise mismatch(name, "trace", {program for program, _ in ops}, found)


def _summary(trace: Trace, ops: pd.DataFrame, with_hlo: int) -> pd.DataFrame:
    seconds = ops["self_seconds"].to_numpy(dtype=float)
    scoped = seconds[(ops["scope"] != "").to_numpy(dtype=bool)].sum()
    total = seconds.sum()
    row = {
        "path": str(trace.path),
        "file_bytes": trace.path.stat().st_size,
        "events_count": trace.events_count,
        "op_events_count": sum(int((line.ops >= 0).sum()) for line in trace.lines),
        "lines_count": len(trace.lines),
        "programs_count": ops["program"].nunique(),
        "programs_with_hlo_count": with_hlo,
        "span_seconds": trace.span_seconds,
        "op_self_seconds": total,
        "scoped_fraction": scoped / total if total else None,
    }
    return frame("trace", [row])


def _ops(trace: Trace, instructions: Ops) -> pd.DataFrame:
    n = len(trace.ops)
    sums: dict[str, np.ndarray] = defaultdict(lambda: np.zeros((4, n)))
    for line in trace.lines:
        ran = line.ops >= 0
        codes = line.ops[ran]
        counts = np.bincount(codes, minlength=n)
        totals, selves = (
            np.bincount(codes, values[ran], minlength=n)
            for values in (line.durations, line.op_self)
        )
        sums[line.plane] += (counts, counts > 0, totals, selves)
    described = ("opcode", "scope", "op_name", "source")
    whole = sum(of_plane[3].sum() for of_plane in sums.values()) or 1.0
    rows = [
        {
            "program": program,
            "op": op,
            **{name: getattr(instruction, name) if instruction else "" for name in described},
            "is_inherited": instruction.is_inherited if instruction else None,
            "device": plane,
            "count": int(count),
            "lines_count": int(lines),
            "total_seconds": total,
            "self_seconds": own,
            "self_fraction": own / whole,
        }
        for plane, of_plane in sums.items()
        for (program, op), instruction, (count, lines, total, own) in zip(
            trace.ops, instructions, of_plane.T, strict=True
        )
        if count
    ]
    return most(frame("trace_ops", rows), "self_seconds")


def _scopes(ops: pd.DataFrame) -> pd.DataFrame:
    sums = ops.groupby("scope", sort=False).agg(
        ops_count=("op", "size"),
        count=("count", "sum"),
        self_seconds=("self_seconds", "sum"),
        self_fraction=("self_fraction", "sum"),
    )
    return most(frame("trace_scopes", sums.reset_index()), "self_seconds")


def _threads(trace: Trace) -> pd.DataFrame:
    span = trace.span_seconds or 1.0
    rows = [
        {
            "device": line.plane,
            "thread": line.name,
            "events_count": len(line.starts),
            "op_events_count": int((line.ops >= 0).sum()),
            "busy_seconds": union(
                np.stack([line.starts, line.starts + line.durations], 1).tolist()
            ),
            "op_busy_seconds": (op_seconds := float(line.op_self.sum())),
            "op_self_seconds": op_seconds,
            "op_occupancy": op_seconds / span,
        }
        for line in trace.lines
    ]
    return most(frame("trace_threads", rows), "op_busy_seconds")


def _steps(trace: Trace) -> pd.DataFrame:
    rows: list[dict[str, Any]] = [
        {
            "name": trace.names[line.names[at]],
            "step": int(note["step_num"]),
            "start_seconds": line.starts[at],
            "duration_seconds": line.durations[at],
            "op_self_seconds": 0.0,
            "op_events_count": 0,
        }
        for line in trace.lines
        for at, note in line.notes.items()
        if "step_num" in note
    ]
    rows.sort(key=lambda row: row["start_seconds"])
    starts = np.array([row["start_seconds"] for row in rows])
    ends = starts + np.array([row["duration_seconds"] for row in rows])
    for line in trace.lines if rows else ():
        chosen = np.flatnonzero(line.ops >= 0)
        chosen = chosen[np.argsort(line.starts[chosen], kind="stable")]
        # The sum over the operations of a step is a difference of two cumulative sums.
        sums = np.concatenate([[0.0], np.cumsum(line.op_self[chosen])])
        first, last = (np.searchsorted(line.starts[chosen], times) for times in (starts, ends))
        for row, begin, end in zip(rows, first.tolist(), last.tolist(), strict=True):
            row["op_self_seconds"] += sums[end] - sums[begin]
            row["op_events_count"] += end - begin
    return frame("trace_steps", rows)


def _kernels(trace: Trace, instructions: Ops) -> pd.DataFrame:
    return kernel_table(
        [
            _kernel(trace, instructions, line, at)
            for line in trace.lines
            if line.is_device
            for at in range(len(line.starts))
            if not {"memcpy_details", "memset_details"} & line.notes.get(at, {}).keys()
        ]
    )


def _kernel(trace: Trace, instructions: Ops, line: Line, at: int) -> dict[str, Any]:
    details = dict(_DETAIL.findall(str(line.notes.get(at, {}).get("kernel_details", ""))))
    shared = [details[key] for key in ("static_shared", "dynamic_shared") if key in details]
    op = line.ops[at]
    program, name = trace.ops[op] if op >= 0 else ("", "")
    instruction = instructions[op] if op >= 0 else None
    return {
        "kernel": trace.names[line.names[at]],
        "op": name,
        "program": program,
        "scope": instruction.scope if instruction else "",
        "device": line.plane,
        "seconds": line.durations[at],
        "grid": details.get("grid", ""),
        "block": details.get("block", ""),
        "registers_count": int(details["regs"]) if "regs" in details else None,
        "shared_bytes": sum(map(int, shared)) if shared else None,
    }
