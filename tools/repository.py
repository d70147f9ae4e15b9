"""What the scripts beside this one ask of the checkout they lie in."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class CommitProblem(Exception):
    """A commit that was named cannot be used; the message says why."""


def named(commit):
    """The full name of a commit.

    Raises
    ------
    CommitProblem
        If git knows none.
    """
    found = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    if not found:
        raise CommitProblem(f"git knows no commit {commit!r}; 'git log --oneline' lists them")
    return found


def branched_off(base, head):
    """The full name of the last commit that both have; that of `base` where they share none.

    Raises
    ------
    CommitProblem
        If git knows one of them not.
    """
    base, head = named(base), named(head)
    return _git("merge-base", base, head) or base


def run(arguments):
    """Run a module of this repository in this interpreter; its exit code."""
    return subprocess.call([sys.executable, "-m", *arguments], cwd=ROOT)


def _git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""
