"""Read a store of measurements, which has one file for each record.

A file that cannot be read is skipped, for example the half-written file of a killed run. The page
of the report lists the skipped files with the reasons.
"""

import contextlib
import itertools
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from jaxmeter import FileError, Record, read_file

from ..errors import ReportError

# Endings of renamed files, each with the reason. The reports rename files, and so do the
# benchmarks before a case is measured again.
RENAMED = {
    ".unreadable": (
        "renamed by a report or by the benchmarks, because the file could not be read as a record"
    ),
    ".stale": (
        "renamed by the benchmarks, because the record is of another function or has other "
        "parameters"
    ),
}
LINK = (
    "a link that is not to a file; the reports do not follow it, so move the records into the store"
)
# A file that changed less than this long ago may still be growing, for example while it is copied
# from another machine.
GROWING_SECONDS = 60.0

LONGEST_REASON = 500  # characters; names and numbers in a hostile file may have any length

WHOLE = ("_bytes", "_count", "cpus_available")
WHOLE_LIMIT = 2**53  # smaller integers are exact as floats; pandas needs floats for missing values
_COMMIT = re.compile(r"[0-9a-f]{7,40}(\+.+)?")
_ROUND = re.compile(r"0|[1-9][0-9]{0,8}")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


# Limits of a record; a larger record would make tables of too many columns, rows or characters.
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e9)]  # up to thirty years
_Text = Annotated[str, msgspec.Meta(max_length=2000)]
_Values = dict[_Text, _Text | int | float | bool | dict | tuple | None]
_Named = Annotated[_Values, msgspec.Meta(max_length=200)]
_MostSamples, _MostArrays = msgspec.Meta(max_length=100_000), msgspec.Meta(max_length=20_000)


class _Parameters(msgspec.Struct):
    """Parameters that group measurements; each must have the same type in all records."""

    workload: str | None = None
    variant: str | None = None
    half_period: bool | None = None
    digits: Annotated[int, msgspec.Meta(ge=1, le=99)] | None = None


class _Usable(msgspec.Struct):
    """The parts of a record that are checked against limits; the types contain the limits."""

    name: _Text
    target: _Text
    params: _Parameters
    parameters: _Named
    checks: _Named
    extras: _Named
    environment: _Values
    failure: dict[str, Annotated[str, msgspec.Meta(max_length=20_000)]]
    phases: dict[str, _Seconds | None]
    samples_seconds: Annotated[tuple[_Seconds, ...], _MostSamples]
    setup_seconds: _Seconds | None
    wall_seconds: _Seconds | None
    recompiles: Annotated[tuple, _MostSamples]
    arrays: Annotated[tuple, _MostArrays]
    profile: Annotated[tuple[_Values, ...], _MostArrays]
    profile_seconds: tuple[_Seconds, ...]


@dataclass(frozen=True)
class StoredRecord:
    """One record and its place in the store: commit, environment, case and round."""

    commit: str
    environment_key: str
    case: str
    round_index: int
    path: Path
    record: Record


@dataclass(frozen=True)
class SkippedFile:
    """A skipped file, folder or machine, and the reason.

    `path` is the path of the file or folder in the store, or the name of the machine.
    """

    path: Path
    reason: str
    is_truncated: bool = False
    """Whether the file is not valid JSON.

    A process that is killed while it writes can leave such a file.
    """


@dataclass(frozen=True)
class Store:
    """The records that were read from a store or fleet, in a fixed order, and the skipped files."""

    root: Path
    records: tuple[StoredRecord, ...]
    skipped: tuple[SkippedFile, ...]


def read_store(root: str | Path, *, commit: str | None = None) -> Store:
    """Read every record below `root`, at <commit>/<environment-key>/<case>/<round>.json.

    If `commit` is given, only the folder of this commit is read. The name of a case may contain
    slashes (`casing_variants/w7x-closure-d6`). Files with unknown endings, such as the `.tmp` file
    of an interrupted write, are ignored. A truncated file that has not changed for a minute gets
    the ending ``.unreadable``. A file is skipped but not renamed if it has another schema, or
    fields that this version of jaxmeter does not have. The version of jaxmeter that wrote the file
    can then still read it. Links to folders are skipped.
    """
    root = Path(root)
    if not root.is_dir():
        raise ReportError(
            f"read_store: {root} is not a folder; measure first, or name the folder of records "
            "with the option of this command (--store or --study)"
        )
    records, skipped = scan(root, commit or "")
    skipped = [_renamed(root, file) if file.is_truncated else file for file in skipped]
    if not records and not skipped:
        raise ReportError(
            f"read_store: {root} contains no records; run make report to measure, or name "
            "another folder with --store"
        )
    if not records:
        raise ReportError(
            f"read_store: none of the {len(skipped)} files in {root} could be read; the first is "
            f"{skipped[0].path}: {skipped[0].reason}; name another folder with --store, measure "
            "again, or use the version of jaxmeter that wrote the files"
        )
    return Store(root, tuple(records), tuple(skipped))


