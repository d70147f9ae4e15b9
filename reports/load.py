"""Reads what was measured: the store of cells, one record a file. Summarises nothing.

A file that cannot be read, half written by a run that was killed or made by hand, never stops a
report: it is set aside with its reason, and the page lists it.
"""

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from jaxmeter import Record, RecordError

from .errors import ReportError
from .plain_records import as_plain

# Files that the benchmarks put out of their way before they measured the cell again.
SET_ASIDE_BEFORE = {
    ".unreadable": "set aside by the benchmarks: cut short, or of another schema",
    ".stale": "set aside by the benchmarks: measured with other parameters",
}


# Parameters that group the measurements, so that all records must agree on what they are.
PARAMETER_KINDS = {"workload": str, "variant": str, "half_period": bool, "digits": int}


@dataclass(frozen=True)
class StoredRecord:
    """One record and its place in the store: which commit, environment, cell and round."""

    commit: str
    environment_key: str
    cell: str
    round_index: int
    path: Path
    record: Record


@dataclass(frozen=True)
class SetAside:
    """A file that could not be read, its path in the folder that was read, and why."""

    path: Path
    reason: str


@dataclass(frozen=True)
class Store:
    root: Path
    records: tuple[StoredRecord, ...]
    set_aside: tuple[SetAside, ...]


def read_store(root: str | Path, *, commit: str | None = None) -> Store:
    """Every record below `root`, which is laid out <commit>/<environment-key>/<cell>/<round>.json.

    Of one commit alone where its full name is given.

    A cell's name may hold slashes (`casing_variants/w7x-closure-d6`). Files of other names, such as
    the `.tmp` of a write that never ended, are no records and are passed over.

    Raises
    ------
    ReportError
        If `root` is no folder, holds no record, or none that can be read.
    """
    root = Path(root)
    if not root.is_dir():
        raise ReportError(
            f"read_store: {root} is no folder; measure first (make report), or name the folder "
            "of cells with --store"
        )
    within = root if commit is None else root / commit
    records: list[StoredRecord] = []
    set_aside: list[SetAside] = []
    for ending, reason in SET_ASIDE_BEFORE.items():
        found = sorted(within.rglob(f"*{ending}"))
        set_aside += [SetAside(path.relative_to(root), reason) for path in found]
    for path in sorted(within.rglob("*.json")):
        try:
            records.append(_read_record(root, path))
        except (OSError, ValueError, RecordError) as error:
            set_aside.append(put_aside(root, path, error))
    if not records:
        raise ReportError(nothing_read(root, set_aside))
    return Store(root, tuple(records), tuple(set_aside))


def _read_record(root: Path, path: Path) -> StoredRecord:
    place = place_of(path.relative_to(root))
    record = Record.from_json(path.read_text(encoding="utf-8"))
    check_usable(as_plain(record))
    return StoredRecord(*place, path, record)


def place_of(within: Path) -> tuple[str, str, str, int]:
    """Commit, environment key, cell and round of a file, from its path in the store.

    Raises
    ------
    ValueError
        If no record has such a path.
    """
    parts = within.parts
    if len(parts) < 4:
        raise ValueError("not at <commit>/<environment-key>/<cell>/<round>.json")
    if not within.stem.isdecimal():
        raise ValueError(f"the file's name {within.stem!r} is not the number of a round")
    commit, environment_key, *cell = parts[:-1]
    return commit, environment_key, "/".join(cell), int(within.stem)


def check_usable(record: Mapping[str, Any]) -> None:
    """Refuse what no table can hold beside other records: parameters or a time of another kind.

    Raises
    ------
    ValueError
        Naming the parameter, the time of day, or the seconds that no clock gives.
    """
    phases = {name: value for name, value in (record["phases"] or {}).items() if value is not None}
    for name, values in {"samples_seconds": record["samples_seconds"] or (), **phases}.items():
        for value in values if isinstance(values, tuple | list) else (values,):
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} holds {value!r}, which no clock gives")
    for name, kind in PARAMETER_KINDS.items():
        value = record["params"].get(name)
        # By its type itself, since True is an int too.
        if value is not None and type(value) is not kind:
            raise ValueError(f"the parameter {name} is {value!r}, which is no {kind.__name__}")
    digits = record["params"].get("digits")
    if isinstance(digits, int) and not 0 < digits < 100:
        raise ValueError(f"the parameter digits is {digits}, which is not from 1 to 99")
    started = (record["environment"] or {}).get("started_utc", "")
    # Python's own reader is fast and takes what benchmarks write; pandas' takes more.
    with contextlib.suppress(ValueError):
        datetime.fromisoformat(started)
        return
    try:
        pd.to_datetime(started, utc=True, format="ISO8601")
    except ValueError:
        raise ValueError(f"it started at {started!r}, which is no ISO 8601 time") from None


def put_aside(root: Path, path: Path, error: Exception) -> SetAside:
    """The file as the page lists it: nothing on the page tells where the machine keeps it."""
    within = path.relative_to(root)
    return SetAside(within, _one_line(error).replace(str(path), str(within)))


def nothing_read(root: Path, set_aside: list[SetAside]) -> str:
    if not set_aside:
        return f"read_store: {root} holds no records; measure first (make report)"
    first = set_aside[0]
    return (
        f"read_store: none of the {len(set_aside)} files in {root} could be read; the first, "
        f"{first.path}: {first.reason}"
    )


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
