"""SQLite files as nsys exports them, written by hand.

Tables and columns are those of the "SQLite Schema Reference" of Nsight Systems; what the test
`test_a_real_capture_has_this_layout` reads was seen in exports of versions 2022.4.2 and 2023.4.4.
"""

import sqlite3
from contextlib import closing

TABLES = {
    "StringIds": "id INTEGER PRIMARY KEY, value TEXT NOT NULL",
    "NVTX_EVENTS": (
        "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, "
        "category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, "
        "textId INTEGER, domainId INTEGER"
    ),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
        "contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, "
        "globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, "
        "registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, "
        "gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, "
        "blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, "
        "dynamicSharedMemory INTEGER NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "
        "contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, "
        "globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL"
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, "
        "globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, "
        "returnValue INTEGER NOT NULL"
    ),
    "META_DATA_EXPORT": "name TEXT, value TEXT",
    "EXPORT_META_DATA": "name TEXT, value TEXT",
}

PROCESS = 7 << 24
THREAD = PROCESS | 7


def write(path, rows, meta="META_DATA_EXPORT", version="2024.5.1"):
    """A file with the tables that have rows, and no others, as nsys does."""
    rows = {**rows, meta: [{"name": "EXPORT_PRODUCT_VERSION", "value": version}]}
    with closing(sqlite3.connect(path)) as base:
        for table, records in rows.items():
            base.execute(f"CREATE TABLE {table} ({TABLES[table]})")
            for record in records:
                marks = ", ".join("?" * len(record))
                columns = ", ".join(record)
                base.execute(
                    f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(record.values())
                )
        base.commit()
    return path


def text_range(start, end, text=None, *, text_id=None, thread=THREAD, kind=59):
    return {
        "start": start,
        "end": end,
        "eventType": kind,
        "text": text,
        "textId": text_id,
        "globalTid": thread,
    }


def call(start, correlation, *, thread=THREAD):
    return {
        "start": start,
        "end": start + 5,
        "eventClass": 0,
        "globalTid": thread,
        "correlationId": correlation,
        "nameId": 1,
        "returnValue": 0,
    }


def kernel(start, end, correlation, *, name=2, grid=(4, 1, 1)):
    return {
        "start": start,
        "end": end,
        "deviceId": 0,
        "contextId": 1,
        "streamId": 7,
        "correlationId": correlation,
        "globalPid": PROCESS,
        "demangledName": name,
        "shortName": name,
        "registersPerThread": 40,
        **dict(zip(("gridX", "gridY", "gridZ"), grid, strict=True)),
        "blockX": 128,
        "blockY": 1,
        "blockZ": 1,
        "staticSharedMemory": 0,
        "dynamicSharedMemory": 512,
    }


def copy(start, end, size, kind):
    return {
        "start": start,
        "end": end,
        "deviceId": 0,
        "contextId": 1,
        "streamId": 7,
        "bytes": size,
        "copyKind": kind,
    }


STRINGS = [
    {"id": 1, "value": "cuLaunchKernel"},
    {"id": 2, "value": "fused_sine"},
    {"id": 3, "value": "Thunk:#name=jit(f)/far/sin,hlo_op=fusion.1#"},
]
