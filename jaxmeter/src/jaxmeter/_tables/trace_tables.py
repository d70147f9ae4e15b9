"""A trace as tables: operations, scopes, threads, steps, annotations, phases, kernels."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from jaxmeter._tables import trace_schemas  # noqa: F401
from jaxmeter._tables.kernels import kernel_table
from jaxmeter._tables.modules import Origin, origins
from jaxmeter._tables.schemas import frame, most
from jaxmeter._tables.self_time import self_times, union
from jaxmeter._tables.trace_phases import phases
from jaxmeter._tables.xplane import Line, Trace, programs
from jaxmeter.errors import JaxmeterError

_DETAIL = re.compile(r"(\w+):(\S+)")


def trace_tables(trace: Trace, hlo: Mapping[str, str] | None = None) -> dict[str, pd.DataFrame]:
    """All tables of a trace.

    Parameters
    ----------
    trace : Trace
        From `jaxmeter.tables.read_trace`.
    hlo : mapping, optional
        The HLO text of programs by name, ``jit_f(30)`` or ``jit_f``; else that within the trace.

    Raises
    ------
    JaxmeterError
        If an HLO text is of another program than those that ran.
    """
    texts = dict(hlo or {})
    wanted = {program for program, _ in trace.ops}
    for name, text in texts.items():
        _check_ran(name, text, trace.ops)
    missing = {one for one in wanted if one not in texts and one.partition("(")[0] not in texts}
    texts.update(programs(trace.path, missing) if missing else {})
    known = {name: origins(text) for name, text in texts.items() if text}
    of = [_known(known, program).get(op.lstrip("%")) for program, op in trace.ops]
    ops = _ops(trace, of)
    tables = {
        "trace": _summary(trace, ops, sum(1 for one in wanted if _known(known, one))),
        "trace_ops": ops,
        "trace_scopes": _scopes(ops),
        "trace_threads": _threads(trace),
        "trace_steps": _steps(trace),
        "trace_annotations": _annotations(trace),
        "trace_phases": phases(trace),
        "kernels": _kernels(trace, of),
    }
    return tables


def _known(known: dict[str, dict[str, Origin]], program: str) -> dict[str, Origin]:
    """What is known of a program by its own name, else by that of its module."""
    return known.get(program) or known.get(program.partition("(")[0], {})


def _check_ran(name: str, text: str, ops: tuple[tuple[str, str], ...]) -> None:
    ran = [op for program, op in ops if name in (program, program.partition("(")[0])]
    held = origins(text)
    # Some operations of a trace stand in no HLO, but never most of them.
    if 2 * sum(1 for op in ran if op.lstrip("%") in held) <= len(ran):
        programs_told = ", ".join(sorted({program for program, _ in ops})) or "nothing"
        raise JaxmeterError(
            f"hlo: got a text of {name} that is not the program that ran: the trace has "
            f"{len(ran)} operations of {name}, of programs {programs_told}"
        )


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
        "span_seconds": _span(trace),
        "op_self_seconds": total,
        "scoped_fraction": scoped / total if total else None,
    }
    return frame("trace", [row])


def _span(trace: Trace) -> float:
    first = min((line.starts.min() for line in trace.lines), default=0.0)
    last = max(((line.starts + line.durations).max() for line in trace.lines), default=0.0)
    return float(last - first)


def _ops(trace: Trace, of: list[Origin | None]) -> pd.DataFrame:
    n = len(trace.ops)
    sums: dict[str, dict[str, np.ndarray]] = defaultdict(
        lambda: {key: np.zeros(n) for key in ("count", "lines", "total", "self")}
    )
    for line in trace.lines:
        ran = line.ops >= 0
        codes, into = line.ops[ran], sums[line.plane]
        counts = np.bincount(codes, minlength=n)
        into["count"] += counts
        into["lines"] += counts > 0
        into["total"] += np.bincount(codes, line.durations[ran], minlength=n)
        into["self"] += np.bincount(codes, line.op_self[ran], minlength=n)
    whole = sum(into["self"].sum() for into in sums.values()) or 1.0
    rows = [
        {
            "program": program,
            "op": op,
            "opcode": origin.opcode if origin else "",
            "scope": origin.scope if origin else "",
            "op_name": origin.op_name if origin else "",
            "source": origin.source if origin else "",
            "is_inherited": origin.inherited if origin else None,
            "device": plane,
            "count": int(into["count"][code]),
            "lines_count": int(into["lines"][code]),
            "total_seconds": into["total"][code],
            "self_seconds": into["self"][code],
            "self_fraction": into["self"][code] / whole,
        }
        for plane, into in sums.items()
        for code, ((program, op), origin) in enumerate(zip(trace.ops, of, strict=True))
        if into["count"][code]
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
    span = _span(trace) or 1.0
    rows = [
        {
            "device": line.plane,
            "thread": line.name,
            "events_count": len(line.starts),
            "op_events_count": int((line.ops >= 0).sum()),
            "busy_seconds": union(line.starts, line.durations),
            "op_busy_seconds": line.op_busy,
            "op_self_seconds": float(line.op_self.sum()),
            "op_occupancy": line.op_busy / span,
        }
        for line in trace.lines
    ]
    return most(frame("trace_threads", rows), "op_busy_seconds")


def _steps(trace: Trace) -> pd.DataFrame:
    found = [
        (line, at, int(note["step_num"]))
        for line in trace.lines
        for at, note in line.notes.items()
        if "step_num" in note
    ]
    rows = [
        {
            "name": trace.names[line.names[at]],
            "step": step,
            "start_seconds": line.starts[at],
            "duration_seconds": line.durations[at],
            "op_self_seconds": 0.0,
            "op_events_count": 0,
        }
        for line, at, step in sorted(found, key=lambda one: one[0].starts[one[1]])
    ]
    starts = np.array([row["start_seconds"] for row in rows])
    ends = starts + np.array([row["duration_seconds"] for row in rows])
    for line in trace.lines if rows else ():
        chosen = np.flatnonzero(line.ops >= 0)
        chosen = chosen[np.argsort(line.starts[chosen], kind="stable")]
        # Sums over those that began in a step, as differences of running sums.
        sums = np.concatenate([[0.0], np.cumsum(line.op_self[chosen])])
        first, last = (np.searchsorted(line.starts[chosen], times) for times in (starts, ends))
        for row, begin, end in zip(rows, first.tolist(), last.tolist(), strict=True):
            row["op_self_seconds"] += sums[end] - sums[begin]
            row["op_events_count"] += end - begin
    return frame("trace_steps", rows)


def _annotations(trace: Trace) -> pd.DataFrame:
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for line in trace.lines:
        if line.is_device:
            continue
        told = np.flatnonzero(line.ops < 0)
        own, _ = self_times(line.starts[told], line.durations[told])
        for at, self_seconds in zip(told.tolist(), own.tolist(), strict=True):
            note = line.notes.get(at)
            keywords = "" if not note else json.dumps(note, sort_keys=True, default=str)
            into = sums[trace.names[line.names[at]], keywords]
            into[0] += 1
            into[1] += line.durations[at]
            into[2] += self_seconds
    rows = [
        {
            "name": name,
            "keywords": keywords,
            "kind": _kind(name, keywords),
            "count": int(count),
            "total_seconds": total,
            "self_seconds": own,
        }
        for (name, keywords), (count, total, own) in sums.items()
    ]
    return most(frame("trace_annotations", rows), "self_seconds")


def _kind(name: str, keywords: str) -> str:
    if name.startswith("$"):
        return "python"
    return "step" if '"step_num"' in keywords else "annotation"


def _kernels(trace: Trace, of: list[Origin | None]) -> pd.DataFrame:
    rows = []
    for line in trace.lines:
        if line.is_device:
            rows += [_kernel(trace, of, line, at) for at in range(len(line.starts))]
    return kernel_table([row for row in rows if row])


def _kernel(trace: Trace, of: list[Origin | None], line: Line, at: int) -> dict[str, Any] | None:
    note = line.notes.get(at, {})
    if "memcpy_details" in note or "memset_details" in note:
        return None
    details = dict(_DETAIL.findall(str(note.get("kernel_details", ""))))
    op = line.ops[at]
    origin = of[op] if op >= 0 else None
    shared = [details[key] for key in ("static_shared", "dynamic_shared") if key in details]
    return {
        "kernel": trace.names[line.names[at]],
        "op": trace.ops[op][1] if op >= 0 else "",
        "program": trace.ops[op][0] if op >= 0 else "",
        "scope": origin.scope if origin else "",
        "device": line.plane,
        "seconds": line.durations[at],
        "grid": details.get("grid", ""),
        "block": details.get("block", ""),
        "registers_count": int(details["regs"]) if "regs" in details else None,
        "shared_bytes": sum(map(int, shared)) if shared else None,
    }
