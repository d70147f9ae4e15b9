"""Write a triage: a Markdown digest of the regressions and improvements of recent commits."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from pathlib import Path

from .commits import Commit, revisions
from .document.markdown import escaped
from .errors import ReportError
from .history.series import Environment, History, Series
from .history.steps import Step
from .review.causes import PROGRAM
from .review.findings import GATED, small_change
from .stats import magnitude
from .units import change, counted

MAX_CHANGES = 3  # changes shown for a commit, the largest first


@dataclass(frozen=True)
class Change:
    """A change point between two commits; `base` and `head` are indices in `History.commits`."""

    series: Series
    step: Step
    base: int
    head: int

    @property
    def magnitude(self) -> float:
        return magnitude(self.step.ratio)

    def __str__(self) -> str:
        before, after, metric = self.step.before, self.step.after, self.series.metric
        how = change(before, after, metric.unit, is_exact=metric.kind == "exact")
        if not (math.isfinite(before) and math.isfinite(after) and after):
            how = f"{before:g} → {after:g}"
        return f"{metric.title} {how} in {self.series.case}"


def triage(history: History, since: str, repository: Path) -> str:
    """Return the digest of the commits authored since a date, or after a git revision.

    The digest lists regressions and improvements of errors, times, resident memory, and the exact
    metrics that can fail a review. Three kinds of changes are left out: exact changes that are too
    small to fail a review, changes of times and of resident memory below the threshold of their
    series, and changes that were found only by `ruptures`, a package for change points. A listed
    change of a time or of resident memory is unexplained if no exact metric of the case's program
    changed at the same commit. The digest also lists the cases without a successful process, and
    counts the measured commits that `repository` does not have.
    """
    wanted = _wanted(history.commits, since, repository)
    if not wanted:
        raise ReportError(
            f"triage: no measured commit since {since}; measure commits (for example: make commits "
            "COMMITS=HEAD~10..HEAD), give an earlier --since, or set --repository to a clone that "
            "has the measured commits"
        )
    parts = [f"# Triage of {counted(len(wanted), 'measured commit')} since {since}", ""]
    if history.unknown_count:
        parts += [
            f"Left out: {counted(history.unknown_count, 'measured commit')} that the clone does "
            "not have; set `--repository` to a clone with the whole history.",
            "",
        ]
    for environment in history.environments:
        parts += _environment(environment, history.commits, wanted)
    return "\n".join(parts).rstrip() + "\n"


def _wanted(commits: Sequence[Commit], since: str, repository: Path) -> set[int]:
    if _is_date(since):
        return {i for i, one in enumerate(commits) if one.author_date >= since}
    later = revisions(repository, since)
    return {i for i, one in enumerate(commits) if one.hash in later}


def _is_date(text: str) -> bool:
    """Return whether a text is a date such as 2026-11-01, without a time of day."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _environment(
    environment: Environment, commits: Sequence[Commit], wanted: set[int]
) -> list[str]:
    changes = [one for one in _changes(environment.series) if one.head in wanted]
    if not changes and not wanted & set(environment.conditions):
        return []
    programs = {(one.series.case, one.head) for one in changes if one.series.metric.name in PROGRAM}
    kinds: dict[str, list[Change]] = {"Regressions": [], "Improvements": [], "Unexplained": []}
    for one in changes:
        metric = one.series.metric
        is_noisy = metric.kind == "noisy"
        if metric.kind == "exact" and (
            metric.name not in GATED or small_change(metric, one.step.before, one.step.after)
        ):
            continue
        if is_noisy and (one.series.case, one.head) not in programs:
            kinds["Unexplained"].append(one)
        else:
            kinds["Regressions" if one.step.is_worse else "Improvements"].append(one)
    regressed, improved, unexplained = (len(found) for found in kinds.values())
    counts = f"{counted(regressed, 'regression')}, {counted(improved, 'improvement')}"
    failed = [one for one in environment.failed if one.commit in wanted]
    lines = [
        f"## {escaped(environment.name)}",
        "",
        f"{counts}, {unexplained} unexplained, {len(failed)} failed or skipped.",
        "",
    ]
    for name, found in kinds.items():
        if found:
            lines += [f"### {name}", "", *_by_commit(found, commits), ""]
    if failed:
        lines += ["### Failed or skipped", ""]
        lines += [f"- {_name(commits[f.commit])}: {f.case}: {escaped(f.reason)}" for f in failed]
        lines += [""]
    return lines


def _changes(series: Iterable[Series]) -> Iterable[Change]:
    for one in series:
        for step in one.steps:
            found = Change(one, step, one.commits[step.index - 1], one.commits[step.index])
            is_small = one.metric.kind == "noisy" and math.expm1(found.magnitude) < one.threshold
            if step.found_by != "ruptures" and not is_small:
                yield found


def _by_commit(found: Sequence[Change], commits: Sequence[Commit]) -> Iterable[str]:
    ordered = sorted(found, key=lambda one: (one.head, one.base, -one.magnitude))
    groups = [list(group) for _, group in groupby(ordered, lambda one: (one.head, one.base))]
    for group in sorted(groups, key=lambda group: -group[0].magnitude):
        first, rest = group[0], len(group) - MAX_CHANGES
        shown = "; ".join(map(str, group[:MAX_CHANGES]))
        more = f"; {rest} more" if rest > 0 else ""
        yield f"- {_name(commits[first.head])}: {escaped(shown + more)}  "
        base, head = (commits[place].hash[:10] for place in (first.base, first.head))
        yield f"  `make review BASE={base} HEAD={head}`"


def _name(commit: Commit) -> str:
    known = f" {escaped(commit.subject)} ({escaped(commit.author)})" if commit.subject else ""
    return f"**{commit.hash[:10]}**{known}"
