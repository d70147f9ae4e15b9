"""A capture of Nsight Systems as tables: kernels with operation and scope, copies, NVTX ranges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, cast

import pandas as pd

from jaxmeter._tables.kernels import kernel_table
from jaxmeter._tables.modules import named_scopes, origins
from jaxmeter._tables.nsys import NsysCapture
from jaxmeter._tables.nsys_ranges import (
    MODULE,
    THUNK,
    Thread,
    check_captured,
    notes_of,
    number,
    optional,
    ranges_of,
)
from jaxmeter._tables.schemas import REAL, TEXT, TRUTH, WHOLE, frame, most, schema
from jaxmeter._tables.self_time import self_times

schema(
    "nsys",
    "What was read, one row.",
    {
        "path": (TEXT, "the `.sqlite` file"),
        "version": (TEXT, "of nsys, that exported it"),
        "schema_version": (TEXT, "of its tables"),
        "kernels_count": (WHOLE, "launches of kernels"),
        "kernels_with_op_count": (WHOLE, "of them, those whose operation is known"),
        "kernels_with_scope_count": (WHOLE, "of them, those whose named scope is known"),
        "kernel_seconds": (REAL, "their durations, seconds; streams overlap"),
        "memcpy_count": (WHOLE, "copies"),
        "nvtx_ranges_count": (WHOLE, "NVTX ranges; 0 is a warning: see `nsys_nvtx`"),
        "thunk_ranges_count": (WHOLE, "of them, those that XLA writes for its operations"),
    },
)
schema(
    "nsys_memcpy",
    "Copies of one kind on one device.",
    {
        "copy_kind": (TEXT, "`host to device`, `device to host`, `device to device`, ..."),
        "device": (TEXT, "number of the GPU"),
        "count": (WHOLE, "copies"),
        "bytes": (WHOLE, "copied in all, bytes"),
        "total_seconds": (REAL, "their durations, seconds"),
        "bytes_per_second": (REAL, "bytes over total_seconds"),
    },
)
schema(
    "nsys_nvtx",
    "NVTX ranges of one text. None at all: JAX on a CPU writes none, and the Python package nvtx "
    "newer than 0.2.11 loses all of them under nsys 2022 and 2023, in silence.",
    {
        "text": (TEXT, "of the range"),
        "range_kind": (TEXT, "`push` and pop, nested on a thread, or `start` and end"),
        "count": (WHOLE, "ranges"),
        "total_seconds": (REAL, "their durations, seconds"),
        "self_seconds": (REAL, "without ranges within, on the same thread, seconds"),
        "is_thunk": (TRUTH, "whether XLA wrote it for an operation"),
        "op": (TEXT, "that operation's instruction"),
        "scope": (TEXT, "its named scopes"),
    },
)

NO_RANGES = (
    "NO NVTX RANGES in this capture: kernels cannot be joined with operations and scopes. On a CPU "
    "JAX writes none. On a GPU check that nsys traced nvtx; and the Python package nvtx newer than "
    "0.2.11 loses every range under nsys 2022 and 2023 without a word: pip install nvtx==0.2.11."
)

# CUpti_ActivityMemcpyKind of the CUPTI reference.
_COPIES = dict(
    enumerate(
        (
            *("unknown", "host to device", "device to host", "host to array", "array to host"),
            *("array to array", "array to device", "device to array", "device to device"),
            *("host to host", "peer to peer"),
        )
    )
)


def nsys_tables(
    capture: NsysCapture, hlo: Mapping[str, str] | None = None
) -> dict[str, pd.DataFrame]:
    """All tables of a capture.

    A kernel belongs to the call that launched it, by process and correlation number, and that to
    the innermost ``Thunk`` range around it on its thread. Kernels of a CUDA graph share one call,
    and have the operation around that, if any.

    Parameters
    ----------
    capture : NsysCapture
        From `read_nsys`.
    hlo : mapping, optional
        HLO texts of programs by name, ``jit_f``; without them scopes are those in XLA's ranges.

    Raises
    ------
    JaxmeterError
        If an HLO text is of another program than those that ran.
    """
    known = {name: origins(text) for name, text in (hlo or {}).items()}
    ranges = ranges_of(capture)
    for name, ops in known.items():
        check_captured(name, ops, ranges)
    launches = _launches(capture, ranges, known)
    nvtx = _nvtx(ranges, known)
    row = {
        "path": str(capture.path),
        "version": capture.version,
        "schema_version": capture.schema_version,
        "kernels_count": len(launches),
        "kernels_with_op_count": sum(1 for one in launches if one["op"]),
        "kernels_with_scope_count": sum(1 for one in launches if one["scope"]),
        "kernel_seconds": sum(one["seconds"] for one in launches),
        "memcpy_count": len(capture.memcpy),
        "nvtx_ranges_count": len(ranges),
        "thunk_ranges_count": sum(1 for text in ranges["text"] if "Thunk:#" in text),
    }
    return {
        "nsys": frame("nsys", [row]),
        "kernels": kernel_table(launches),
        "nsys_memcpy": _memcpy(capture),
        "nsys_nvtx": nvtx,
    }


def _launches(
    capture: NsysCapture, ranges: pd.DataFrame, known: dict[str, dict]
) -> list[dict[str, Any]]:
    pushed = cast(pd.DataFrame, ranges[ranges["range_kind"] == "push"])
    threads = {thread: Thread(rows) for thread, rows in pushed.groupby("thread")}
    calls: dict[tuple[int, int], tuple[int, int]] = {}
    # A runtime call and the driver's call within it share a number: the runtime's is kept.
    for table in (capture.driver, capture.runtime):
        for row in table.to_dict("records"):
            thread = number(row.get("globalTid"))
            key = _process(thread), number(row.get("correlationId"))
            calls[key] = thread, int(row["start"])
    rows = []
    for kernel in capture.kernels.to_dict("records"):
        process = _process(number(kernel.get("globalPid")))
        thread, time = calls.get((process, number(kernel.get("correlationId"))), (-1, 0))
        around = threads[thread].around(time) if thread in threads else []
        rows.append(_launch(capture, kernel, around, known))
    return rows


def _process(identifier: int) -> int:
    """Of a global thread or process identifier, what two of one process share."""
    return identifier >> 24 if identifier >= 0 else -1


def _launch(capture: NsysCapture, kernel: dict, around: list[str], known: dict) -> dict[str, Any]:
    thunk = next((notes for text in around if (notes := notes_of(THUNK, text))), {})
    module = next((notes for text in around if (notes := notes_of(MODULE, text))), {})
    program = module.get("hlo_module", thunk.get("hlo_module", ""))
    name = kernel.get("demangledName")
    name = kernel.get("shortName") if name is None or pd.isna(name) else name
    shared = [optional(kernel.get(f"{kind}SharedMemory")) for kind in ("static", "dynamic")]
    return {
        "kernel": capture.strings.get(number(name), str(name)),
        "op": thunk.get("hlo_op", ""),
        "program": program,
        "scope": _scope(thunk, program, known),
        "device": str(number(kernel.get("deviceId"))),
        "seconds": (int(kernel["end"]) - int(kernel["start"])) * 1e-9,
        "grid": _shape(kernel, "grid"),
        "block": _shape(kernel, "block"),
        "registers_count": optional(kernel.get("registersPerThread")),
        "shared_bytes": None if None in shared else sum(n or 0 for n in shared),
    }


def _scope(thunk: dict[str, str], program: str, known: dict[str, dict]) -> str:
    op = thunk.get("hlo_op", "")
    # Without a module's name any program with such an instruction will do, if there is but one.
    candidates = [known.get(program, {})] if program else list(known.values())
    found = {one[op].scope for one in candidates if op in one}
    if len(found) == 1:
        return found.pop()
    return named_scopes(thunk.get("name", ""))


def _shape(kernel: dict, what: str) -> str:
    sizes = [optional(kernel.get(f"{what}{axis}")) for axis in "XYZ"]
    return "" if None in sizes else ",".join(map(str, sizes))


def _memcpy(capture: NsysCapture) -> pd.DataFrame:
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0, 0.0])
    for row in capture.memcpy.to_dict("records"):
        kind = _COPIES.get(number(row.get("copyKind")), f"kind {row.get('copyKind')}")
        into = sums[kind, str(number(row.get("deviceId")))]
        into[0] += 1
        into[1] += int(row["bytes"])
        into[2] += (int(row["end"]) - int(row["start"])) * 1e-9
    rows = [
        {
            "copy_kind": kind,
            "device": device,
            "count": count,
            "bytes": size,
            "total_seconds": seconds,
            "bytes_per_second": size / seconds if seconds else None,
        }
        for (kind, device), (count, size, seconds) in sums.items()
    ]
    return most(frame("nsys_memcpy", rows), "total_seconds")


def _nvtx(ranges: pd.DataFrame, known: dict[str, dict]) -> pd.DataFrame:
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for key, rows in ranges.groupby(["range_kind", "thread"]):
        kind = cast(tuple, key)[0]
        starts = rows["start"].to_numpy(dtype=float)
        durations = rows["end"].to_numpy(dtype=float) - starts
        own = self_times(starts, durations)[0] if kind == "push" else durations
        for text, whole, alone in zip(rows["text"], durations, own, strict=True):
            into = sums[text, str(kind)]
            into[0] += 1
            into[1] += whole * 1e-9
            into[2] += alone * 1e-9
    table = []
    for (text, kind), (count, total, own) in sums.items():
        thunk = notes_of(THUNK, text)
        table.append(
            {
                "text": text,
                "range_kind": kind,
                "count": count,
                "total_seconds": total,
                "self_seconds": own,
                "is_thunk": bool(thunk),
                "op": thunk.get("hlo_op", ""),
                "scope": _scope(thunk, thunk.get("hlo_module", ""), known) if thunk else "",
            }
        )
    return most(frame("nsys_nvtx", table), "total_seconds")
