"""Order commits, and look up their dates, subjects and authors in git."""

import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from .errors import ReportError

# Fields end in NUL, which a commit cannot contain; a subject may contain any other character.
LOG = (
    *("git", "log", "--topo-order", "--reverse", "--ignore-missing", "--stdin"),
    *("--no-show-signature", "--encoding=UTF-8", "--format=tformat:%H%x00%aI%x00%s%x00%an%x00"),
)
FULL_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Commit:
    """A commit; `author_date` is in ISO 8601.

    If the repository lacks the commit, all fields but the hash are empty.
    """

    hash: str
    author_date: str = ""
    subject: str = ""
    author: str = ""


def ordered_commits(
    first_measured: Mapping[str, Any], repository: Path | None
) -> tuple[Commit, ...]:
    """Return the commits from the oldest to the newest.

    The order is git's topological order, with parents before children. A commit that the repository
    lacks is placed by the time of its first measurement.

    Parameters
    ----------
    first_measured : mapping
        Time stamp of the first measurement of each commit, by commit hash; NaT if unknown.
    repository : Path or None
        A git clone. If it is None, git is not used.
    """
    commits = [] if repository is None else known_commits(repository, first_measured)
    when = {name: _seconds(time) for name, time in first_measured.items()}
    unknown = when.keys() - {commit.hash for commit in commits}
    for name in sorted(unknown, key=lambda name: (when[name], name)):
        later = (i for i, commit in enumerate(commits) if when[commit.hash] > when[name])
        commits.insert(next(later, len(commits)), Commit(name))
    return tuple(commits)


def known_commits(repository: Path, hashes: Iterable[str]) -> list[Commit]:
    """Return the repository's commits that have these hashes, in topological order.

    Return an empty list if git cannot be run.
    """
    # Only full hashes: git could read any other name as a branch, and return another commit.
    names = {name for name in hashes if FULL_NAME.fullmatch(name)}
    try:
        done = subprocess.run(
            LOG, cwd=repository, input="\n".join(names).encode(), capture_output=True, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    fields = done.stdout.decode(errors="replace").split("\0")
    found = zip(*(fields[i::4] for i in range(4)), strict=False)
    commits = (Commit(name.strip(), *rest) for name, *rest in found)
    return [commit for commit in commits if commit.hash in names]


def revisions(repository: Path, since: str) -> set[str]:
    """Return the hashes of HEAD and its ancestors, without `since` and the ancestors of `since`.

    Raises
    ------
    ReportError
        If git finds no commit `since`, or cannot be run.
    """
    command = ["git", "rev-list", "--end-of-options", f"{since}..HEAD"]
    try:
        done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ReportError(f"triage: git cannot list the commits since {since}: {error}") from error
    if done.returncode != 0:
        raise ReportError(
            f"triage: git finds no commit {since!r} in {repository}; give a date such as "
            "2026-11-01, a commit of this clone, or another clone with --repository"
        )
    return set(done.stdout.split())


def _seconds(when: Any) -> float:
    return float("inf") if pd.isna(when) else when.timestamp()
