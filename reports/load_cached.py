"""The table of measurements of a store of any size, kept as Parquet beside the records.

A store only grows, so a second reading should cost what is new. The cache has one row for each
file: its path, its state on disk, the digest of its content, and the row of `tables.measurements`.
A row is used again while the file's state (size, times, inode) is unchanged, or else its content
is. In front of it all stands a digest of the bytes that follow and of the code that makes rows:
damaged, or made by other code, the whole cache is thrown away.
"""

import contextlib
import hashlib
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import jaxmeter._records.codec
import jaxmeter._records.record

from . import frames, load, plain_records, tables
from .errors import ReportError
from .load import SetAside
from .whole_files import draft_of

CACHE = ".measurements.cache"
FILE_COLUMNS = ("file", "file_state", "file_digest")
MAKERS = (tables, frames, load, plain_records, jaxmeter._records.record, jaxmeter._records.codec)
"""Modules whose code decides what a row is."""

SEAL_BYTES = 32

# A file may still be on its way (a copy from elsewhere) while it is younger than this.
SETTLED_SECONDS = 60.0
# Two writes within one tick of the file system's clock leave one state: like git, trust a state
# only where it was clearly older than the reading.
TICK_SECONDS = 2.0


@dataclass(frozen=True)
class Measured:
    """All that a store holds, as one table, and the files that could not be read."""

    table: pd.DataFrame
    set_aside: tuple[SetAside, ...]


@dataclass(frozen=True)
class _File:
    root: Path
    name: str
    state: str
    """Empty where the state is too young to be trusted."""
    age_seconds: float

    @property
    def path(self) -> Path:
        return self.root / self.name


def read_measurements(root: str | Path, *, cache: bool = True) -> Measured:
    """Every measurement below `root`, as `tables.measurements` has them, ordered by file.

    Files that are no records are set aside: one that is cut short and has not changed for a minute
    gets the ending ``.unreadable``, so that it is told once more by every report and read by none.
    One of another schema, or with fields that this jaxmeter does not know, is told and stays as it
    is for the jaxmeter that wrote it. Nothing is deleted.

    Parameters
    ----------
    root : path
        Laid out ``<commit>/<environment-key>/<case>/<round>.json``.
    cache : bool
        Whether to use and to write ``.measurements.cache`` in `root`. Two processes may do so at
        once: each replaces the file as a whole. Where it cannot be written, nothing is lost.

    Raises
    ------
    ReportError
        If `root` is no folder or holds no record that can be read.
    """
    root = Path(root)
    if not root.is_dir():
        raise ReportError(
            f"read_measurements: {root} is no folder; measure first (make report), or name the "
            "folder of cases with --store"
        )
    version = _version()
    kept = _read_cache(root / CACHE, version) if cache else None
    by_name = {} if kept is None else dict(zip(kept["file"], range(len(kept)), strict=True))
    states = [] if kept is None else kept["file_state"].to_list()
    digests = [] if kept is None else kept["file_digest"].to_list()
    same: list[int] = []
    is_restated = False
    changed: list[dict[str, Any]] = []
    files, set_aside = _files(root)
    for file in files:
        known = by_name.get(file.name)
        if known is not None and file.state and states[known] == file.state:
            same.append(known)
            continue
        try:
            row, digest = _read_row(file, None if known is None else digests[known])
        except load.NOT_READ as error:
            set_aside.append(_put_out_of_the_way(root, file, error))
            continue
        if row is None:  # the content of the row that is known, with a new state
            assert known is not None
            same.append(known)
            states[known], is_restated = file.state, True
            continue
        place = {"file": file.name, "file_state": file.state, "file_digest": digest}
        changed.append(row | place)
    if not same and not changed:
        raise ReportError(load.nothing_read(root, set_aside))
    if kept is not None and is_restated:
        kept = kept.assign(file_state=states)
    table = _joined(kept, same, changed)
    if cache and (changed or is_restated or kept is None or len(same) < len(kept)):
        _write_cache(root / CACHE, table, version)
    return Measured(table.drop(columns=list(FILE_COLUMNS)), tuple(set_aside))


