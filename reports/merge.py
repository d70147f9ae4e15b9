"""Stores of several machines in one, each record under the machine that made it."""

import contextlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import ReportError
from .load import NOT_READ, SetAside, check_usable, place_of, put_aside
from .machines import UNKNOWN, machine_name
from .plain_records import plain_record


@dataclass(frozen=True)
class Merged:
    """How many records were copied and how many were there already, and what was left where it is.

    `refused` are files that are no records, and records in whose place another one lies.
    """

    copied_count: int
    same_count: int
    refused: tuple[SetAside, ...]


def merge_stores(sources: Sequence[str | Path], into: str | Path) -> Merged:
    """Copy every record of `sources` to `<commit>/<environment-key>@<machine>/<cell>/<round>.json`.

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
            raise ReportError(f"merge_stores: {source} is no folder; name folders of cells")
        if into.resolve().is_relative_to(source.resolve()):
            raise ReportError(f"merge_stores: {into} lies in {source}; name a folder of its own")
        found, unread = _contents(source)
        if not found and not unread:
            raise ReportError(f"merge_stores: {source} holds no records; measure first")
        refused += unread
        for within, (content, machine) in _with_machines(found).items():
            outcome = _put(content, into / _place(within, machine))
            copied += outcome == "copied"
            same += outcome == "same"
            if outcome == "other":
                refused.append(SetAside(within, f"another record lies at its place in {into.name}"))
    return Merged(copied, same, tuple(refused))


def _contents(source: Path) -> tuple[dict[Path, tuple[bytes, str]], list[SetAside]]:
    found: dict[Path, tuple[bytes, str]] = {}
    unread: list[SetAside] = []
    for path in sorted(source.rglob("*.json")):
        within = path.relative_to(source)
        try:
            place_of(within)
            content = path.read_bytes()
            record = plain_record(content)
            check_usable(record)
        except NOT_READ as error:
            unread.append(put_aside(source, path, error))
        else:
            found[within] = (content, machine_name(record["environment"]))
    return found, unread


def _with_machines(found: dict[Path, tuple[bytes, str]]) -> dict[Path, tuple[bytes, str]]:
    """Records that do not know their machine take that of their folder, where it has only one."""
    folders: dict[tuple[str, ...], set[str]] = {}
    for within, (_, machine) in found.items():
        folders.setdefault(within.parts[:2], set()).add(machine)
    known = {folder: machines - {UNKNOWN} for folder, machines in folders.items()}
    only = {f: next(iter(machines)) for f, machines in known.items() if len(machines) == 1}
    return {
        within: (content, only.get(within.parts[:2], UNKNOWN) if machine == UNKNOWN else machine)
        for within, (content, machine) in found.items()
    }


def _place(within: Path, machine: str) -> Path:
    commit, environment_key, *rest = within.parts
    own = environment_key.rsplit("@", 1)[0]  # of an earlier merge
    return Path(commit, f"{own}@{machine}", *rest)


def _put(content: bytes, path: Path) -> str:
    """Write a file whole or not at all, and never over another one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)  # unlike a rename, fails where a file is already
            return "copied"
    finally:
        os.unlink(draft)
    return "same" if path.read_bytes() == content else "other"
