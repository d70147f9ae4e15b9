"""Stores of several machines in one, each record under the machine that made it."""

import contextlib
import errno
import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jaxmeter import FileError, read_file

from ..errors import ReportError
from ..whole_files import draft_of
from .load import SkippedFile, StoredRecord, is_commit, scan
from .machines import UNKNOWN, machine_name

COPIED, SAME = "copied", "same"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@dataclass(frozen=True)
class Merged:
    """How many records were copied, how many were there already, and which files were refused.

    Refused are files that are no records, and records in whose place another record, a link or
    something else lies.
    """

    copied_count: int
    same_count: int
    refused: tuple[SkippedFile, ...]


def merge_stores(sources: Sequence[str | Path], into: str | Path) -> Merged:
    """Copy every record of `sources` to `<commit>/<environment-key>@<machine>/<case>/<round>.json`.

    A source is a store, or the output of ``benchmarks.measuring.pair``: a folder with the stores
    base and head, or a folder with such a folder called pair and the page of its review.

    The record says which machine it is of. Nothing is overwritten: a record that lies there already
    with the same content counts as the same, with another content as refused. So a merge may be
    repeated, interrupted, and done by two processes at once.

    Raises
    ------
    ReportError
        If a source is no folder, holds nothing, or is the goal itself: then nothing is copied. If
        the goal has no space left or is read-only.
    """
    into = Path(into)
    read = [(source, *read_source(source, into)) for source in map(Path, sources)]
    outcomes: Counter[str] = Counter()
    refused: list[SkippedFile] = []
    for source, found, unread in read:
        refused += unread
        for stored, machine in with_machines(found):
            outcome = _outcome(stored, into, _place(stored, machine))
            outcomes[outcome] += 1
            if outcome not in (COPIED, SAME):
                refused.append(SkippedFile(stored.path.relative_to(source), outcome))
    return Merged(outcomes[COPIED], outcomes[SAME], tuple(refused))


def read_source(source: Path, into: Path) -> tuple[list[StoredRecord], list[SkippedFile]]:
    if not source.is_dir():
        raise ReportError(f"merge_stores: {source} is not a folder; name folders of records")
    if into.resolve().is_relative_to(source.resolve()):
        raise ReportError(f"merge_stores: {into} lies in {source}; name a folder of its own")
    found, unread = _contents(source)
    if not found and not unread:
        raise ReportError(f"merge_stores: {source} holds no records; measure first")
    return found, unread


def _stores(source: Path) -> list[Path]:
    if not any(is_commit(entry.name) for entry in source.iterdir()):
        for pair in (source, source / "pair"):
            sides = [pair / name for name in ("base", "head") if (pair / name).is_dir()]
            if sides:
                return sides
    return [source]


def _contents(source: Path) -> tuple[list[StoredRecord], list[SkippedFile]]:
    found: list[StoredRecord] = []
    refused: list[SkippedFile] = []
    for store in _stores(source):
        records, skipped = scan(store)
        within = store.relative_to(source)
        refused += [replace(file, path=within / file.path) for file in skipped]
        for stored in records:
            if is_commit(stored.commit):
                found.append(stored)
            else:
                reason = f"{stored.commit} is not a commit: 7 to 40 hexadecimal digits"
                refused.append(SkippedFile(stored.path.relative_to(source), reason))
    return found, refused


def with_machines(found: Sequence[StoredRecord]) -> Iterator[tuple[StoredRecord, str]]:
    """Yield each record with its machine.

    A record that does not name its machine takes the machine of its folder, where there is only
    one: of its environment at the same commit, or else at any.
    """
    known: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for stored in found:
        for folder in _folders(stored):
            known[folder] |= {machine_name(stored.record.environment)} - {UNKNOWN}
    for stored in found:
        machine = machine_name(stored.record.environment)
        near = next((known[folder] for folder in _folders(stored) if known[folder]), set())
        yield stored, next(iter(near)) if machine == UNKNOWN and len(near) == 1 else machine


def _folders(stored: StoredRecord) -> tuple[tuple[str, ...], ...]:
    return (stored.commit, stored.environment_key), (stored.environment_key,)


def _place(stored: StoredRecord, machine: str) -> Path:
    own = stored.environment_key.rsplit("@", 1)[0]  # of an earlier merge
    return Path(stored.commit, f"{own}@{machine}", stored.case, stored.path.name)


def _outcome(stored: StoredRecord, into: Path, place: Path) -> str:
    """Copy a record; return `COPIED`, `SAME`, or why it stays where it is."""
    folders = [into / parent for parent in list(place.parents)[:-1]]
    if any(folder.is_symlink() for folder in folders):
        return f"a link lies at its place in {into.name}, and may lead elsewhere"
    try:
        return _put(read_file(stored.path), into / place)
    except FileError as error:
        return str(error)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise ReportError(
                f"merge_stores: cannot write to {into} ({error.strerror}); free space there or "
                "name another folder, and merge again: what was copied is whole and stays"
            ) from error
        return f"{type(error).__name__}: {error.strerror or error}"


def _put(content: bytes, path: Path) -> str:
    """Write a file whole or not at all, and never over another one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with draft_of(path, content) as draft, contextlib.suppress(FileExistsError):
        os.link(draft, path)  # unlike a rename, fails where a file is already
        return COPIED
    if path.is_symlink():
        return f"a link lies at its place: {path.name}"
    is_same = read_file(path) == content
    return SAME if is_same else "another record lies at its place"
