"""The order of commits, their dates and authors' words, from git where there is a repository."""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

# Fields end in NUL, which no commit can hold; a subject may hold every other character.
FORMAT = "%H%x00%aI%x00%s%x00"
LOG = (
    *("git", "log", "--no-walk=unsorted", "--ignore-missing", "--stdin"),
    *("--no-show-signature", "--encoding=UTF-8", f"--format=tformat:{FORMAT}"),
)
ORDER = ("git", "rev-list", "--topo-order", "--reverse", "--ignore-missing", "--stdin")
FULL_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Commit:
    """One commit; `author_date` is ISO 8601, empty like `subject` where git does not know it."""

    hash: str
    author_date: str = ""
    subject: str = ""


def ordered_commits(
    hashes: Sequence[str], first_measured: Mapping[str, pd.Timestamp], repository: Path | None
) -> tuple[Commit, ...]:
    """The commits from the oldest to the newest.

    In git's topological order, parents before children, where the repository has them all;
    commits it lacks stand where their first measurement would place them.

    Parameters
    ----------
    hashes : sequence of str
        The commits of a store.
    first_measured : mapping
        When each was first measured; NaT where nobody knows.
    repository : Path or None
        A clone; None asks no git.
    """
    known = {} if repository is None else _told_by_git(repository, hashes)
    commits = [Commit(h, *known[h][1:]) for h in sorted(known, key=lambda h: known[h][0])]
    for name in sorted(set(hashes) - set(known), key=lambda h: (_seconds(first_measured[h]), h)):
        when = _seconds(first_measured[name])
        later = (i for i, c in enumerate(commits) if _seconds(first_measured[c.hash]) > when)
        commits.insert(next(later, len(commits)), Commit(name))
    return tuple(commits)


def _told_by_git(repository: Path, hashes: Sequence[str]) -> dict[str, tuple[int, str, str]]:
    """Position, author date and subject of every commit that the repository has."""
    # Whatever else a folder is called, git could take for a branch and tell of another commit.
    names = [name for name in hashes if FULL_NAME.fullmatch(name)]
    if not names:
        return {}
    told = _run(repository, LOG, names).split("\0")
    found = {
        name.strip(): (date, subject)
        for name, date, subject in zip(told[0::3], told[1::3], told[2::3], strict=False)
        if name.strip() in names
    }
    listed = _run(repository, ORDER, list(found)).split()
    position = {name: index for index, name in enumerate(listed)}
    return {name: (position[name], *text) for name, text in found.items() if name in position}


def _run(repository: Path, command: Sequence[str], names: Sequence[str]) -> str:
    """What git says of the names; nothing where there is no git or no repository."""
    try:
        done = subprocess.run(
            command,
            cwd=repository,
            input="\n".join(names).encode(),
            capture_output=True,
            timeout=60,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def _seconds(when: pd.Timestamp) -> float:
    return float("inf") if pd.isna(when) else when.timestamp()
