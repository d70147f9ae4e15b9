"""The order, dates and subjects of commits, from git where there is a repository."""

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
    """One commit; `author_date` is ISO 8601; it and `subject` are empty where git lacks it."""

    hash: str
    author_date: str = ""
    subject: str = ""


def ordered_commits(
    hashes: Sequence[str], first_measured: Mapping[str, pd.Timestamp], repository: Path | None
) -> tuple[Commit, ...]:
    """Return the commits from the oldest to the newest.

    In git's topological order, parents before children; commits that the repository lacks are
    placed by their first measurement.

    Parameters
    ----------
    hashes : sequence of str
        The commits of a store.
    first_measured : mapping
        When each was first measured; NaT where unknown.
    repository : Path or None
        A clone; None uses no git.
    """
    known = {} if repository is None else _read_from_git(repository, hashes)
    commits = [Commit(h, *known[h][1:]) for h in sorted(known, key=lambda h: known[h][0])]
    for name in sorted(set(hashes) - set(known), key=lambda h: (_seconds(first_measured[h]), h)):
        when = _seconds(first_measured[name])
        later = (i for i, c in enumerate(commits) if _seconds(first_measured[c.hash]) > when)
        commits.insert(next(later, len(commits)), Commit(name))
    return tuple(commits)


def _read_from_git(repository: Path, hashes: Sequence[str]) -> dict[str, tuple[int, str, str]]:
    """Return position, author date and subject of each commit that the repository has."""
    # Git could take any other folder name for a branch, which is another commit.
    names = [name for name in hashes if FULL_NAME.fullmatch(name)]
    if not names:
        return {}
    fields = _run(repository, LOG, names).split("\0")
    found = {
        name.strip(): (date, subject)
        for name, date, subject in zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
        if name.strip() in names
    }
    listed = _run(repository, ORDER, list(found)).split()
    position = {name: index for index, name in enumerate(listed)}
    return {name: (position[name], *text) for name, text in found.items() if name in position}


def _run(repository: Path, command: Sequence[str], names: Sequence[str]) -> str:
    """Return git's output for the names; empty where there is no git or no repository."""
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
