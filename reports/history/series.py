"""Make series: the values of one metric of one case in one environment, over all commits."""

import math
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from jaxmeter import CompileSummary

from .. import tables
from ..commits import Commit, ordered_commits
from ..compile_lines import CompileLines, compile_lines, line_changes, slowest_lines
from ..errors import ReportError
from ..quantities import COMPILED, COMPILING, ERROR_FACTOR, Metric, failure_words, metrics_of
from ..store.load import SkippedFile, Store
from ..store.machines import environment_names
from ..tables import groups, last_known, numeric, rows
from .steps import Step, find_steps

VERSIONS = ("Python", "numpy")
LOWEST_THRESHOLD = 0.05  # lowest threshold of a noisy series
FEWEST_DIFFERENCES = 8  # with fewer differences of neighbours, the threshold is `LOWEST_THRESHOLD`

Profiles = Mapping[tuple[str, int], CompileSummary]
"""Compile profiles, by case and position of the commit."""


@dataclass(frozen=True)
class Failed:
    """A case and the position of a commit at which no process of the case succeeded."""

    case: str
    commit: int
    processes_count: int
    reason: str


@dataclass(frozen=True)
class Series:
    """One metric of one case over commits."""

    case: str
    metric: Metric
    commits: tuple[int, ...]  # positions in the history, in increasing order
    # One value for each commit: for a noisy metric the median over processes, else the maximum.
    values: tuple[float, ...]
    # For each commit, the value of each process. Empty for an exact metric if all processes of each
    # commit agree.
    samples: tuple[tuple[float, ...], ...]
    steps: tuple[Step, ...]
    # For compile times: a text for each commit with a compile profile, by index in `commits`. At a
    # change point, the text has the source lines that explain the change, if such lines were found.
    # Otherwise, it has the slowest source lines.
    lines: Mapping[int, str] = field(default_factory=dict)

    @property
    def threshold(self) -> float:
        """The largest relative change that can be noise; 0 for an exact metric."""
        if self.metric.kind == "exact":
            return 0.0
        if self.metric.kind == "error":
            return ERROR_FACTOR - 1
        return noise_threshold(self.values, {step.index for step in self.steps})


def noise_threshold(values: Sequence[float], stepped: Collection[int] = ()) -> float:
    """Return a relative change of a noisy series; noise does not explain a larger change.

    `values` has one number for each commit, oldest first. The threshold is Q3 + 3 (Q3 - Q1), where
    Q1 and Q3 are the quartiles of the absolute relative differences of neighbours, computed from
    logarithms. Differences at the indices `stepped`, the first points of new levels, are left out.
    Source: the performance tracker of the Rust compiler (github.com/rust-lang/rustc-perf,
    docs/comparison-analysis.md).
    """
    differences = [
        abs(math.log(after / before))
        for i, (before, after) in enumerate(pairwise(values), start=1)
        if i not in stepped and before > 0 and after > 0 and math.isfinite(before * after)
    ]
    if len(differences) < FEWEST_DIFFERENCES:
        return LOWEST_THRESHOLD
    low, _, high = statistics.quantiles(differences, n=4, method="inclusive")
    return max(LOWEST_THRESHOLD, math.expm1(high + 3 * (high - low)))


@dataclass(frozen=True)
class Environment:
    """All series of one environment: a machine with a device, versions and flags."""

    name: str
    series: tuple[Series, ...]
    # A text for each commit, by position of the commit in the history. The text has the versions of
    # Python and NumPy, the largest load, and the time of the last measurement.
    conditions: dict[int, str]
    failed: tuple[Failed, ...] = ()


@dataclass(frozen=True)
class History:
    """All series of a store by environment, with the store's ordered commits and skipped files."""

    commits: tuple[Commit, ...]
    environments: tuple[Environment, ...]
    skipped: tuple[SkippedFile, ...]

    @property
    def unknown_count(self) -> int:
        """The number of commits that git does not find."""
        return sum(not commit.author_date for commit in self.commits)


def make_history(store: Store, *, repository: Path | None = None) -> History:
    """Return every series of a store with its change points.

    The order, dates and subjects of the commits are from the git clone `repository`, if it is
    given. The environments are sorted by their number of commits, largest number first.
    Environments without a series come last.
    """
    measured = tables.measurements(store)
    if "ok" not in set(measured["status"]):
        found = rows(measured)
        why = f"; first failure: {failure_words(found[0])}" if found else ""
        raise ReportError(
            f"make_history: no process in the store {store.root} succeeded; measure again{why}"
        )
    names = environment_names(store.records)
    table = measured.assign(environment=names)
    first = {key["commit"]: found["started_utc"].min() for key, found in groups(table, ["commit"])}
    commits = ordered_commits(first, repository)
    position = {commit.hash: index for index, commit in enumerate(commits)}
    table = table.assign(position=[position[name] for name in table["commit"]])
    environments = []
    for key, found in groups(table, ["environment"]):
        profiles = {
            (one.case, position[one.commit]): one.record.compile_summary
            for name, one in zip(names, store.records, strict=True)
            if name == key["environment"] and one.record.compile_summary is not None
        }
        series = list(_all_series(found.loc[found["status"] == "ok"]))
        with_lines, failed = tuple(_with_lines(series, profiles)), tuple(_all_failed(found))
        environments.append(Environment(key["environment"], with_lines, _conditions(found), failed))
    environments.sort(key=lambda one: (not one.series, -len(one.conditions), one.name))
    return History(commits, tuple(environments), store.skipped)


