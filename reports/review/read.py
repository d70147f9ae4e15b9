"""Read the two commits of a review, from one store or from the folder of a measured pair.

A review compares the numbers of one environment. If a commit has several folders of this
environment, one of them is used. Other folders and environments are listed as left out.
"""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..commits import Commit, commit_named
from ..compile_lines import CompileLines, compile_lines
from ..errors import ReportError
from ..quantities import Metric, Row, measurement_row
from ..store.load import SkippedFile, Store, StoredRecord, read_store
from ..store.machines import UNKNOWN, environment_names
from ..units import counted, listed

MOST_NAMES = 6  # commits that an error lists


@dataclass(frozen=True)
class CaseResults:
    """All processes of one case at one commit; rows are from `measurement_row`."""

    good: dict[int, Row]  # the successful processes, by round
    failed: tuple[Row, ...] = ()
    definition: tuple[Any, ...] = ()  # target and parameters, which must agree at both commits
    # Arrays captured by the process with the most captured bytes: dtype and shape, bytes, and path
    # of the jaxpr that has the array as a constant.
    arrays: tuple[tuple[str, int, str], ...] = ()
    compile_lines: CompileLines | None = None  # None if no successful process was profiled

    @property
    def broken(self) -> tuple[Row, ...]:
        """The failed processes, without processes that were skipped on purpose."""
        return tuple(row for row in self.failed if row["status"] != "skipped")

    def values(self, metric: Metric) -> dict[int, float]:
        """Return the values of a metric by round; an error is NaN if its check gave NaN."""
        rows = {i: row[metric.name] for i, row in self.good.items() if metric.name in row}
        found = {i: float(value) for i, value in rows.items() if value is not None}
        if metric.kind == "error":
            return found
        # A time that is not finite was not measured.
        wanted = math.isfinite if metric.kind == "noisy" else lambda value: not math.isnan(value)
        return {i: value for i, value in found.items() if wanted(value)}


@dataclass(frozen=True)
class CommitResults:
    """All cases of one commit in one environment."""

    commit: str
    cases: dict[str, CaseResults]


@dataclass(frozen=True)
class LeftOut:
    """An environment or a folder from which the review takes no number, and the reason.

    `is_asked` is true if both commits have the environment, but another environment was chosen.
    """

    name: str
    reason: str
    is_asked: bool = False


@dataclass(frozen=True)
class CommitPair:
    """The results of BASE and HEAD in one environment.

    `programs` maps a case to a description of the differences between its two programs. `about`
    maps the hash of a commit to its date, subject and author, if git finds the commit.
    """

    base: CommitResults
    head: CommitResults
    environment: str
    left_out: tuple[LeftOut, ...]
    skipped: tuple[SkippedFile, ...]
    programs: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, Commit] = field(default_factory=dict)

    def case(self, name: str) -> tuple[CaseResults, CaseResults]:
        """Return the results of a case at BASE and at HEAD."""
        return self.base.cases[name], self.head.cases[name]


def read_commits(
    root: Path,
    base: str,
    head: str,
    *,
    repository: Path | None = None,
    environment: str | None = None,
) -> CommitPair:
    """Return the results of two commits of the store `root`, in an environment that both have.

    `base` and `head` are beginnings of commit hashes, or git revisions of the clone `repository`.
    `environment` is the beginning of an environment's name.
    """
    if not root.is_dir():
        raise ReportError(
            f"review: {root} is not a folder; run make commits to measure the commits, or "
            "name another store with --store"
        )
    one, other = (_commit_named(root, name, repository) for name in (base, head))
    if one == other:
        raise ReportError(
            f"review: {base!r} and {head!r} are the same commit; name two commits, or run an A/A "
            f"test with python -m benchmarks.measuring.pair {base} {head}"
        )
    stores = read_store(root, commit=one), read_store(root, commit=other)
    return _in_one_environment(stores, environment)


def read_pair(folder: Path, *, environment: str | None = None) -> CommitPair:
    """Return the results of two interleaved commits, from `folder`/base and `folder`/head."""
    for name in ("base", "head"):
        if not (folder / name).is_dir():
            raise ReportError(
                f"review: {folder} has no folder {name!r}; measure both commits with "
                "python -m benchmarks.measuring.pair BASE HEAD"
            )
    stores = read_store(folder / "base"), read_store(folder / "head")
    programs = folder / "programs"
    texts = {
        path.relative_to(programs).with_suffix("").as_posix(): path.read_text("utf-8", "replace")
        for path in sorted(programs.rglob("*.txt"))
    }
    return replace(_in_one_environment(stores, environment), programs=texts)


def _commit_named(root: Path, name: str, repository: Path | None) -> str:
    """Return the commit in `root` that `name` stands for.

    `name` is the full name of a commit in `root`, the beginning of exactly one such name, or a git
    revision.
    """
    held = sorted(path.name for path in root.iterdir() if path.is_dir())
    found = [commit for commit in held if name and commit.startswith(name)]
    if name in found:
        return name
    if not found and repository is not None:
        named = commit_named(repository, name)
        found = [commit for commit in held if commit == named]
    if len(found) == 1:
        return found[0]
    names = listed((commit[:12] for commit in held), MOST_NAMES)
    what = f"{len(found)} commits that match" if found else "no commit that matches"
    raise ReportError(
        f"review: {root} has {what} {name!r}; give the beginning of exactly one of its commits: "
        f"{names or '(none)'}"
    )


