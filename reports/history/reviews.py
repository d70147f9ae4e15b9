"""Write reviews of the newest commits at which series of the history have change points.

An existing review is written again only if its inputs have changed. The inputs are the records of
the two commits, the code of the reports and jaxmeter, and the versions of Python and pandas. The
reviews are made from the records, because a review shows arrays that the history does not contain.
"""

import contextlib
import functools
import hashlib
import re
import stat
import sys
from pathlib import Path

import pandas as pd

import jaxmeter

from ..errors import ReportError
from ..review import make_review, read_commits, write_review
from .series import Environment, History

FOLDER = "reviews"
MADE_OF = ".made_of"  # file in the folder of a review, with the digest of the review's inputs
MOST = 100  # reviews of an environment; for older pairs of commits the page shows a command
CODE = (".py", ".jinja", ".css", ".js")

Reviews = dict[tuple[str, str, str], str]


def write_reviews(history: History, store: str | Path, out: str | Path) -> Reviews:
    """Write the reviews that are missing or outdated, in folders below `out`/reviews.

    A review compares the commits directly before and after a change point. In each environment,
    only the `MOST` newest pairs of commits get a review. Pairs that cannot be compared get no
    review. Return the address of each review, relative to `out`.
    """
    addresses: Reviews = {}
    code = _digest_of_code()
    records = functools.cache(lambda commit: _digest(_files(Path(store) / commit)))
    for environment in history.environments:
        for before, after in sorted(stepped(environment), key=lambda pair: -pair[1])[:MOST]:
            base, head = (history.commits[i].hash for i in (before, after))
            key = environment.name, base, head
            address = f"{FOLDER}/{_folder(*key)}"
            made_of = _digest(*key, records(base), records(head), code)
            page, sign = (Path(out) / address / name for name in ("index.html", MADE_OF))
            is_made = page.exists() and sign.exists() and sign.read_bytes() == made_of.encode()
            if not is_made:
                sign.unlink(missing_ok=True)
                try:
                    commits = read_commits(Path(store), base, head, environment=environment.name)
                except ReportError:
                    continue  # the commits cannot be compared, so the page has no link
                write_review(make_review(commits), Path(out) / address)
                sign.write_text(made_of, encoding="utf-8")
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


def _digest_of_code() -> str:
    """Return a digest of the code (reports, jaxmeter) and the versions (Python, pandas)."""
    roots = (Path(__file__).parents[1], Path(jaxmeter.__file__).parent)
    sources = (_files(root, CODE) for root in roots)
    return _digest(sys.version_info[:2], pd.__version__, *sources)


def _files(folder: Path, endings: tuple[str, ...] = ("",)) -> list[tuple[str, int, int]]:
    """Return the name, size and modification time of each file below a folder.

    Only files with one of the `endings` are listed. A changed record has another modification time,
    because jaxmeter writes a new file and renames it.
    """
    found = []
    for path in sorted(folder.rglob("*")):
        with contextlib.suppress(FileNotFoundError):  # deleted after it was listed
            about = path.lstat()
            if stat.S_ISREG(about.st_mode) and path.name.endswith(endings):
                found.append((str(path.relative_to(folder)), about.st_size, about.st_mtime_ns))
    return found


def _digest(*parts: object) -> str:
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()
