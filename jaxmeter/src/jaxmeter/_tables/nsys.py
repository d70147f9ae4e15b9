"""Make captures of Nsight Systems with ``nsys``, and read the SQLite files that it exports.

The layout is that of NVIDIA's "SQLite Schema Reference" (docs.nvidia.com/nsight-systems): empty
tables are left out, times are in nanoseconds, and texts may be numbers of ``StringIds``.
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

from jaxmeter.errors import JaxmeterError

INSTALL_NSYS = (
    "nsys is not installed here; install Nsight Systems (developer.nvidia.com/nsight-systems, "
    "Debian's non-free package nsight-systems) or give its program with --nsys. To read a capture "
    "from another machine, export it there: nsys export --type sqlite FILE.nsys-rep"
)
_TABLES = {
    "NVTX_EVENTS": "nvtx",
    "CUPTI_ACTIVITY_KIND_KERNEL": "kernels",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "memcpy",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "runtime",
    "CUPTI_ACTIVITY_KIND_DRIVER": "driver",
}
_VERSION = re.compile(r"version (\S+)")
_SECONDS = 600.0


@dataclass(frozen=True)
class NsysCapture:
    """The tables of one capture, as nsys wrote them; a table that it left out is empty.

    Attributes
    ----------
    path : the ``.sqlite`` file.
    version, schema_version : of nsys; empty if the file has none.
    nvtx, kernels, memcpy, runtime, driver : frames with nsys' own columns.
    strings : texts by number.
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


def nsys_program(given: str | None = None) -> str:
    """Return the path of ``nsys``.

    Raises
    ------
    JaxmeterError
        If there is none; the message says what to install.
    """
    found = shutil.which(given or "nsys")
    if found is None:
        raise JaxmeterError(f"nsys: got {given!r}, which is no program" if given else INSTALL_NSYS)
    return found


def nsys_version(nsys: str) -> str:
    """Return the version of nsys, such as ``2023.4.4.54``."""
    match = _VERSION.search(_run([nsys, "--version"], "print its version"))
    return match[1] if match else ""


def nsys_profile(nsys: str, command: Sequence[str], report: Path) -> Path:
    """Run a command under ``nsys profile`` with CUDA and NVTX traced; return the report's path.

    Raises
    ------
    JaxmeterError
        If nsys or the command fails, or leaves no report.
    """
    options = ["--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true"]
    _run([nsys, "profile", *options, f"--output={report.with_suffix('')}", *command], "profile")
    made = report.with_suffix(".nsys-rep")
    if not made.is_file():
        raise JaxmeterError(
            f"nsys: left no {str(made)!r}; a .qdstrm there instead means that its importer is "
            "missing: the host half of Nsight Systems, or a library it needs"
        )
    return made


def nsys_export(nsys: str, report: Path) -> Path:
    """Export a report as ``.sqlite`` next to it, and return the file."""
    database = report.with_suffix(".sqlite")
    options = ["--type=sqlite", "--force-overwrite=true", f"--output={database}"]
    _run([nsys, "export", *options, str(report)], "export")
    if not database.is_file():
        raise JaxmeterError(f"nsys: exported nothing from {str(report)!r}; is it whole?")
    return database


def _run(command: list[str], what: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JaxmeterError(f"nsys: could not {what}: {error}") from None
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]
        raise JaxmeterError(f"nsys: {what} ended with {done.returncode}:\n" + "\n".join(lines))
    return done.stdout


def read_nsys(path: Path) -> NsysCapture:
    """Read a ``.sqlite`` file that nsys exported.

    Raises
    ------
    JaxmeterError
        If it is no such file, or cut short.
    """
    if not path.is_file():
        raise JaxmeterError(f"nsys: got {str(path)!r}, which is no file; give a .sqlite of nsys")
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as base:
            listed = base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            names = sorted(row[0] for row in listed)
            frames = {
                ours: pd.read_sql_query(f"SELECT * FROM {theirs}", base)
                if theirs in names
                else pd.DataFrame()
                for theirs, ours in _TABLES.items()
            }
            strings = _pairs(base, "id", "StringIds") if "StringIds" in names else {}
            about = {}
            for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):  # from 2023, up to 2022
                if table in names:
                    about = _pairs(base, "name", table)
                    break
    except (sqlite3.Error, pd.errors.DatabaseError) as error:
        raise JaxmeterError(
            f"nsys: got {str(path)!r}, which is cut short or no SQLite file ({error}); export it "
            "again: nsys export --type sqlite FILE.nsys-rep"
        ) from None
    if not any(name in names for name in (*_TABLES, "StringIds", "ANALYSIS_DETAILS")):
        raise JaxmeterError(
            f"nsys: got {str(path)!r}, which is no capture of nsys: its tables are "
            f"{', '.join(names[:8]) or 'none'}"
        )
    return NsysCapture(
        path=path,
        version=about.get("EXPORT_PRODUCT_VERSION", ""),
        schema_version=about.get("EXPORT_SCHEMA_VERSION", ""),
        strings=strings,
        **frames,
    )


def _pairs(base: sqlite3.Connection, key: str, table: str) -> dict:
    return dict(base.execute(f"SELECT {key}, value FROM {table}"))
