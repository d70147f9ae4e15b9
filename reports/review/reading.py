"""Reads the two commits of a review, from one store or from the folder of a pair."""

import subprocess
from dataclasses import replace
from pathlib import Path

from ..errors import ReportError
from ..load import read_store
from .same_setting import sides_in_one_setting
from .sides import Sides


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
            "(to see how much equal commits differ here: python -m benchmarks.measuring.pair A A)"
        )
    return sides_in_one_setting(
        read_store(root, commit=one), read_store(root, commit=other), setting
    )


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
                "python -m benchmarks.measuring.pair BASE HEAD"
            )
    base, head = (read_store(folder / name) for name in ("base", "head"))
    programs = folder / "programs"
    texts = {
        path.relative_to(programs).with_suffix("").as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(programs.rglob("*.txt"))
    }
    return replace(sides_in_one_setting(base, head, setting), programs=texts)


def _commit(root: Path, name: str, repository: Path | None) -> str:
    """The folder of `root` that `name` means: its own before any that only begin with it."""
    held = sorted(path.name for path in root.iterdir() if path.is_dir())
    found = [commit for commit in held if name and commit.startswith(name)]
    if name in found:
        return name
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
