"""Write the history as one page that contains all numbers as JSON and a script that draws them."""

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..document.html import rendered
from ..document.write import write_whole
from ..units import counted
from .reviews import FOLDER, Reviews
from .series import Environment, History, Series
from .steps import ruptures

DIGITS = 5  # digits of a noisy number in the data; the page shows three


def write_history(history: History, out: str | Path, *, reviews: Reviews | None = None) -> Path:
    """Write the page `out`/index.html atomically, and return its path.

    `reviews` has the address of each review, relative to the page.
    """
    texts = {"index.html": history_page(history, reviews or {})}
    return write_whole(out, texts, kind="history", beside=[FOLDER])


def history_page(history: History, reviews: Reviews) -> str:
    """Return the page as one string of HTML that loads no other file."""
    data = json.dumps(compact(history, reviews), separators=(",", ":"), allow_nan=False)
    return rendered(
        "history.html.jinja",
        styles=("theme.css", "page.css", "history.css"),
        scripts=("history.js",),
        history=history,
        # A "</script>" in the subject of a commit would end the script block.
        data=data.replace("<", "\\u003c"),
        has_ruptures=ruptures is not None,
        series_count=sum(len(one.series) for one in history.environments),
        unknown=counted(history.unknown_count, "commit") if history.unknown_count else "",
    )


def compact(history: History, reviews: Reviews) -> dict[str, Any]:
    """Return the data for the page's script; numbers that are not finite become strings."""
    metrics = {s.metric.name: s.metric for one in history.environments for s in one.series}
    index = {name: i for i, name in enumerate(metrics)}
    return {
        "commits": [[c.hash, c.author_date, c.subject] for c in history.commits],
        "metrics": [
            [m.name, m.title, m.unit, m.kind, m.meaning.capitalize()] for m in metrics.values()
        ],
        "environments": [_environment(one, index, reviews) for one in history.environments],
    }


def _environment(
    environment: Environment, metrics: Mapping[str, int], reviews: Reviews
) -> dict[str, Any]:
    shown = [*environment.series, *environment.failed]
    place = {case: i for i, case in enumerate(dict.fromkeys(one.case for one in shown))}
    reasons = list(dict.fromkeys(failed.reason for failed in environment.failed))
    at = tuple(environment.conditions)
    return {
        "name": environment.name,
        "at": at,
        "conditions": list(environment.conditions.values()),
        "cases": list(place),
        "reasons": reasons,
        "failed": [
            [place[f.case], f.commit, f.processes_count, reasons.index(f.reason)]
            for f in environment.failed
        ],
        "reviews": {
            f"{base} {head}": address
            for (name, base, head), address in reviews.items()
            if name == environment.name
        },
        "series": [
            [place[one.case], metrics[one.metric.name], *_numbers(one, at), one.lines or 0]
            for one in environment.series
        ],
    }


def _numbers(series: Series, at: tuple[int, ...]) -> list[Any]:
    """Return commits, values, samples, change points and the threshold in percent.

    If the series has every commit of the environment (`at`), 0 replaces the commits. If the series
    has no samples, 0 replaces the samples.
    """

    def rounded(values: Iterable[float]) -> list[float | int | str]:
        return [_number(v, DIGITS if series.metric.kind == "noisy" else 17) for v in values]

    return [
        0 if series.commits == at else series.commits,
        rounded(series.values),
        [rounded(sample) for sample in series.samples] or 0,
        [[s.index, *rounded((s.before, s.after)), s.found_by, s.is_worse] for s in series.steps],
        math.ceil(100 * series.threshold),
    ]


def _number(value: float, digits: int) -> float | int | str:
    if not math.isfinite(value):
        return str(value)
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() else rounded
