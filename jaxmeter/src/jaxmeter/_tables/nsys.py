"""Make Nsight Systems captures with ``nsys``, and read the SQLite files that ``nsys`` exports.

NVIDIA describes the layout of these files in "SQLite Schema Reference"
(docs.nvidia.com/nsight-systems). nsys leaves out empty tables. Times are in nanoseconds. A string
may be stored as a number; the table ``StringIds`` lists the strings by number.
"""

from __future__ import annotations

import re
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from jaxmeter._records.argument_types import checking_types
from jaxmeter._records.files import check_file, file_errors
from jaxmeter.errors import JaxmeterError

INSTALL_NSYS = (
    "nsys is not installed here; install Nsight Systems (developer.nvidia.com/nsight-systems, "
    "Debian's non-free package nsight-systems) or give the path of nsys (option --nsys of "
    "profiling/nsys.py). To read a capture from another machine, export it there: "
    "nsys export --type sqlite FILE.nsys-rep"
)
# For each table of nsys: the field in `NsysCapture`, the required columns and the optional columns.
# All these columns except `text` contain whole numbers.
_CALL = (("start",), ("globalTid", "correlationId"))
_TABLES = {
    "NVTX_EVENTS": ("nvtx", ("start", "eventType"), ("end", "textId", "globalTid", "text")),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        "kernels",
        ("start", "end"),
        (
            *("deviceId", "correlationId", "globalPid", "registersPerThread"),
            *("demangledName", "shortName", "staticSharedMemory", "dynamicSharedMemory"),
            *(f"{what}{axis}" for what in ("grid", "block") for axis in "XYZ"),
        ),
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": ("memcpy", ("start", "end", "bytes"), ("copyKind", "deviceId")),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("runtime", *_CALL),
    "CUPTI_ACTIVITY_KIND_DRIVER": ("driver", *_CALL),
}
_METADATA = ("META_DATA_EXPORT", "EXPORT_META_DATA")  # the new name, and the name before nsys 2023
_FILE_BYTES = 2**31
_MOST_ROWS_COUNT = 4_000_000
_VERSION = re.compile(r"version (\S+)")
_SECONDS = 600.0


@dataclass(frozen=True)
class NsysCapture:
    """The tables of one capture. A table that nsys left out is empty.

    Attributes
    ----------
    path : the ``.sqlite`` file.
    version, schema_version : version of nsys, and version of the layout of its tables; empty if the
        file does not contain them.
    nvtx, kernels, memcpy, runtime, driver : the columns that jaxmeter uses from nsys's tables.
    strings : the strings of ``StringIds`` by number.
    """

    path: Path
    version: str
    schema_version: str
    nvtx: pd.DataFrame
    kernels: pd.DataFrame
    memcpy: pd.DataFrame
    runtime: pd.DataFrame
    driver: pd.DataFrame
    strings: dict[int, str]


@checking_types
def nsys_program(given: str | Path | None = None) -> str:
    """Return the path of the program ``given``, or of ``nsys`` on the PATH if ``given`` is None.

    Raises
    ------
    JaxmeterError
        If the program is not found.
    """
    found = shutil.which(str(given or "nsys"))
    if found is None:
        raise JaxmeterError(
            f"nsys: got {str(given)!r}, which is not a program; give the path of nsys"
            if given
            else INSTALL_NSYS
        )
    return found


@checking_types
def nsys_version(nsys: str | Path) -> str:
    """Return the version of nsys, such as ``2023.4.4.54``; empty if nsys does not print it.

    Raises
    ------
    JaxmeterError
        If nsys fails.
    """
    match = _VERSION.search(_run([nsys, "--version"], "print its version"))
    return match[1] if match else ""


@checking_types
def nsys_profile(nsys: str | Path, command: Sequence[str | Path], report: Path) -> Path:
    """Run a command under ``nsys profile``, which traces CUDA and NVTX; return the report's path.

    The path is ``report`` with the suffix ``.nsys-rep``.

    Raises
    ------
    JaxmeterError
        If nsys fails, the command fails, nsys runs for more than ten minutes, or nsys writes no
        report.
    """
    options = ["--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true"]
    _run([nsys, "profile", *options, f"--output={report.with_suffix('')}", *command], "profile")
    made = report.with_suffix(".nsys-rep")
    if not made.is_file():
        raise JaxmeterError(
            f"nsys: profile did not write {str(made)!r}; profile again. If there is a .qdstrm file "
            "instead, the importer of nsys is missing: install the host part of Nsight Systems"
        )
    return made


