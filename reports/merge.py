"""Stores of several machines in one, each record under the machine that made it."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import ReportError
from .load import (
    NOT_READ,
    SET_ASIDE_BEFORE,
    SetAside,
    check_usable,
    is_commit,
    place_of,
    printable,
    put_aside,
)
from .machines import UNKNOWN, machine_name
from .plain_records import plain_record
from .whole_files import draft_of


@dataclass(frozen=True)
class Merged:
    """How many records were copied and how many were there already, and what was left where it is.

    `refused` are files that are no records, and records in whose place another one lies.
    """

    copied_count: int
    same_count: int
    refused: tuple[SetAside, ...]


@dataclass(frozen=True)
class _Found:
    """A record: its path in the source and in its store, its text, and its machine."""

    shown: Path
    within: Path
    content: bytes
    machine: str


def merge_stores(sources: Sequence[str | Path], into: str | Path) -> Merged:
    """Copy every record of `sources` to `<commit>/<environment-key>@<machine>/<case>/<round>.json`.

    A source is a store, or what ``benchmarks.measuring.pair`` left: a folder of the stores base
    and head,
    or one with such a folder called pair beside the page of its review.

    The machine is told by the record. Nothing is overwritten: a record that lies there already
    with the same content counts as the same, with another content as refused. So a merge may be
    repeated, interrupted, and done by two processes at once.

    Raises
    ------
    ReportError
        If a source is no folder, holds nothing, or is the goal itself.
    """
    into = Path(into)
    copied, same = 0, 0
    refused: list[SetAside] = []
    for source in map(Path, sources):
        if not source.is_dir():
            raise ReportError(f"merge_stores: {source} is no folder; name folders of cases")
        if into.resolve().is_relative_to(source.resolve()):
            raise ReportError(f"merge_stores: {into} lies in {source}; name a folder of its own")
        found, unread = _contents(source)
        if not found and not unread:
            raise ReportError(f"merge_stores: {source} holds no records; measure first")
        refused += unread
        for record, machine in _with_machines(found):
            outcome = _put(record.content, into / _place(record.within, machine))
            copied += outcome == "copied"
            same += outcome == "same"
            if outcome == "other":
                reason = f"another record lies at its place in {into.name}"
                refused.append(SetAside(record.shown, reason))
    return Merged(copied, same, tuple(refused))


def _stores(source: Path) -> list[Path]:
    if not any(is_commit(entry.name) for entry in source.iterdir()):
        for pair in (source, source / "pair"):
            sides = [pair / name for name in ("base", "head") if (pair / name).is_dir()]
            if sides:
                return sides
    return [source]


def _contents(source: Path) -> tuple[list[_Found], list[SetAside]]:
    found: list[_Found] = []
    refused: list[SetAside] = []
    for store in _stores(source):
        for ending, reason in SET_ASIDE_BEFORE.items():
            left = sorted(store.rglob(f"*{ending}"))
            refused += [SetAside(printable(path.relative_to(source)), reason) for path in left]
        for path in sorted(store.rglob("*.json")):
            within = path.relative_to(store)
            try:
                if not is_commit(place_of(within)[0]):
                    raise ValueError(f"{within.parts[0]} is no commit: 7 to 40 hexadecimal digits")
                content = path.read_bytes()
                record = plain_record(content)
                check_usable(record)
            except NOT_READ as error:
                refused.append(put_aside(source, path, error))
            else:
                machine = machine_name(record["environment"])
                found.append(_Found(path.relative_to(source), within, content, machine))
    return found, refused


def _with_machines(found: Sequence[_Found]) -> Iterator[tuple[_Found, str]]:
    """Records that do not know their machine take that of their folder, where it has only one.

    Of its environment at the same commit, or else at any.
    """
    folders: dict[tuple[str, ...], set[str]] = {}
    for record in found:
        for folder in _folders(record):
            folders.setdefault(folder, set()).add(record.machine)
    known = {folder: machines - {UNKNOWN} for folder, machines in folders.items()}
    for record in found:
        near = next((known[folder] for folder in _folders(record) if known[folder]), set())
        (only,) = near if len(near) == 1 else (UNKNOWN,)
        yield record, only if record.machine == UNKNOWN else record.machine


def _folders(record: _Found) -> tuple[tuple[str, ...], tuple[str, ...]]:
    commit, environment_key = record.within.parts[:2]
    return (commit, environment_key), (environment_key,)


def _place(within: Path, machine: str) -> Path:
    commit, environment_key, *rest = within.parts
    own = environment_key.rsplit("@", 1)[0]  # of an earlier merge
    return Path(commit, f"{own}@{machine}", *rest)


def _put(content: bytes, path: Path) -> str:
    """Write a file whole or not at all, and never over another one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with draft_of(path, content) as draft, contextlib.suppress(FileExistsError):
        os.link(draft, path)  # unlike a rename, fails where a file is already
        return "copied"
    return "same" if path.read_bytes() == content else "other"
