"""The history as one page: all numbers as compact JSON, drawn by the page's own script."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..document.html import rendered
from ..document.write import write_whole
from .reviews import FOLDER, Reviews
from .series import History, Series, Setting
from .steps import second_opinion

DIGITS = 5  # of a noisy number; the eye sees three


def write_history(history: History, out: str | Path, *, reviews: Reviews | None = None) -> Path:
    """Write the page `out`/index.html, whole or not at all; return its path.

    Parameters
    ----------
    reviews : dict from (setting, base, head) to str, optional
        Addresses, relative to the page, of reviews that the steps link to.

    Raises
    ------
    ReportError
        If `out` holds something else than an earlier page.
    """
    texts = {"index.html": history_page(history, reviews or {})}
    write_whole(out, texts, kind="history", beside=[FOLDER])
    return Path(out) / "index.html"


def history_page(history: History, reviews: Reviews) -> str:
    """The page as one string: nothing in it is loaded from elsewhere."""
    data = json.dumps(compact(history, reviews), separators=(",", ":"), allow_nan=False)
    return rendered(
        "history.html.jinja",
        styles=("theme.css", "page.css", "history.css"),
        scripts=("history.js",),
        history=history,
        # A "</script>" within a commit's subject would end the block it stands in.
        data=data.replace("<", "\\u003c"),
        second_opinion=second_opinion(),
        series_count=sum(len(setting.series) for setting in history.settings),
    )


def compact(history: History, reviews: Reviews) -> dict[str, Any]:
    """What the page's script reads; numbers that are not finite are text."""
    metrics = {s.metric.name: s.metric for one in history.settings for s in one.series}
    index = {name: i for i, name in enumerate(metrics)}
    return {
        "commits": [[c.hash, c.author_date, c.subject] for c in history.commits],
        "metrics": [
            [m.name, m.title, m.unit, m.kind, m.meaning.capitalize()] for m in metrics.values()
        ],
        "settings": [_setting(setting, index, reviews) for setting in history.settings],
    }


def _setting(setting: Setting, metrics: Mapping[str, int], reviews: Reviews) -> dict[str, Any]:
    shown = [*setting.series, *setting.failed]
    place = {case: i for i, case in enumerate(dict.fromkeys(one.case for one in shown))}
    said = {reason: i for i, reason in enumerate(dict.fromkeys(f.reason for f in setting.failed))}
    at = tuple(setting.environments)
    return {
        "name": setting.name,
        "at": at,
        "told": list(setting.environments.values()),
        "cases": list(place),
        "reasons": list(said),
        "failed": [
            [place[f.case], f.commit, f.processes_count, said[f.reason]] for f in setting.failed
        ],
        "reviews": {
            f"{base} {head}": address
            for (name, base, head), address in reviews.items()
            if name == setting.name
        },
        "series": [
            [place[one.case], metrics[one.metric.name], *_numbers(one, at)]
            for one in setting.series
        ],
    }


def _numbers(series: Series, at: tuple[int, ...]) -> list[Any]:
    """Commits (0 for all of the setting's), values, samples (0 for none), steps."""
    digits = DIGITS if series.metric.kind == "noisy" else 17
    return [
        0 if series.commits == at else series.commits,
        [_number(value, digits) for value in series.values],
        [[_number(v, digits) for v in sample] for sample in series.samples] or 0,
        [
            [s.index, _number(s.before, digits), _number(s.after, digits), s.found_by]
            for s in series.steps
        ],
    ]


def _number(value: float, digits: int) -> float | int | str:
    if not math.isfinite(value):
        return str(value)
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded
