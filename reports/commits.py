"""Order commits, and look up their dates, subjects and authors in git."""

import math
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from .errors import ReportError

# Fields end in NUL, because a commit cannot contain NUL; a subject may contain other separators.
LOG = (
    *("log", "--topo-order", "--reverse", "--ignore-missing", "--stdin"),
    *("--no-show-signature", "--encoding=UTF-8", "--format=tformat:%H%x00%aI%x00%s%x00%an%x00"),
)
FULL_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Commit:
    """A commit; `author_date` is in ISO 8601.

    If git does not find the commit, all fields but the hash are empty.
    """

    hash: str
    author_date: str = ""
    subject: str = ""
    author: str = ""


def ordered_commits(
    first_measured: Mapping[str, Any], repository: Path | None
) -> tuple[Commit, ...]:
    """Return the commits from the oldest to the newest, in git's topological order.

    `first_measured` maps each commit's hash to the time of its first measurement, or to NaT if this
    time is unknown. A commit that `repository` lacks is placed by this time. If `repository` is
    None, git is not used.
    """
    commits = [] if repository is None else known_commits(repository, first_measured)
    when = {
        name: math.inf if pd.isna(time) else time.timestamp()
        for name, time in first_measured.items()
    }
    unknown = when.keys() - {commit.hash for commit in commits}
    for name in sorted(unknown, key=lambda name: (when[name], name)):
        later = (i for i, commit in enumerate(commits) if when[commit.hash] > when[name])
        commits.insert(next(later, len(commits)), Commit(name))
    return tuple(commits)


def known_commits(repository: Path, hashes: Iterable[str]) -> list[Commit]:
    """Return the repository's commits that have these full hashes, in topological order.

    Return an empty list if `repository` is not a git clone, or if git cannot be run.
    """
    # Pass only full hashes: git could read any other name as a branch and return another commit.
    names = {name for name in hashes if FULL_NAME.fullmatch(name)}
    fields = (_git(repository, *LOG, given="\n".join(names)) or "").split("\0")
    found = zip(*(fields[i::4] for i in range(4)), strict=False)
    commits = (Commit(name.strip(), *rest) for name, *rest in found)
    return [commit for commit in commits if commit.hash in names]


def revisions(repository: Path, since: str) -> set[str]:
    """Return the hashes of HEAD and its ancestors, without `since` and the ancestors of `since`."""
    found = _git(repository, "rev-list", "--end-of-options", f"{since}..HEAD")
    if found is None:
        raise ReportError(
            f"triage: git cannot be run or finds no commit {since!r} in {repository}; give a date "
            "such as 2026-11-01, a commit of this clone, or another clone with --repository"
        )
    return set(found.split())


def commit_named(repository: Path, name: str) -> str | None:
    """Return the hash of a git revision; None if git finds no such commit or cannot be run."""
    command = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    found = _git(repository, *command)
    return None if found is None else found.strip()


def _git(repository: Path, *arguments: str, given: str = "") -> str | None:
    """Return the output of a git command; None if the command fails or git cannot be run."""
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=repository,
            input=given.encode(),
            capture_output=True,
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace")
