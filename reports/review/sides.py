"""The two sides of a review: what was measured of each commit, and whether they may be compared."""

import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from .. import tables
from ..errors import ReportError
from ..frames import Row, groups, rows
from ..load import SetAside, Store, StoredRecord, read_store
from ..machines import UNKNOWN, with_setting
from ..metrics import with_build_seconds


@dataclass(frozen=True)
class Cell:
    """All processes of one cell at one commit.

    Attributes
    ----------
    good : dict from int to dict
        By round, the measurements of the processes that ended well, as `tables.measurements`.
    failed : tuple of dict
        The others.
    definition : tuple
        Target and parameters: equal where two commits measured the same thing.
    arrays : tuple of tuple
        Captured arrays of one process, as (shape and dtype, bytes, where).
    """

    good: dict[int, Row]
    failed: tuple[Row, ...]
    definition: tuple[Any, ...]
    arrays: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True)
class Side:
    """One commit, measured in one setting."""

    commit: str
    setting: str
    cells: dict[str, Cell]


@dataclass(frozen=True)
class Sides:
    """Both, in the same setting; `other_settings` are those that only one of them has.

    `programs` tells of some cells in what their programs differ, as text.
    """

    base: Side
    head: Side
    other_settings: tuple[str, ...]
    set_aside: tuple[SetAside, ...]
    programs: Mapping[str, str] = field(default_factory=dict)


def sides_of_store(
    root: Path, base: str, head: str, *, repository: Path | None = None, setting: str | None = None
) -> Sides:
    """Two commits of one store, each by the beginning of its name or as git calls it.

    Raises
    ------
    ReportError
        If a commit is not in the store, both are one, or both were never measured in one setting.
    """
    if not root.is_dir():
        raise ReportError(f"review: {root} is no folder; measure first, or name one with --store")
    one, other = (_commit(root, name, repository) for name in (base, head))
    if one == other:
        raise ReportError(
            f"review: {base!r} and {head!r} are one commit, with the same records in the store "
            "(to see how much equal commits differ here: python -m benchmarks.pair A A)"
        )
    return _sides(read_store(root, commit=one), read_store(root, commit=other), setting)


def sides_of_pair(folder: Path, *, setting: str | None = None) -> Sides:
    """Two commits that were measured in turns: `folder`/base and `folder`/head are their stores.

    Raises
    ------
    ReportError
        If one of them is missing or holds no record, or both have no setting in common.
    """
    for name in ("base", "head"):
        if not (folder / name).is_dir():
            raise ReportError(
                f"review: {folder} has no folder {name!r}; measure the two commits in turns with "
                "python -m benchmarks.pair BASE HEAD"
            )
    sides = _sides(read_store(folder / "base"), read_store(folder / "head"), setting)
    programs = folder / "programs"
    texts = {
        path.relative_to(programs).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(programs.rglob("*.txt"))
    }
    return replace(sides, programs=texts)


def _commit(root: Path, name: str, repository: Path | None) -> str:
    """The folder of `root` that `name` means."""
    held = sorted(path.name for path in root.iterdir() if path.is_dir())
    found = [commit for commit in held if name and commit.startswith(name)]
    if not found and repository is not None:
        found = [commit for commit in held if commit == _told_by_git(repository, name)]
    if len(found) == 1:
        return found[0]
    newest = ", ".join(commit[:12] for commit in held[:6])
    what = f"{len(found)} commits" if found else "no measurements"
    raise ReportError(f"review: {root} has {what} of {name!r}; it holds {newest or 'nothing'}")


def _told_by_git(repository: Path, name: str) -> str:
    command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    try:
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def _sides(base: Store, head: Store, setting: str | None) -> Sides:
    sides = [_by_setting(store) for store in (base, head)]
    common = sorted(set(sides[0]) & set(sides[1]) - {UNKNOWN})
    chosen = [name for name in common if setting is None or name.startswith(setting)]
    if len(chosen) != 1:
        raise ReportError(_no_setting(sides, common, setting))
    others = (set(sides[0]) | set(sides[1])) - {chosen[0]}
    one, other = (side[chosen[0]] for side in sides)
    return Sides(one, other, tuple(sorted(others)), (*base.set_aside, *head.set_aside))


def _no_setting(sides: Iterable[dict[str, Side]], common: list[str], asked: str | None) -> str:
    base, head = ("; ".join(sorted(side)) for side in sides)
    if len(common) > 1:
        return (
            f"review: both commits were measured in {len(common)} settings ({'; '.join(common)}), "
            f"{'of which --setting names none or several' if asked else 'choose one: --setting'}"
        )
    if asked and common:
        return f"review: no common setting begins with {asked!r}; there is {common[0]}"
    return (
        "review: numbers of two machines or two JAX versions are never compared; BASE was measured "
        f"in [{base}], HEAD in [{head}]; measure both in one (python -m benchmarks.pair BASE HEAD)"
    )


def _by_setting(store: Store) -> dict[str, Side]:
    table = with_build_seconds(with_setting(tables.measurements(store)))
    by_path = {_place(s.commit, s.environment_key, s.cell, s.round_index): s for s in store.records}
    commits = {stored.commit for stored in store.records}
    if len(commits) != 1:
        raise ReportError(f"review: {store.root} holds {len(commits)} commits; one is needed")
    (commit,) = commits
    return {
        str(key["setting"]): Side(commit, str(key["setting"]), dict(_cells(found, by_path)))
        for key, found in groups(table, ["setting"])
    }


def _cells(table: pd.DataFrame, by_path: dict[tuple, StoredRecord]) -> Iterable[tuple[str, Cell]]:
    for key, found in groups(table, ["cell"]):
        processes = rows(found)
        good = {int(row["round_index"]): row for row in processes if row["status"] == "ok"}
        failed = tuple(row for row in processes if row["status"] != "ok")
        first = next(iter(good.values()), processes[0])
        names = ("commit", "environment_key", "cell", "round_index")
        record = by_path[_place(*(first[name] for name in names))].record
        definition = (record.target, tuple(sorted(record.params.items())))
        arrays = tuple(
            (f"{a.dtype}[{','.join(map(str, a.shape))}]", a.bytes, a.where)
            for a in record.constants.arrays
        )
        yield str(key["cell"]), Cell(good, failed, definition, arrays)


def _place(commit: str, environment_key: str, cell: str, round_index: Any) -> tuple:
    return commit, environment_key, cell, int(round_index)
