"""Make the tables of an nsys capture: memory copies, NVTX ranges, kernels with their scopes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pandas as pd

from jaxmeter._program.hlo import Instruction, named_instructions, named_scopes
from jaxmeter._records.argument_types import checking_types
from jaxmeter._tables.nsys import NsysCapture
from jaxmeter._tables.schemas import frame, kernel_table, mismatch, most
from jaxmeter._trace.intervals import self_times

NO_RANGES = (
    "NO NVTX RANGES in this capture: kernels cannot be joined with operations and scopes. On a "
    "CPU, JAX writes no ranges. On a GPU, check that nsys traced nvtx. Versions of the Python "
    "package nvtx newer than 0.2.11 silently lose every range under nsys 2022 and 2023: run "
    "pip install nvtx==0.2.11."
)

# The names of the values of CUpti_ActivityMemcpyKind, in the order of the CUPTI reference.
_COPIES = (
    *("unknown", "host to device", "device to host", "host to array", "array to host"),
    *("array to array", "array to device", "device to array", "device to device"),
    *("host to host", "peer to peer"),
)
_RANGE_KINDS = {59: "push", 60: "start"}
# XLA's ranges contain notes such as Thunk:#name=jit(f)/far/dot,hlo_op=dot.1#
_THUNK = re.compile(r"Thunk:#(?P<notes>.*)#")
_MODULE = re.compile(r"XlaModule:#(?P<notes>.*)#")
_NOTE = re.compile(r"(?P<key>\w+)=(?P<value>.*?)(?=,\w+=|$)")

Known = Mapping[str, Mapping[str, Instruction]]
"""The instructions of programs, by the name of the program, then by the name of the instruction."""


@checking_types
def nsys_tables(
    capture: NsysCapture, hlo: Mapping[str, str] | None = None
) -> dict[str, pd.DataFrame]:
    """Return all tables of a capture by name.

    Each kernel is joined with the call that launched it, by process and correlation number. A call
    is joined with the innermost ``Thunk`` range around the call on the same thread. XLA writes such
    a range for each operation. One call launches all kernels of a CUDA graph, so all these kernels
    get the same operation.

    Parameters
    ----------
    capture : NsysCapture
        The capture from `read_nsys`.
    hlo : mapping, optional
        The HLO texts of programs by name, such as ``jit_f``. The named scopes of operations that
        are not in these texts are taken from XLA's ranges.

    Raises
    ------
    JaxmeterError
        If an HLO text does not match the capture.
    """
    known = {name: named_instructions(text) for name, text in (hlo or {}).items()}
    ranges = _ranges(capture)
    for name, instructions in known.items():
        _check_ran(name, instructions, ranges)
    launches = _launches(capture, ranges, known)
    row = {
        "path": str(capture.path),
        "version": capture.version,
        "schema_version": capture.schema_version,
        "kernels_count": len(launches),
        "kernels_with_op_count": sum(1 for launch in launches if launch["op"]),
        "kernels_with_scope_count": sum(1 for launch in launches if launch["scope"]),
        "kernel_seconds": sum(launch["seconds"] for launch in launches),
        "memcpy_count": len(capture.memcpy),
        "nvtx_ranges_count": len(ranges),
        "thunk_ranges_count": sum(1 for text in ranges["text"] if "Thunk:#" in text),
    }
    return {
        "nsys": frame("nsys", [row]),
        "kernels": kernel_table(launches),
        "nsys_memcpy": _memcpy(capture),
        "nsys_nvtx": _nvtx(ranges, known),
    }


def _ranges(capture: NsysCapture) -> pd.DataFrame:
    """Return the finished NVTX ranges: text, kind, thread, start and end in nanoseconds."""
    rows = [
        {
            "text": _text(capture, row),
            "range_kind": _RANGE_KINDS[row["eventType"]],
            "thread": _number(row.get("globalTid")),
            "start": row["start"],
            "end": row["end"],
        }
        for row in capture.nvtx.to_dict("records")
        if row["eventType"] in _RANGE_KINDS and row.get("end") is not None
    ]
    return pd.DataFrame(rows, columns=["text", "range_kind", "thread", "start", "end"])


def _text(capture: NsysCapture, row: Mapping[Any, Any]) -> str:
    text = row.get("text")
    return text if isinstance(text, str) else capture.strings.get(_number(row.get("textId")), "")


def _number(value: int | None) -> int:
    return -1 if value is None else value


def _notes(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    match = pattern.search(text)
    return {m["key"]: m["value"] for m in _NOTE.finditer(match["notes"])} if match else {}


def _check_ran(name: str, known: Mapping[str, Instruction], ranges: pd.DataFrame) -> None:
    programs = {_notes(_MODULE, text).get("hlo_module", "") for text in ranges["text"]} - {""}
    ran = {_notes(_THUNK, text).get("hlo_op", "") for text in ranges["text"]} - {""}
    matched = sum(1 for op in ran if op in known)
    if (programs and name not in programs) or (ran and not matched):
        found = f"{matched} of the {len(ran)} operations of the capture"
        raise mismatch(name, "capture", programs, found)


class _Thread:
    """The nested ranges of one thread."""

    def __init__(self, rows: pd.DataFrame) -> None:
        rows = rows.sort_values(["start", "end"], ascending=[True, False])
        self.texts = rows["text"].tolist()
        self.starts = rows["start"].to_numpy()
        self.ends = rows["end"].tolist()
        self.parents: list[int] = []
        open_ranges: list[int] = []
        for index, start in enumerate(self.starts.tolist()):
            while open_ranges and self.ends[open_ranges[-1]] <= start:
                open_ranges.pop()
            self.parents.append(open_ranges[-1] if open_ranges else -1)
            open_ranges.append(index)

    def around(self, time: int) -> list[str]:
        """Return the texts of all ranges around a time in nanoseconds, the innermost first."""
        found = []
        index = int(np.searchsorted(self.starts, time, side="right")) - 1
        while index >= 0:
            if self.ends[index] > time:
                found.append(self.texts[index])
            index = self.parents[index]
        return found


def _launches(capture: NsysCapture, ranges: pd.DataFrame, known: Known) -> list[dict[str, Any]]:
    pushed = cast(pd.DataFrame, ranges[ranges["range_kind"] == "push"])
    threads = {thread: _Thread(rows) for thread, rows in pushed.groupby("thread")}
    calls: dict[tuple[int, int], tuple[int, int]] = {}
    # A runtime call and the driver call inside it have the same correlation number: keep the
    # runtime call.
    for table in (capture.driver, capture.runtime):
        for row in table.to_dict("records"):
            thread = _number(row.get("globalTid"))
            key = _process(thread), _number(row.get("correlationId"))
            calls[key] = thread, row["start"]
    rows = []
    for kernel in capture.kernels.to_dict("records"):
        process = _process(_number(kernel.get("globalPid")))
        thread, time = calls.get((process, _number(kernel.get("correlationId"))), (-1, 0))
        around = threads[thread].around(time) if thread in threads else []
        rows.append(_launch(capture, kernel, around, known))
    return rows


def _process(identifier: int) -> int:
    """Return the part of an identifier that identifies the process; -1 if `identifier` is -1."""
    return identifier >> 24 if identifier >= 0 else -1


def _launch(
    capture: NsysCapture, kernel: Mapping[Any, Any], around: list[str], known: Known
) -> dict[str, Any]:
    thunk = next((notes for text in around if (notes := _notes(_THUNK, text))), {})
    module = next((notes for text in around if (notes := _notes(_MODULE, text))), {})
    program = module.get("hlo_module", thunk.get("hlo_module", ""))
    name = kernel.get("demangledName")
    name = kernel.get("shortName") if name is None else name
    shared: list[Any] = [kernel.get(f"{kind}SharedMemory") for kind in ("static", "dynamic")]
    return {
        "kernel": capture.strings.get(_number(name), str(name)),
        "op": thunk.get("hlo_op", ""),
        "program": program,
        "scope": _scope(thunk, program, known),
        "device": str(_number(kernel.get("deviceId"))),
        "seconds": (kernel["end"] - kernel["start"]) * 1e-9,
        "grid": _shape(kernel, "grid"),
        "block": _shape(kernel, "block"),
        "registers_count": kernel.get("registersPerThread"),
        "shared_bytes": None if None in shared else sum(shared),
    }


def _scope(thunk: Mapping[str, str], program: str, known: Known) -> str:
    op = thunk.get("hlo_op", "")
    # If the program is not known, search all programs. Use the scope only if one scope is found.
    candidates = [known.get(program, {})] if program else list(known.values())
    found = {instructions[op].scope for instructions in candidates if op in instructions}
    return found.pop() if len(found) == 1 else named_scopes(thunk.get("name", ""))


def _shape(kernel: Mapping[Any, Any], what: str) -> str:
    sizes = [kernel.get(f"{what}{axis}") for axis in "XYZ"]
    return "" if None in sizes else ",".join(map(str, sizes))


def _memcpy(capture: NsysCapture) -> pd.DataFrame:
    rows = []
    for row in capture.memcpy.to_dict("records"):
        number = _number(row.get("copyKind"))
        kind = _COPIES[number] if 0 <= number < len(_COPIES) else f"kind {row.get('copyKind')}"
        seconds = (row["end"] - row["start"]) * 1e-9
        rows.append((kind, str(_number(row.get("deviceId"))), row["bytes"], seconds))
    # The bytes are Python integers, because their sum may need more than 64 bits.
    copies = pd.DataFrame(rows, columns=["copy_kind", "device", "bytes", "seconds"], dtype=object)
    sums = copies.groupby(["copy_kind", "device"], sort=False).agg(
        count=("bytes", "size"), bytes=("bytes", "sum"), total_seconds=("seconds", "sum")
    )
    seconds = sums["total_seconds"].astype(float)
    sums["bytes_per_second"] = sums["bytes"] / seconds.replace(0.0, np.nan)
    return most(frame("nsys_memcpy", sums.reset_index()), "total_seconds")


def _nvtx(ranges: pd.DataFrame, known: Known) -> pd.DataFrame:
    ranges = ranges.assign(total_seconds=(ranges["end"] - ranges["start"]) * 1e-9)
    ranges["self_seconds"] = ranges["total_seconds"]
    pushed = cast(pd.DataFrame, ranges[ranges["range_kind"] == "push"])
    for _, rows in pushed.groupby("thread"):
        starts = rows["start"].to_numpy(dtype=float)
        own = self_times(starts, rows["end"].to_numpy(dtype=float) - starts)
        ranges.loc[rows.index, "self_seconds"] = own * 1e-9
    table = ranges.groupby(["text", "range_kind"], sort=False).agg(
        count=("text", "size"),
        total_seconds=("total_seconds", "sum"),
        self_seconds=("self_seconds", "sum"),
    )
    table = table.reset_index()
    thunks = [_notes(_THUNK, text) for text in table["text"]]
    table["is_thunk"] = list(map(bool, thunks))
    table["op"] = [thunk.get("hlo_op", "") for thunk in thunks]
    table["scope"] = [
        _scope(thunk, thunk.get("hlo_module", ""), known) if thunk else "" for thunk in thunks
    ]
    return most(frame("nsys_nvtx", table), "total_seconds")
