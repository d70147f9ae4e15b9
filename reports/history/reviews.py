"""The reviews that the history's steps link to: of each commit that has one.

A review is written again only where something it is made of has changed: the records of its two
commits, or the code that reads, judges and draws them. It is made of the records themselves, since
it tells of arrays and parameters that the history's table does not hold.
"""

import functools
import hashlib
import os
import re
import sys
from pathlib import Path

import pandas as pd

import jaxmeter

from ..errors import ReportError
from ..review import make_review, sides_of_store, write_review
from .series import History, Setting

FOLDER = "reviews"
MADE_OF = ".made_of"  # in the folder of a review: the digest of all that went into it
MOST = 100  # of the newest; for older ones the page gives the command
CODE = (".py", ".jinja", ".css", ".js")

Reviews = dict[tuple[str, str, str], str]


def write_reviews(history: History, store: str | Path, out: str | Path) -> Reviews:
    """Write a review for each commit with a step below `out`/reviews, if it is not there already.

    Returns
    -------
    dict
        (setting, base, head) to the review's address, relative to `out`.
    """
    addresses: Reviews = {}
    code = _digest_of_code()
    records = functools.cache(lambda commit: _digest_of_files(Path(store) / commit))
    for setting in history.settings:
        for before, after in sorted(stepped(setting), key=lambda pair: -pair[1])[:MOST]:
            base, head = (history.commits[i].hash for i in (before, after))
            key = setting.name, base, head
            address = f"{FOLDER}/{_folder(*key)}"
            made_of = _digest(*key, records(base), records(head), code)
            if _is_new(Path(out) / address, made_of):
                try:
                    sides = sides_of_store(Path(store), base, head, setting=setting.name)
                except ReportError:
                    continue  # measured in one setting, yet not readable as a pair: no link
                write_review(make_review(sides), Path(out) / address)
                (Path(out) / address / MADE_OF).write_text(made_of, encoding="utf-8")
            addresses[key] = f"{address}/index.html"
    return addresses


def stepped(setting: Setting) -> set[tuple[int, int]]:
    """Positions of the commits before and after each step."""
    return {
        (series.commits[step.index - 1], series.commits[step.index])
        for series in setting.series
        for step in series.steps
    }


def _folder(setting: str, base: str, head: str) -> str:
    """A name that is the same whatever else the store holds, and no other review's."""
    names = (re.sub(r"\W.*", "", name, flags=re.DOTALL)[:10] for name in (base, head))
    return "-".join([*names, _digest(setting, base, head)[:8]])


def _is_new(folder: Path, made_of: str) -> bool:
    """Whether there is no review of just this; an older one is then no longer taken for whole."""
    sign = folder / MADE_OF
    if (folder / "index.html").exists() and sign.exists() and sign.read_bytes() == made_of.encode():
        return False
    sign.unlink(missing_ok=True)
    return True


def _digest_of_files(folder: Path) -> str:
    """Of the names and the content of all files below a commit's folder."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            content = hashlib.blake2b(path.read_bytes(), digest_size=16).digest()
            digest.update(os.fsencode(path.relative_to(folder)) + b"\0" + content)
    return digest.hexdigest()


def _digest_of_code() -> str:
    """Of the sources of the reports and of jaxmeter, and the versions that they run with."""
    parts = [str(sys.version_info[:2]), pd.__version__]
    for root in (Path(__file__).parents[1], Path(jaxmeter.__file__).parent):
        sources = sorted(path for path in root.rglob("*") if path.suffix in CODE)
        parts += [path.read_text(encoding="utf-8") for path in sources]
    return _digest(*parts)


def _digest(*parts: str) -> str:
    text = "\0".join(parts).encode(errors="surrogateescape")
    return hashlib.blake2b(text, digest_size=16).hexdigest()