@checking_types
def nsys_export(nsys: str | Path, report: Path) -> Path:
    """Export a report as a ``.sqlite`` file next to the report, and return the file's path.

    Raises
    ------
    JaxmeterError
        If nsys fails or exports nothing.
    """
    database = report.with_suffix(".sqlite")
    options = ["--type=sqlite", "--force-overwrite=true", f"--output={database}"]
    _run([nsys, "export", *options, str(report)], "export")
    if not database.is_file():
        raise JaxmeterError(
            f"nsys: exported nothing from {str(report)!r}; the report may be incomplete, so "
            "profile again"
        )
    return database


def _run(command: Sequence[str | Path], what: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JaxmeterError(
            f"nsys: could not {what} ({error}); check that nsys can be started and finishes "
            "within ten minutes"
        ) from None
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]
        raise JaxmeterError(
            f"nsys: {str(command[0])!r} could not {what} (exit code {done.returncode}); correct "
            "the error that nsys reports:\n" + "\n".join(lines)
        )
    return done.stdout


@checking_types
def read_nsys(path: Path) -> NsysCapture:
    """Read a ``.sqlite`` file that nsys exported.

    Raises
    ------
    JaxmeterError
        If the file is not an SQLite file of nsys, cannot be read, is truncated or is too large.
    """
    with file_errors("nsys", path, "give a .sqlite file that nsys exported"):
        check_file(path, _FILE_BYTES)
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as base:
            base.text_factory = lambda content: content.decode("utf-8", "replace")
            listed = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            names = sorted(str(row[0]) for row in listed)
            frames = {ours: _frame(base, theirs, names) for theirs, (ours, *_) in _TABLES.items()}
            strings = _pairs(base, "id", "StringIds") if "StringIds" in names else {}
            metadata = [name for name in _METADATA if name in names]
            about = _pairs(base, "name", metadata[0]) if metadata else {}
    except (sqlite3.Error, ValueError, OverflowError) as error:
        raise JaxmeterError(
            f"nsys: got {str(path)!r}, which cannot be read ({error}); if it is truncated or not "
            "an SQLite file of nsys, export it again: nsys export --type sqlite FILE.nsys-rep"
        ) from None
    if not any(name in names for name in (*_TABLES, "StringIds", "ANALYSIS_DETAILS")):
        raise JaxmeterError(
            f"nsys: got {str(path)!r}, which is not a capture of nsys (its tables are "
            f"{', '.join(names[:8]) or 'none'}); give a .sqlite file that nsys exported"
        )
    return NsysCapture(
        path=path,
        version=about.get("EXPORT_PRODUCT_VERSION", ""),
        schema_version=about.get("EXPORT_SCHEMA_VERSION", ""),
        strings=strings,
        **frames,
    )


def _frame(base: sqlite3.Connection, table: str, names: list[str]) -> pd.DataFrame:
    """Return a table of the file, with the columns in `_TABLES`; an empty frame if the table is not
    in ``names``. ``names`` lists all tables of the file."""
    if table not in names:
        return pd.DataFrame()
    _, needed, optional = _TABLES[table]
    present = {row[1] for row in base.execute(f"PRAGMA table_xinfo({table})")}
    missing = [name for name in needed if name not in present]
    if missing:
        raise ValueError(f"table {table!r} has no column {missing[0]!r}")
    columns = [name for name in (*needed, *optional) if name in present]
    listed = ", ".join(f'"{name}"' for name in columns)
    rows = base.execute(f"SELECT {listed} FROM {table} LIMIT {_MOST_ROWS_COUNT + 1}").fetchall()
    if len(rows) > _MOST_ROWS_COUNT:
        raise ValueError(
            f"table {table!r} has more than {_MOST_ROWS_COUNT:,} rows; profile a shorter run"
        )
    for position, name in enumerate(columns):
        kinds = (int,) if name in needed else (int, type(None))
        wrong = next((row for row in rows if type(row[position]) not in kinds), None)
        if wrong and name != "text":
            raise ValueError(
                f"column {name!r} of table {table!r} has the value {wrong[position]!r:.80}, which "
                "is not a whole number"
            )
    # Use objects, because pandas turns integers into floats if a number is missing.
    return pd.DataFrame(rows, columns=pd.Index(columns), dtype=object)


def _pairs(base: sqlite3.Connection, key: str, table: str) -> dict:
    rows = base.execute(f"SELECT {key}, value FROM {table} LIMIT {_MOST_ROWS_COUNT}")
    return {found: str(value) for found, value in rows}