def _all_series(table: pd.DataFrame) -> Iterator[Series]:
    """Yield, for each case, a series for each measured metric, in the order of `metrics_of`.

    An error that is NaN in every process has no series.
    """
    metrics = metrics_of(table.dropna(axis="columns", how="all").columns)
    for key, case in groups(table.sort_values(["position", "round_index"]), ["case"]):
        at = case["position"].to_numpy()
        for metric in metrics:
            values = numeric(case[metric.name]).to_numpy(dtype=float, na_value=np.nan)
            present = _was_measured(case, metric)
            if metric.kind == "error" and np.isnan(values).all():
                continue
            if present.any():
                yield _series(str(key["case"]), metric, at[present], values[present])


def _was_measured(case: pd.DataFrame, metric: Metric) -> np.ndarray:
    """Return whether each process measured the metric, shape (processes,).

    An error that was computed as NaN counts as measured; a missing error does not.
    """
    present = numeric(case[metric.name]).notna().to_numpy(dtype=bool)
    if metric.kind != "error":
        return present
    listed = case["not_a_number"].fillna("").to_list()
    return present | np.array([metric.name in str(names).split(", ") for names in listed], bool)


def _series(case: str, metric: Metric, at: np.ndarray, values: np.ndarray) -> Series:
    commits, starts = np.unique(at, return_index=True)  # at is sorted
    samples = np.split(values, starts[1:])
    middle = np.median if metric.kind == "noisy" else np.max
    points = tuple(float(middle(sample)) for sample in samples)
    agree = metric.kind == "exact" and all((s == s[0]).all() for s in samples)
    kept = () if agree else tuple(tuple(map(float, sample)) for sample in samples)
    steps = find_steps(points, metric.kind)
    return Series(case, metric, tuple(map(int, commits)), points, kept, steps)


def _with_lines(series: Sequence[Series], profiles: Profiles) -> Iterator[Series]:
    """Yield the series; add the texts on source lines (`Series.lines`) to compile times."""
    lines = {
        (one.case, commit): found
        for one in series
        if one.metric.name == COMPILED
        for commit, median in zip(one.commits, one.values, strict=True)
        if (found := compile_lines([profiles.get((one.case, commit))], median))
    }
    for one in series:
        if one.metric.name in COMPILING:
            one = replace(one, lines=_lines_at(one, lines))
        yield one


def _lines_at(series: Series, lines: Mapping[tuple[str, int], CompileLines]) -> dict[int, str]:
    stepped = {step.index for step in series.steps}
    texts = {}
    for index, commit in enumerate(series.commits):
        here = lines.get((series.case, commit))
        before = lines.get((series.case, series.commits[index - 1])) if index in stepped else None
        if here is not None:
            changes = line_changes(before, here) if before else ()
            texts[index] = "; ".join(map(str, changes)) or f"slowest lines: {slowest_lines(here)}"
    return texts


def _all_failed(table: pd.DataFrame) -> Iterator[Failed]:
    """Yield the cases and commits at which no process succeeded, in the order of the commits."""
    where = ["position", "case"]
    is_good = table["status"].eq("ok").groupby([table[name] for name in where]).transform("any")
    for key, found in groups(table.loc[~is_good].sort_values("round_index"), where):
        yield Failed(key["case"], int(key["position"]), len(found), failure_words(rows(found)[0]))


def _conditions(table: pd.DataFrame) -> dict[int, str]:
    """Return the texts for `Environment.conditions`, by position of the commit."""
    made = {}
    for key, found in groups(table.sort_values("started_utc", na_position="first"), ["position"]):
        versions = {name: last_known(found[f"{name.lower()}_version"]) for name in VERSIONS}
        parts = [f"{name} {version}" for name, version in versions.items() if version]
        load, started = found["load_1min_before"].max(), found["started_utc"].max()
        if not pd.isna(load):
            parts.append(f"load up to {load:.1f}")
        if not pd.isna(started):
            parts.append(f"measured {started:%Y-%m-%d %H:%M} UTC")
        made[int(key["position"])] = ", ".join(parts)
    return made
