"""Write SQLite files in the layout of nsys exports, without a capture.

Tables and columns follow the "SQLite Schema Reference" of Nsight Systems. Exports of nsys 2022.4.2
and 2023.4.4 contained these columns. `test_a_real_capture_has_the_layout_of_nsys_rows` reads some
of the columns from a real capture.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd

ACTIVITY = "start end deviceId contextId streamId correlationId globalPid "
TABLES = {
    "StringIds": "id value",
    "NVTX_EVENTS": (
        "start end eventType rangeId category color text globalTid endGlobalTid textId domainId"
    ),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        f"{ACTIVITY} demangledName shortName registersPerThread gridX gridY gridZ "
        "blockX blockY blockZ staticSharedMemory dynamicSharedMemory"
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{ACTIVITY} bytes copyKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start end eventClass globalTid correlationId nameId returnValue"
    ),
    "META_DATA_EXPORT": "name value",
    "EXPORT_META_DATA": "name value",
}

PROCESS = 7 << 24
THREAD = PROCESS | 7
STREAM = {"deviceId": 0, "contextId": 1, "streamId": 7}
LAUNCH = {
    **STREAM,
    "globalPid": PROCESS,
    "registersPerThread": 40,
    **{"blockX": 128, "blockY": 1, "blockZ": 1},
    **{"staticSharedMemory": 0, "dynamicSharedMemory": 512},
}
TO_DEVICE, TO_HOST = 1, 2
"""Kinds of copies, from CUPTI's CUpti_ActivityMemcpyKind."""
RUNS, ROUNDS, ARRAY_BYTES = 3, 6, 18_432  # of the loop in lesson 5

Row = dict[str, Any]
STRINGS: list[Row] = [
    {"id": 1, "value": "cuLaunchKernel"},
    {"id": 2, "value": "fused_sine"},
    {"id": 3, "value": "Thunk:#name=jit(f)/far/sin,hlo_op=fusion.1#"},
]


def write(
    path: Path,
    rows: Mapping[str, Sequence[Row]],
    meta: str = "META_DATA_EXPORT",
    version: str = "2024.5.1",
) -> Path:
    """Write a file with the tables in `rows` and with the version of nsys; return the file's path.

    Like nsys, leave out all other tables. `meta` is the table with the version.
    """
    rows = {**rows, meta: [{"name": "EXPORT_PRODUCT_VERSION", "value": version}]}
    with closing(sqlite3.connect(path)) as base:
        for table, records in rows.items():
            columns: Any = TABLES[table].split()
            # Use objects, because pandas turns integers into floats if a number is missing.
            frame = pd.DataFrame(list(records), columns=columns, dtype=object)
            frame.to_sql(table, base, index=False)
    return path


def text_range(
    start: int,
    end: int,
    text: str | None = None,
    *,
    text_id: int | None = None,
    thread: int = THREAD,
    kind: int = 59,
) -> Row:
    """Return the row of an NVTX range, with times in nanoseconds.

    A push-pop range has the kind 59. A start-end range has the kind 60.
    """
    named = {"text": text, "textId": text_id, "globalTid": thread}
    return {"start": start, "end": end, "eventType": kind, **named}


def call(start: int, correlation: int, *, thread: int = THREAD) -> Row:
    """Return the row of a call that launches a kernel. Both have the number `correlation`."""
    known = {"eventClass": 0, "nameId": 1, "returnValue": 0}
    ids = {"globalTid": thread, "correlationId": correlation}
    return {"start": start, "end": start + 5, **ids, **known}


def kernel(
    start: int, end: int, correlation: int, *, grid: tuple[int, int, int] = (4, 1, 1)
) -> Row:
    """Return the row of a kernel's run. The kernel's name has the id 2 in ``StringIds``.

    The call that launches the kernel has the same number `correlation`.
    """
    named = {"demangledName": 2, "shortName": 2, "correlationId": correlation}
    sizes = dict(zip(("gridX", "gridY", "gridZ"), grid, strict=True))
    return {"start": start, "end": end, **named, **sizes, **LAUNCH}


def copy(start: int, end: int, size: int, kind: int) -> Row:
    """Return the row of a copy of `size` bytes, of the kind `TO_DEVICE` or `TO_HOST`."""
    return {"start": start, "end": end, **STREAM, "bytes": size, "copyKind": kind}


def write_loop(path: Path) -> Path:
    """Write the capture of lesson 5: `RUNS` runs of a loop with one kernel in each round.

    The times are made up: a round takes 7 us on the host, and its kernel takes 2 us on the GPU. The
    array is copied to the GPU once, and to the host after each run. The lesson reads the same
    content from workshop/recorded/loop.sql.
    """
    module = "XlaModule:#hlo_module=jit_smoothed_in_loop,program_id=1#"
    thunk = "Thunk:#name=jit(smoothed_in_loop)/while/body/smoothing/add,hlo_op=loop_add_fusion#"
    ranges, calls, kernels, copies = [], [], [], [copy(0, 4_000, ARRAY_BYTES, TO_DEVICE)]
    for run in range(RUNS):
        begin = 20_000 + 100_000 * run
        for number in range(ROUNDS):
            at, correlation = begin + 5_000 + 7_000 * number, 1 + run * ROUNDS + number
            ranges.append(text_range(at, at + 7_000, thunk))
            calls.append(call(at + 1_000, correlation))
            kernels.append(kernel(at + 8_000, at + 10_000, correlation, grid=(36, 1, 1)))
        end = begin + 10_000 + 7_000 * ROUNDS
        ranges.append(text_range(begin, end, module))
        copies.append(copy(end + 5_000, end + 9_000, ARRAY_BYTES, TO_HOST))
    rows = {
        "StringIds": [STRINGS[0], {"id": 2, "value": "loop_add_fusion"}],
        "NVTX_EVENTS": ranges,
        "CUPTI_ACTIVITY_KIND_RUNTIME": calls,
        "CUPTI_ACTIVITY_KIND_KERNEL": kernels,
        "CUPTI_ACTIVITY_KIND_MEMCPY": copies,
    }
    return write(path, rows, version="written by hand")
