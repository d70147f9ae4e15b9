"""Read the two commits of a review, from one store or from the folder of a pair.

Only numbers of one environment are compared, from one environment folder of each commit; all others
are listed as left out.
"""

import itertools
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pandas as pd

from .. import tables
from ..errors import ReportError
from ..frames import Row, groups, rows
from ..load import Store, StoredRecord, read_store
from ..machines import UNKNOWN, with_environment
from ..metrics import COMPILE_PHASES, with_compile_sum
from .model import CaseResults, CommitPair, CommitResults, LeftOut


def read_commits(
    root: Path,
    base: str,
    head: str,
    *,
    repository: Path | None = None,
    environment: str | None = None,
) -> CommitPair:
    """Read two commits of one store.

    Parameters
    ----------
    root : path
        Folder of the store.
    base, head : str
        The beginning of a commit's name, or a name that git knows.
    repository : path, optional
        A clone in which git looks names up.
    environment : str, optional
        The beginning of an environment's name, where there are several.

    Raises
    ------
    ReportError
        If a commit is not in the store, both are the same, or they have no environment in common.
    """
    if not root.is_dir():
        raise ReportError(f"review: {root} is no folder; measure first, or name one with --store")
    one, other = (_commit_named(root, name, repository) for name in (base, head))
    if one == other:
        raise ReportError(
            f"review: {base!r} and {head!r} are one commit, with the same records in the store "
            "(for an A/A test: python -m benchmarks.measuring.pair A A)"
        )
    stores = read_store(root, commit=one), read_store(root, commit=other)
    return _in_one_environment(stores, environment)


def read_pair(folder: Path, *, environment: str | None = None) -> CommitPair:
    """Read two commits that were measured interleaved, from `folder`/base and `folder`/head.

    Raises
    ------
    ReportError
        If one of them is missing or empty, or they have no environment in common.
    """
    for name in ("base", "head"):
        if not (folder / name).is_dir():
            raise ReportError(
                f"review: {folder} has no folder {name!r}; measure both commits with "
                "python -m benchmarks.measuring.pair BASE HEAD"
            )
    stores = read_store(folder / "base"), read_store(folder / "head")
    programs = folder / "programs"
    texts = {
        path.relative_to(programs).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(programs.rglob("*.txt"))
    }
    return replace(_in_one_environment(stores, environment), programs=texts)


def _commit_named(root: Path, name: str, repository: Path | None) -> str:
    """Return the folder of `root` that `name` means: an exact match before a beginning."""
    held = sorted(path.name for path in root.iterdir() if path.is_dir())
    found = [commit for commit in held if name and commit.startswith(name)]
    if name in found:
        return name
    if not found and repository is not None:
        found = [commit for commit in held if commit == _commit_of_git(repository, name)]
    if len(found) == 1:
        return found[0]
    newest = ", ".join(commit[:12] for commit in held[:6])
    what = f"{len(found)} commits" if found else "no measurements"
    raise ReportError(f"review: {root} has {what} of {name!r}; it holds {newest or 'nothing'}")


def _commit_of_git(repository: Path, name: str) -> str:
    command = ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    try:
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def _in_one_environment(stores: tuple[Store, Store], asked: str | None) -> CommitPair:
    tables_by_name = _by_environment(stores)
    chosen = _chosen_environment(tables_by_name, asked)
    frames = [one[chosen] for one in tables_by_name]
    keys = _environment_folders(frames)
    commits = []
    for frame, key, store in zip(frames, keys, stores, strict=True):
        (commit,) = _only_commit(store)
        in_folder = cast(pd.DataFrame, frame.loc[frame["environment_key"] == key])
        commits.append(CommitResults(commit, dict(_cases(in_folder, store.records))))
    left_out = (*_other_environments(tables_by_name, chosen), *_other_folders(frames, keys))
    skipped = (*stores[0].skipped, *stores[1].skipped)
    return CommitPair(commits[0], commits[1], chosen, left_out, skipped)


def _only_commit(store: Store) -> set[str]:
    commits = {stored.commit for stored in store.records}
    if len(commits) != 1:
        raise ReportError(f"review: {store.root} holds {len(commits)} commits; one is needed")
    return commits


def _by_environment(stores: Sequence[Store]) -> list[dict[str, pd.DataFrame]]:
    """Return the measurements of each commit by environment.

    Environments are named for both commits at once, since the records of one may complete those of
    the other.
    """
    counts = _compile_counts(stores)
    table = tables.frame_of_rows(
        [
            {"side": side, "position": position}
            | tables.measurement_row(stored)
            | _least_compile(stored, counts.get(stored.case))
            for side, store in enumerate(stores)
            for position, stored in enumerate(store.records)
        ]
    )
    by_commit: list[dict[str, pd.DataFrame]] = [{} for _ in stores]
    named = with_compile_sum(with_environment(table))
    for key, found in groups(named, ["side", "environment"]):
        by_commit[key["side"]][str(key["environment"])] = found
    return by_commit


