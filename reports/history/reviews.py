"""The reviews that the history's steps link to: of each commit that has one."""

from pathlib import Path

from ..errors import ReportError
from ..review import make_review, sides_of_store, write_review
from .series import History, Setting

FOLDER = "reviews"
MOST = 100  # of the newest; for older ones the page gives the command

Reviews = dict[tuple[str, str, str], str]


def write_reviews(history: History, store: str | Path, out: str | Path) -> Reviews:
    """Write a review for each commit with a step below `out`/reviews.

    Returns
    -------
    dict
        (setting, base, head) to the review's address, relative to `out`.
    """
    addresses: Reviews = {}
    for index, setting in enumerate(history.settings):
        for before, after in sorted(stepped(setting), key=lambda pair: -pair[1])[:MOST]:
            base, head = (history.commits[i].hash for i in (before, after))
            address = f"{FOLDER}/{index}-{base[:10]}-{head[:10]}"
            try:
                sides = sides_of_store(Path(store), base, head, setting=setting.name)
            except ReportError:
                continue  # measured in one setting, yet not readable as a pair: no link
            write_review(make_review(sides), Path(out) / address)
            addresses[setting.name, base, head] = f"{address}/index.html"
    return addresses


def stepped(setting: Setting) -> set[tuple[int, int]]:
    """Positions of the commits before and after each step."""
    return {
        (series.commits[step.index - 1], series.commits[step.index])
        for series in setting.series
        for step in series.steps
    }
