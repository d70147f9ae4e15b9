"""Reads what was measured: the store of cases, one record a file. Summarises nothing.

A file that cannot be read, half written by a run that was killed or made by hand, never stops a
report: it is set aside with its reason, and the page lists it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from jaxmeter import Record, RecordError

from .errors import ReportError
from .plain_records import as_plain, whole_record

# Files that the benchmarks put out of their way before they measured the case again.
SET_ASIDE_BEFORE = {
    ".unreadable": "set aside by the benchmarks: cut short, or of another schema",
    ".stale": "set aside by the benchmarks: measured with other parameters",
}

# What reading one file may raise; more than that is a mistake of the reader.
NOT_READ = (OSError, ValueError, ArithmeticError, RecordError)

# Parameters that group the measurements, so that all records must agree on what they are.
PARAMETER_KINDS = {"workload": str, "variant": str, "half_period": bool, "digits": int}

LONGEST_SECONDS = 1e9  # thirty years
WHOLE_LIMIT = 2**53  # beside missing ones pandas takes them for floats, which hold these exactly
_COMMIT = re.compile(r"[0-9a-f]{7,40}(\+.+)?")
_ROUND = re.compile(r"0|[1-9][0-9]{0,8}")
# What benchmarks write. Python's own reader is fast but takes more than pandas', and the other way.
_PLAIN_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3])(:[0-9]{2}){2}(\.[0-9]{1,6})?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)


@dataclass(frozen=True)
class StoredRecord:
    """One record and its place in the store: which commit, environment, case and round."""

    commit: str
    environment_key: str
    case: str
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
    """Every record below `root`, which is laid out <commit>/<environment-key>/<case>/<round>.json.

    Of one commit alone where its full name is given.

    A case's name may hold slashes (`casing_variants/w7x-closure-d6`). Files of other names, such as
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
            "of cases with --store"
        )
    within = root if commit is None else root / commit
    records: list[StoredRecord] = []
    set_aside: list[SetAside] = []
    for ending, reason in SET_ASIDE_BEFORE.items():
        found = sorted(within.rglob(f"*{ending}"))
        set_aside += [SetAside(printable(path.relative_to(root)), reason) for path in found]
    for path in sorted(within.rglob("*.json")):
        try:
            records.append(_read_record(root, path))
        except NOT_READ as error:
            set_aside.append(put_aside(root, path, error))
    if not records:
        raise ReportError(nothing_read(root, set_aside))
    return Store(root, tuple(records), tuple(set_aside))


def _read_record(root: Path, path: Path) -> StoredRecord:
    place = place_of(path.relative_to(root))
    record = whole_record(path.read_bytes())
    check_usable(as_plain(record))
    return StoredRecord(*place, path, record)


def place_of(within: Path) -> tuple[str, str, str, int]:
    """Commit, environment key, case and round of a file, from its path in the store.

    Raises
    ------
    ValueError
        If no record has such a path.
    """
    parts = within.parts
    if printable(within) != within:
        raise ValueError("its name is not UTF-8")
    if len(parts) < 4:
        raise ValueError("not at <commit>/<environment-key>/<case>/<round>.json")
    if not _ROUND.fullmatch(within.stem):
        raise ValueError(f"the file's name {within.stem!r} is not the number of a round")
    commit, environment_key, *case = parts[:-1]
    return commit, environment_key, "/".join(case), int(within.stem)


def is_commit(name: str) -> bool:
    """Whether a folder's name is a commit's, perhaps with what was planted: 7 to 40 hex digits."""
    return _COMMIT.fullmatch(name) is not None


def check_usable(record: Mapping[str, Any]) -> None:
    """Refuse what no table can hold beside other records.

    That is parameters and times of day of another kind, durations that no clock gives, and bytes
    and counts that are infinite or have more than 53 bits.

    Raises
    ------
    ValueError
        Naming what the record holds.
    """
    for name, value in _durations(record):
        if not 0 <= value < LONGEST_SECONDS:
            raise ValueError(f"{name} holds {value!r}, which no clock gives")
    for name, value in _whole_numbers(record):
        # What is not a number counts as missing, as everywhere in pandas.
        if value == value and abs(value) >= WHOLE_LIMIT:
            raise ValueError(f"{name} is {value!r:.24}, which is no number of bytes or things")
    for name, kind in PARAMETER_KINDS.items():
        value = record["params"].get(name)
        # By its type itself, since True is an int too.
        if value is not None and type(value) is not kind:
            raise ValueError(f"the parameter {name} is {value!r}, which is no {kind.__name__}")
    digits = record["params"].get("digits")
    if isinstance(digits, int) and not 0 < digits < 100:
        raise ValueError(f"the parameter digits is {digits}, which is not from 1 to 99")
    if record["environment"]:
        _check_start(record["environment"]["started_utc"])


def _durations(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for value in record["samples_seconds"] or ():
        yield "samples_seconds", value
    one = {name: record[name] for name in ("setup_seconds", "wall_seconds")}
    for name, value in {**one, **(record["phases"] or {})}.items():
        if value is not None:
            yield name, value


def _whole_numbers(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for group in ("constants", "counts", "program", "memory", "checks", "extras", "environment"):
        for name, value in (record[group] or {}).items():
            ending = name.endswith(("_bytes", "_count")) or name == "cpus_available"
            if ending and value is not None:
                yield name, value
    for array in record["constants"]["arrays"]:
        yield "bytes of an array", array["bytes"]


def _check_start(started: str) -> None:
    try:
        plain = _PLAIN_TIME.fullmatch(started)
        when = (
            datetime.fromisoformat(started)
            if plain
            else pd.to_datetime(started, utc=True, format="ISO8601")
        )
    except ValueError:
        raise ValueError(f"it started at {started!r}, which is no ISO 8601 time") from None
    if not 1970 <= when.year < 2262:  # the years that pandas tells to the nanosecond
        raise ValueError(f"it started at {started!r}, which no clock gives")


def put_aside(root: Path, path: Path, error: Exception) -> SetAside:
    """The file as the page lists it: nothing on the page tells where the machine keeps it."""
    within = path.relative_to(root)
    reason = _one_line(error).replace(str(path), str(within))
    return SetAside(printable(within), reason.encode("utf-8", "replace").decode())


def printable(path: Path) -> Path:
    """The path as a page can be written with it; names need not be UTF-8."""
    return Path(str(path).encode("utf-8", "replace").decode())


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