def _joined(
    kept: pd.DataFrame | None, same: list[int], changed: list[dict[str, Any]]
) -> pd.DataFrame:
    """Unchanged rows and new ones, in the order of their files, whichever came from where."""
    if kept is not None and not changed:
        return kept if len(same) == len(kept) else kept.iloc[same].reset_index(drop=True)
    old = [] if kept is None else frames.rows(kept.iloc[same])
    rows = sorted([*old, *changed], key=lambda row: row["file"])
    return tables.frame_of_rows(rows)


def _files(root: Path) -> tuple[list[_File], list[SetAside]]:
    """Every .json file below `root`, in order, with its state; and those put aside before."""
    now = time.time()
    found: list[tuple[str, os.stat_result]] = []
    set_aside: list[SetAside] = []
    folders = [str(root)]
    start = len(str(root)) + 1
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                ending = os.path.splitext(entry.name)[1]
                if ending == ".json":
                    with contextlib.suppress(FileNotFoundError):  # gone since it was listed
                        found.append((entry.path[start:], entry.stat()))
                elif ending in load.SET_ASIDE_BEFORE:
                    reason = load.SET_ASIDE_BEFORE[ending]
                    path = load.printable(Path(entry.path[start:]))
                    set_aside.append(SetAside(path, reason))
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    files = []
    for name, stat in sorted(found, key=lambda item: item[0]):
        age = now - max(stat.st_mtime, stat.st_ctime)
        parts = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
        state = "-".join(map(str, parts)) if age > TICK_SECONDS else ""
        files.append(_File(root, name, state, age))
    return files, sorted(set_aside, key=lambda item: item.path)


def _read_row(file: _File, known_digest: str | None) -> tuple[dict[str, Any] | None, str]:
    """The row of a file, None where its content has the known digest; and its digest."""
    content = file.path.read_bytes()
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    if digest == known_digest:
        return None, digest
    commit, environment_key, case, round_index = load.place_of(Path(file.name))
    record = plain_records.plain_record(content)
    load.check_usable(record)
    place = tables.place_columns(commit, environment_key, case, round_index)
    return tables.measurement_row(place, record), digest


def _put_out_of_the_way(root: Path, file: _File, error: Exception) -> SetAside:
    told = load.put_aside(root, file.path, error)
    if not isinstance(error, plain_records.CutShort) or file.age_seconds < SETTLED_SECONDS:
        # A misplaced file, or one of another jaxmeter, may be whole; a young one may still grow.
        return told
    moved = file.path.with_suffix(".unreadable")
    if moved.exists():  # of an earlier time: both are kept
        moved = file.path.with_suffix(f".{time.time_ns()}.unreadable")
    try:
        file.path.replace(moved)
    except OSError:
        return told
    return SetAside(load.printable(moved.relative_to(root)), told.reason)


def _version() -> bytes:
    """Digest of the code that makes rows: another code, another cache."""
    versions = (sys.version_info[:2], pd.__version__, pa.__version__)
    digest = hashlib.sha256(repr(versions).encode())
    for module in (*MAKERS, sys.modules[__name__]):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.digest()


def _seal(content: bytes | memoryview, version: bytes) -> bytes:
    return hashlib.blake2b(content, key=version, digest_size=SEAL_BYTES).digest()


def _read_cache(path: Path, version: bytes) -> pd.DataFrame | None:
    """The cache as it was written; None where there is none that this code can use."""
    try:
        found = memoryview(path.read_bytes())  # at once: a writer may replace the file meanwhile
    except OSError:
        return None
    seal, content = found[:SEAL_BYTES], found[SEAL_BYTES:]
    if seal != _seal(content, version):
        return None
    return pq.read_table(pa.BufferReader(content)).to_pandas()


def _write_cache(path: Path, table: pd.DataFrame, version: bytes) -> None:
    # A column of nothing but None has no type, here and when it is read again.
    untyped = {
        name: "string"
        for name in table.columns
        if table[name].dtype == object and frames.any_of(table[name].notna())
    }
    stored = pa.Table.from_pandas(table.astype(untyped), preserve_index=False)
    stream = pa.BufferOutputStream()
    pq.write_table(stored, stream)
    content = stream.getvalue().to_pybytes()
    # A store that may not be written is read all the same.
    with (
        contextlib.suppress(OSError),
        draft_of(path, _seal(content, version) + content) as draft,
    ):
        os.replace(draft, path)
