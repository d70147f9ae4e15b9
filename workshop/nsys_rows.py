"""SQLite files as nsys exports them, written by hand.

Tables and columns follow the "SQLite Schema Reference" of Nsight Systems; the columns that the
test `test_a_real_capture_has_this_layout` reads were seen in exports of versions 2022.4.2 and
2023.4.4.
"""

import sqlite3
from contextlib import closing

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


def write(path, rows, meta="META_DATA_EXPORT", version="2024.5.1"):
    """Write a file with the tables that have rows, and no others, as nsys does."""
    rows = {**rows, meta: [{"name": "EXPORT_PRODUCT_VERSION", "value": version}]}
    with closing(sqlite3.connect(path)) as base:
        for table, records in rows.items():
            # As objects: absent integers would make the others floats.
            frame = pd.DataFrame(records, columns=TABLES[table].split(), dtype=object)
            frame.to_sql(table, base, index=False)
    return path


def text_range(start, end, text=None, *, text_id=None, thread=THREAD, kind=59):
    named = {"text": text, "textId": text_id, "globalTid": thread}
    return {"start": start, "end": end, "eventType": kind, **named}


def call(start, correlation, *, thread=THREAD):
    known = {"eventClass": 0, "nameId": 1, "returnValue": 0}
    ids = {"globalTid": thread, "correlationId": correlation}
    return {"start": start, "end": start + 5, **ids, **known}


def kernel(start, end, correlation, *, name=2, grid=(4, 1, 1)):
    named = {"demangledName": name, "shortName": name, "correlationId": correlation}
    sizes = dict(zip(("gridX", "gridY", "gridZ"), grid, strict=True))
    return {"start": start, "end": end, **named, **sizes, **LAUNCH}


def copy(start, end, size, kind):
    return {"start": start, "end": end, **STREAM, "bytes": size, "copyKind": kind}


STRINGS = [
    {"id": 1, "value": "cuLaunchKernel"},
    {"id": 2, "value": "fused_sine"},
    {"id": 3, "value": "Thunk:#name=jit(f)/far/sin,hlo_op=fusion.1#"},
]