def _in_one_environment(stores: tuple[Store, Store], asked: str | None) -> CommitPair:
    # Pass the records of both commits together: a record may take its environment from a record of
    # the other commit.
    everything = (*stores[0].records, *stores[1].records)
    named = list(zip(environment_names(everything), everything, strict=True))
    count = len(stores[0].records)
    found = [_grouped(named[:count]), _grouped(named[count:])]
    chosen = _chosen_environment(found, asked)
    folders = [
        _grouped((stored.environment_key, stored) for stored in one[chosen]) for one in found
    ]
    keys = _environment_folders(folders)
    counts = _compile_counts(everything)
    commits = []
    for store, folder, key in zip(stores, folders, keys, strict=True):
        cases = _grouped((stored.case, stored) for stored in folder[key])
        results = {case: _case(found, counts.get(case)) for case, found in cases.items()}
        commits.append(CommitResults(_only_commit(store), results))
    left_out = (*_other_environments(found, chosen), *_other_folders(folders, keys))
    skipped = (*stores[0].skipped, *stores[1].skipped)
    return CommitPair(commits[0], commits[1], chosen, left_out, skipped)


def _grouped(named: Iterable[tuple[str, StoredRecord]]) -> dict[str, list[StoredRecord]]:
    found: dict[str, list[StoredRecord]] = defaultdict(list)
    for name, stored in named:
        found[name].append(stored)
    return found


def _only_commit(store: Store) -> str:
    commits = {stored.commit for stored in store.records}
    if len(commits) != 1:
        raise ReportError(
            f"review: {store.root} must contain exactly one commit, but has {len(commits)}; "
            "measure into a new folder: python -m benchmarks.measuring.pair BASE HEAD --out FOLDER"
        )
    return commits.pop()


def _compile_counts(records: Iterable[StoredRecord]) -> dict[str, int]:
    """Return the number of compiles of each case: the minimum over the case's processes.

    Only successful processes with a compile time are considered.
    """
    fewest: dict[str, int] = {}
    for stored in records:
        record = stored.record
        if record.status == "ok" and record.phases.compile_seconds is not None:
            count = len(record.compiles)
            fewest[stored.case] = min(count, fewest.get(stored.case, count))
    return fewest


def _chosen_environment(found: Sequence[Mapping[str, Any]], asked: str | None) -> str:
    common = sorted(set(found[0]) & set(found[1]) - {UNKNOWN})
    chosen = [name for name in common if asked is None or name.startswith(asked)]
    if asked is not None and asked in chosen:
        return asked
    if len(chosen) == 1:
        return chosen[0]
    if common:
        begin = f", and {len(chosen)} of them begin with {asked!r}" if asked else ""
        raise ReportError(
            f"review: both commits were measured in {counted(len(common), 'environment')} "
            f"({'; '.join(common)}){begin}; give --environment the beginning of exactly one of "
            "these names"
        )
    base, head = ("; ".join(sorted(one)) for one in found)
    raise ReportError(
        "review: the commits have no known environment in common, and numbers of two machines or "
        f"two JAX versions are never compared; BASE was measured in [{base}], HEAD in [{head}]; "
        "measure both in one environment with python -m benchmarks.measuring.pair BASE HEAD"
    )


def _environment_folders(folders: Sequence[Mapping[str, list[StoredRecord]]]) -> list[str]:
    """Return, for each commit, the name of the environment folder to compare.

    A name that both commits have is preferred. Of several possible folders, the folder with the
    most successful processes is used.
    """
    counts = [
        {key: sum(one.record.status == "ok" for one in found) for key, found in side.items()}
        for side in folders
    ]
    shared = sorted(counts[0].keys() & counts[1].keys())
    if shared:
        return [max(shared, key=lambda key: sum(count[key] for count in counts))] * 2
    return [max(sorted(count), key=lambda key: count[key]) for count in counts]


def _other_environments(found: Sequence[Mapping[str, Any]], chosen: str) -> Iterable[LeftOut]:
    for name in sorted((set(found[0]) | set(found[1])) - {chosen}):
        there = [commit for commit, one in zip(("BASE", "HEAD"), found, strict=True) if name in one]
        if name == UNKNOWN:
            yield LeftOut(
                "unknown", f"processes at {' and '.join(there)} that did not record their machine"
            )
        elif len(there) == 2:
            why = "another environment of both commits; choose it with --environment"
            yield LeftOut(name, why, is_asked=True)
        else:
            yield LeftOut(name, f"another environment, measured at {there[0]} alone")


def _other_folders(folders: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> Iterable[LeftOut]:
    for commit, found, key in zip(("BASE", "HEAD"), folders, keys, strict=True):
        for other in sorted(set(found) - {key}):
            why = f"another folder of this environment at {commit}; only {key} is compared"
            yield LeftOut(other, why)


def _case(processes: Sequence[StoredRecord], compiles_count: int | None) -> CaseResults:
    rows = [measurement_row(stored, compiles_count) for stored in processes]
    good = {row["round_index"]: row for row in rows if row["status"] == "ok"}
    failed = tuple(row for row in rows if row["status"] != "ok")
    succeeded = [one.record for one in processes if one.record.status == "ok"]
    first = next(iter(succeeded), processes[0].record)
    most = max(succeeded, key=lambda one: one.constants.captured_bytes or 0, default=first)
    definition = (first.target, tuple(sorted(first.params.items())))
    arrays = tuple(
        (f"{a.dtype}[{','.join(map(str, a.shape))}]", a.bytes, a.where)
        for a in most.constants.arrays
    )
    times = [row["trace_lower_compile_seconds"] for row in good.values()]
    median = statistics.median([one for one in times if one is not None] or [0.0])
    lines = compile_lines((one.compile_summary for one in succeeded), median)
    return CaseResults(good, failed, definition, arrays, lines)
