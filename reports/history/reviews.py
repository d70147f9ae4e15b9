"""Write reviews of the newest commits at which series of the history have change points.

A review is written again only if its inputs have changed: the records of its two commits, the code
that reads, compares and draws the records, or the version of Python or pandas. The reviews are made
from the records, because a review shows arrays that the history's table does not contain.
"""

import functools
import hashlib
import os
import re
import sys
from collections.abc import Container
from pathlib import Path

import pandas as pd

import jaxmeter

from ..errors import ReportError
from ..review import make_review, read_commits, write_review
from ..store.load import walk
from .series import Environment, History

FOLDER = "reviews"
MADE_OF = ".made_of"  # file in the folder of a review, with the digest of the review's inputs
MOST = 100  # limit for reviews of an environment; for older pairs the page shows a command
CODE = (".py", ".jinja", ".css", ".js")

Reviews = dict[tuple[str, str, str], str]


def write_reviews(history: History, store: str | Path, out: str | Path) -> Reviews:
    """Write the missing or outdated reviews of commits with a change point to `out`/reviews.

    In each environment, only the `MOST` newest pairs of commits get a review. Pairs that cannot be
    compared get no review.

    Returns
    -------
    dict
        Address of each review, relative to `out`, by (environment, base, head).
    """
    addresses: Reviews = {}
    code = _digest_of_code()
    records = functools.cache(lambda commit: _digest_of_files(Path(store) / commit))
    for environment in history.environments:
        for before, after in sorted(stepped(environment), key=lambda pair: -pair[1])[:MOST]:
            base, head = (history.commits[i].hash for i in (before, after))
            key = environment.name, base, head
            address = f"{FOLDER}/{_folder(*key)}"
            made_of = _digest(*key, records(base), records(head), code)
            if _is_new(Path(out) / address, made_of):
                try:
                    commits = read_commits(Path(store), base, head, environment=environment.name)
                except ReportError:
                    continue  # the commits cannot be compared, so the page has no link
                write_review(make_review(commits), Path(out) / address)
                (Path(out) / address / MADE_OF).write_text(made_of, encoding="utf-8")
            addresses[key] = f"{address}/index.html"
    return addresses


def stepped(environment: Environment) -> set[tuple[int, int]]:
    """Return the positions of the commits before and after each change point."""
    return {
        (series.commits[step.index - 1], series.commits[step.index])
        for series in environment.series
        for step in series.steps
    }


def _folder(environment: str, base: str, head: str) -> str:
    """Return a unique folder name that depends only on the environment and both commits."""
    names = (re.sub(r"\W.*", "", name, flags=re.DOTALL)[:10] for name in (base, head))
    return "-".join([*names, _digest(environment, base, head)[:8]])


def _is_new(folder: Path, made_of: str) -> bool:
    """Return whether a review of these inputs is missing; if so, delete the old review's digest."""
    sign = folder / MADE_OF
    if (folder / "index.html").exists() and sign.exists() and sign.read_bytes() == made_of.encode():
        return False
    sign.unlink(missing_ok=True)
    return True


def _digest_of_files(folder: Path, suffixes: Container[str] | None = None) -> str:
    """Return the digest of the names and contents of the files below a folder.

    If `suffixes` are given, files with other endings are ignored.
    """
    paths = (Path(place, name) for place, names in walk(folder) for name in names or ())
    files = (path for path in sorted(paths) if path.is_file())
    wanted = [path for path in files if suffixes is None or path.suffix in suffixes]
    return _digest(*(x for path in wanted for x in (path.relative_to(folder), _content(path))))


def _content(path: Path) -> bytes:
    """Return the content of a file or, if it cannot be read, the reason."""
    try:
        return jaxmeter.read_file(path)
    except (OSError, jaxmeter.FileError) as error:
        return str(error).encode()


def _digest_of_code() -> str:
    """Return the digest of the code of the reports and jaxmeter.

    The versions of Python and pandas are included.
    """
    roots = (Path(__file__).parents[1], Path(jaxmeter.__file__).parent)
    sources = (_digest_of_files(root, CODE) for root in roots)
    return _digest(str(sys.version_info[:2]), pd.__version__, *sources)


def _digest(*parts: str | bytes | Path) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(hashlib.blake2b(os.fsencode(part), digest_size=16).digest())
    return digest.hexdigest()