def _compile_counts(stores: Sequence[Store]) -> dict[str, int]:
    """Return for each case how many compiles every process made that succeeded."""
    fewest: dict[str, int] = {}
    for stored in itertools.chain(*(store.records for store in stores)):
        if stored.record.status == "ok":
            count = len(stored.record.compiles)
            fewest[stored.case] = min(count, fewest.get(stored.case, count))
    return fewest


def _least_compile(stored: StoredRecord, count: int | None) -> Row:
    """Return the minimum of each phase over the first `count` compiles of a process."""
    least = stored.record.least_compile(count)
    return {name: getattr(least, name) for name in COMPILE_PHASES}


def _chosen_environment(found: Sequence[Mapping[str, Any]], asked: str | None) -> str:
    common = sorted(set(found[0]) & set(found[1]) - {UNKNOWN})
    chosen = [name for name in common if asked is None or name.startswith(asked)]
    if asked is not None and asked in chosen:
        return asked
    if len(chosen) == 1:
        return chosen[0]
    if len(common) > 1:
        raise ReportError(
            f"review: both commits were measured in {len(common)} environments "
            f"({'; '.join(common)}), "
            f"{'and --environment names none or several' if asked else 'choose with --environment'}"
        )
    if asked and common:
        raise ReportError(f"review: no environment begins with {asked!r}; there is {common[0]}")
    base, head = ("; ".join(sorted(one)) for one in found)
    raise ReportError(
        "review: numbers of two machines or two JAX versions are never compared; BASE was measured "
        f"in [{base}], HEAD in [{head}]; measure both in one "
        "(python -m benchmarks.measuring.pair BASE HEAD)"
    )


def _environment_folders(frames: Sequence[pd.DataFrame]) -> list[str]:
    """Return the folder of each commit: a common one, else that with most successful processes."""
    counts = [_good_counts(frame) for frame in frames]
    shared = sorted(counts[0].keys() & counts[1].keys())
    if shared:
        return [max(shared, key=lambda key: sum(count[key] for count in counts))] * 2
    return [max(sorted(count), key=lambda key: count[key]) for count in counts]


def _good_counts(frame: pd.DataFrame) -> dict[str, int]:
    """Return for each environment folder how many of its processes succeeded."""
    return {
        str(key["environment_key"]): sum(row["status"] == "ok" for row in rows(group))
        for key, group in groups(frame, ["environment_key"])
    }


def _other_environments(found: Sequence[Mapping[str, Any]], chosen: str) -> Iterable[LeftOut]:
    for name in sorted((set(found[0]) | set(found[1])) - {chosen}):
        there = [commit for commit, one in zip(("BASE", "HEAD"), found, strict=True) if name in one]
        if name == UNKNOWN:
            yield LeftOut("unknown", f"processes at {' and '.join(there)} without a machine's name")
        elif len(there) == 2:
            why = "another environment of both commits; see --environment"
            yield LeftOut(name, why, is_asked=True)
        else:
            yield LeftOut(name, f"another environment, measured at {there[0]} alone")


def _other_folders(frames: Sequence[pd.DataFrame], keys: Sequence[str]) -> Iterable[LeftOut]:
    for commit, frame, key in zip(("BASE", "HEAD"), frames, keys, strict=True):
        for other in sorted(set(frame["environment_key"]) - {key}):
            why = f"another folder of this environment at {commit}; {key} is compared"
            yield LeftOut(str(other), why)


def _cases(
    table: pd.DataFrame, records: Sequence[StoredRecord]
) -> Iterator[tuple[str, CaseResults]]:
    for key, found in groups(table, ["case"]):
        processes = rows(found)
        good = {int(row["round_index"]): row for row in processes if row["status"] == "ok"}
        failed = tuple(row for row in processes if row["status"] != "ok")
        succeeded = {i: records[row["position"]].record for i, row in good.items()}
        first = next(iter(succeeded.values()), records[processes[0]["position"]].record)
        most = max(
            succeeded.values(), key=lambda one: one.constants.captured_bytes or 0, default=first
        )
        definition = (first.target, tuple(sorted(first.params.items())))
        arrays = tuple(
            (f"{a.dtype}[{','.join(map(str, a.shape))}]", a.bytes, a.where)
            for a in most.constants.arrays
        )
        checked = {i: frozenset((*one.checks, *one.extras)) for i, one in succeeded.items()}
        yield str(key["case"]), CaseResults(good, failed, definition, arrays, checked)