def scan(root: Path, within: str = "") -> tuple[list[StoredRecord], list[SkippedFile]]:
    """Read every record below the folder `within` of `root`, without renaming any file."""
    records: list[StoredRecord] = []
    skipped: list[SkippedFile] = []
    for name, reason in sorted(_names(root, within)):
        if reason:
            skipped.append(SkippedFile(_printable(Path(name)), reason))
            continue
        try:
            records.append(_stored_record(root, Path(name)))
        except (OSError, ValueError) as error:
            if os.path.lexists(root / name):  # else the file was deleted after it was listed
                skipped.append(skipped_file(root, root / name, error))
    return records, skipped


def _names(root: Path, within: str) -> Iterator[tuple[str, str]]:
    """Yield the paths of records, renamed files and links to folders, relative to `root`.

    Each path has the reason why it is not a record, or "".
    """
    start = len(os.path.join(root, ""))
    for folder, folders, files in os.walk(os.path.join(root, within)):
        for name in (*folders, *files):
            path, ending = os.path.join(folder, name), os.path.splitext(name)[1]
            if ending == ".json" or ending in RENAMED:
                yield path[start:], RENAMED.get(ending, "")
            elif os.path.islink(path) and not os.path.isfile(path):
                yield path[start:], LINK


def _stored_record(root: Path, within: Path) -> StoredRecord:
    if _printable(within) != within:
        raise ValueError("the name of the file is not UTF-8")
    if len(within.parts) < 4:
        raise ValueError("the file is not at <commit>/<environment-key>/<case>/<round>.json")
    if not _ROUND.fullmatch(within.stem):
        raise ValueError(f"the name of the file, {within.stem!r}, is not the number of a round")
    commit, environment_key, *case, _ = within.parts
    for depth, (name, below) in enumerate(itertools.pairwise(within.parts)):
        if depth and is_commit(name) and below.startswith("py") and not is_commit(commit):
            # The file is in another store, which lies in a folder of this store. The records of all
            # commits in the other store would be read as records of a single commit.
            store = "/".join(within.parts[:depth])
            raise ValueError(f"the file belongs to another store, in the folder {store}")
    record = Record.from_json(printable_text(read_file(root / within)))
    _check_usable(record)
    place = (commit, environment_key, "/".join(case), int(within.stem))
    return StoredRecord(*place, root / within, record)


def is_commit(name: str) -> bool:
    """Return whether a name is a commit hash of 7 to 40 hex digits, with or without +SUFFIX."""
    return _COMMIT.fullmatch(name) is not None


def _check_usable(record: Record) -> None:
    """Raise ValueError if values, texts or lengths of a record do not fit the tables."""
    profile = record.compile_summary
    parts = () if profile is None else (profile, *profile.lines, *profile.kernels)
    held = vars(record) | {
        "phases": vars(record.phases),
        "parameters": record.params,
        "arrays": record.constants.arrays,
        "environment": vars(record.environment) if record.environment else {},
        "failure": vars(record.failure) if record.failure else {},
        "profile": tuple(map(vars, parts)),
        "profile_seconds": tuple(part.seconds for part in parts),
    }
    try:
        msgspec.convert(held, _Usable)
    except msgspec.ValidationError as error:
        raise ValueError(str(error).replace("$", "record")) from None
    sections = (record.constants, record.counts, record.program, record.memory, *parts)
    groups = (*map(vars, sections), held["environment"], record.checks, record.extras)
    numbers = [pair for values in groups for pair in values.items()]
    numbers += [("array_bytes", array.bytes) for array in record.constants.arrays]
    for name, value in numbers:
        # NaN counts as missing, as everywhere in pandas.
        if name.endswith(WHOLE) and value is not None and abs(value) >= WHOLE_LIMIT:
            raise ValueError(f"{name} is {value!r:.24}, but its magnitude must be below 2**53")


def skipped_file(root: Path, path: Path, error: Exception) -> SkippedFile:
    """Return the entry of an unreadable file, with its path relative to the folder of the store."""
    within = path.relative_to(root)
    text = " ".join(str(error).split()).replace(str(path), str(within))
    reason = f"{type(error).__name__}: {text}".encode("utf-8", "replace").decode()
    return SkippedFile(_printable(within), reason[:LONGEST_REASON], _is_truncated(path))


def _is_truncated(path: Path) -> bool:
    try:
        json.loads(read_file(path))
    except (FileError, OSError, RecursionError):
        return False
    except ValueError:
        return True
    return False


def _renamed(root: Path, file: SkippedFile) -> SkippedFile:
    """Rename a truncated file unless it may still grow, and return its entry."""
    path = root / file.path
    with contextlib.suppress(OSError):  # a read-only store can still be read
        stat = path.stat()
        if time.time() - max(stat.st_mtime, stat.st_ctime) >= GROWING_SECONDS:
            goal = path.with_suffix(".unreadable")
            if goal.exists():  # an earlier file of the same round: keep both files
                goal = path.with_suffix(f".{time.time_ns()}.unreadable")
            return replace(file, path=path.replace(goal).relative_to(root))
    return file


def _printable(path: Path) -> Path:
    """Return a path that a page can show, with ? for bytes that are not UTF-8."""
    return Path(str(path).encode("utf-8", "replace").decode())


def printable_text(content: bytes) -> bytes:
    """Return JSON text with a question mark in place of each unpaired surrogate."""
    if not _SURROGATE.search(content):
        return content
    try:
        data: Any = json.loads(content)
    except (ValueError, RecursionError):
        return content
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")
