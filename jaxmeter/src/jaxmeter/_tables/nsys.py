"""Captures of Nsight Systems: made by ``nsys``, or read from what it exported.

The layout is that of NVIDIA's "SQLite Schema Reference" (docs.nvidia.com/nsight-systems): tables
are there only if they have rows, times are in nanoseconds, texts may stand in ``StringIds``.
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
    "Debian's non-free package nsight-systems) or name its program with --nsys. A capture made "
    "elsewhere can be read where its .sqlite is: nsys export --type sqlite FILE.nsys-rep"
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
    """The tables of one capture, as nsys wrote them; those that it left out are empty.

    Attributes
    ----------
    path : the ``.sqlite`` file.
    version, schema_version : of nsys; empty where it does not tell.
    tables : names of all tables in the file.
    nvtx, kernels, memcpy, runtime, driver : frames with nsys' own columns.
    strings : texts by number.
    """

    path: Path
    version: str
    schema_version: str
    tables: tuple[str, ...]
    nvtx: pd.DataFrame
    kernels: pd.DataFrame
    memcpy: pd.DataFrame
    runtime: pd.DataFrame
    driver: pd.DataFrame
    strings: dict[int, str]


def nsys_program(given: str | None = None) -> str:
    """The path of ``nsys``.

    Raises
    ------
    JaxmeterError
        If there is none, with what to install.
    """
    found = shutil.which(given or "nsys")
    if found is None:
        raise JaxmeterError(f"nsys: got {given!r}, which is no program" if given else INSTALL_NSYS)
    return found


def nsys_version(nsys: str) -> str:
    """The version of a program, such as ``2023.4.4.54``."""
    told = _VERSION.search(_run([nsys, "--version"], "tell its version"))
    return told[1] if told else ""


def nsys_profile(nsys: str, command: Sequence[str], report: Path) -> Path:
    """Run a command under ``nsys profile``, CUDA and NVTX traced, and give the report's path.

    Raises
    ------
    JaxmeterError
        If nsys or the command fails, or no report comes of it.
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
    """The ``.sqlite`` of a report, beside it, made again."""
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
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-12:]
        raise JaxmeterError(f"nsys: {what} ended with {done.returncode}:\n" + "\n".join(said))
    return done.stdout


def read_nsys(path: Path) -> NsysCapture:
    """Read the ``.sqlite`` that nsys exported.

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
            names = tuple(sorted(row[0] for row in listed))
            frames = {
                ours: pd.read_sql_query(f"SELECT * FROM {theirs}", base)
                if theirs in names
                else pd.DataFrame()
                for theirs, ours in _TABLES.items()
            }
            strings = (
                dict(base.execute("SELECT id, value FROM StringIds"))
                if ("StringIds" in names)
                else {}
            )
            told = {}
            for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):  # from 2023, up to 2022
                if table in names:
                    told = dict(base.execute(f"SELECT name, value FROM {table}"))
                    break
    except (sqlite3.Error, pd.errors.DatabaseError) as error:
        raise JaxmeterError(
            f"nsys: got {str(path)!r}, which is cut short or no SQLite file ({error}); export it "
            "again: nsys export --type sqlite FILE.nsys-rep"
        ) from None
    if not any(name in names for name in (*_TABLES, "StringIds", "ANALYSIS_DETAILS")):
        raise JaxmeterError(
            f"nsys: got {str(path)!r}, whose tables are {', '.join(names[:8]) or 'none'}; that is "
            "no capture of nsys"
        )
    return NsysCapture(
        path=path,
        version=told.get("EXPORT_PRODUCT_VERSION", ""),
        schema_version=told.get("EXPORT_SCHEMA_VERSION", ""),
        tables=names,
        strings=strings,
        **frames,
    )
