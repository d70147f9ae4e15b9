"""Merge the stores of several machines; the path of each record then names its machine."""

import contextlib
import errno
import os
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jaxmeter import FileError, read_file

from ..errors import ReportError
from .load import SkippedFile, StoredRecord, is_commit, scan
from .machines import machine_names

COPIED, SAME = "copied", "same"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@dataclass(frozen=True)
class Merged:
    """The numbers of added records and of records that were there already, and the refused files.

    A file is refused if it cannot be read as a record, or is not in the folder of a commit hash.
    `merge_stores` also refuses a record that it cannot copy.
    """

    added_count: int
    same_count: int
    refused: tuple[SkippedFile, ...]


def merge_stores(sources: Sequence[str | Path], into: str | Path) -> Merged:
    """Copy the records of `sources` to `<commit>/<environment-key>@<machine>/<case>/<round>.json`.

    A source is a store, or a folder in which ``benchmarks.measuring.pair`` wrote two stores: the
    folders ``base`` and ``head``, either in the source or in its folder ``pair``. All sources are
    read before anything is copied.

    Nothing is overwritten. If a record is already at the destination, an equal record is skipped,
    and a different record is refused. A merge may therefore be repeated, interrupted, or done by
    two processes at once.
    """
    into = Path(into)
    read = [(source, *read_source("merge_stores", source, into)) for source in map(Path, sources)]
    outcomes: Counter[str] = Counter()
    refused: list[SkippedFile] = []
    for source, found, unread in read:
        refused += unread
        for stored, machine in zip(found, machine_names(found), strict=True):
            outcome = _outcome(stored, into, _place(stored, machine))
            outcomes[outcome] += 1
            if outcome not in (COPIED, SAME):
                refused.append(SkippedFile(stored.path.relative_to(source), outcome))
    return Merged(outcomes[COPIED], outcomes[SAME], tuple(refused))


def read_source(
    call: str, source: Path, into: Path
) -> tuple[list[StoredRecord], list[SkippedFile]]:
    """Return the records and the refused files of a source; `call` begins the error messages."""
    if not source.is_dir():
        raise ReportError(f"{call}: {source} is not a folder; name folders of records")
    if into.resolve().is_relative_to(source.resolve()):
        raise ReportError(
            f"{call}: the destination {into} is inside the source {source}; name a destination "
            "outside all sources"
        )
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
                reason = f"{stored.commit} is not a commit hash of 7 to 40 hexadecimal digits"
                refused.append(SkippedFile(stored.path.relative_to(source), reason))
    if not found and not refused:
        raise ReportError(
            f"{call}: {source} contains no records; run make report to measure, "
            "or name another folder"
        )
    return found, refused


def _stores(source: Path) -> list[Path]:
    if not any(is_commit(entry.name) for entry in source.iterdir()):
        for pair in (source, source / "pair"):
            sides = [pair / name for name in ("base", "head") if (pair / name).is_dir()]
            if sides:
                return sides
    return [source]


def _place(stored: StoredRecord, machine: str) -> Path:
    own = stored.environment_key.rsplit("@", 1)[0]  # without the machine of an earlier merge
    return Path(stored.commit, f"{own}@{machine}", stored.case, stored.path.name)


def _outcome(stored: StoredRecord, into: Path, place: Path) -> str:
    """Copy a record; return `COPIED`, `SAME`, or the reason why it was refused."""
    if any((into / folder).is_symlink() for folder in list(place.parents)[:-1]):
        return f"its destination in {into.name} is a link, which may point to another commit"
    try:
        return _put(read_file(stored.path), into / place)
    except FileError as error:
        return str(error)
    except OSError as error:
        if error.errno in NO_ROOM:
            raise ReportError(
                f"merge_stores: cannot write to {into} ({error.strerror}); free space there or "
                "name another folder, and merge again: the records copied so far are complete"
            ) from error
        return f"{type(error).__name__}: {error.strerror or error}"


def _put(content: bytes, path: Path) -> str:
    """Write a file atomically, and never over another file; return the outcome."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with draft_of(path) as draft, contextlib.suppress(FileExistsError):
        draft.write_bytes(content)
        os.link(draft, path)  # unlike a rename, this fails if the file exists
        return COPIED
    is_same = read_file(path) == content
    return SAME if is_same else "another record is at its destination"


@contextlib.contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Yield an unused path next to `path` for a draft; at the end, delete the draft if it exists.

    The caller writes the draft, then moves or links it to `path`. `tempfile` is not used, because
    it makes files that only their owner can read.
    """
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)
