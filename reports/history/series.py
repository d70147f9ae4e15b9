"""From the measurements to series: one metric of one case in one setting, over all commits."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pandas as pd

from .. import tables
from ..errors import ReportError
from ..frames import any_of, groups, numeric
from ..load import SkippedFile, Store
from ..machines import with_setting
from ..metrics import Metric, metrics_of, was_measured, with_build_seconds
from .commits import Commit, ordered_commits
from .failures import Failed, all_failed
from .steps import Step, find_steps


@dataclass(frozen=True)
class Series:
    """One metric of one case.

    Attributes
    ----------
    commits : tuple of int, shape (n,)
        Positions in the history's commits, rising.
    values : tuple of float, shape (n,)
        For each the median of the processes of a noisy metric, the largest of others.
    samples : tuple of tuple of float, shape (n, processes)
        What each process gave; empty for exact metrics that agree in all.
    """

    case: str
    metric: Metric
    commits: tuple[int, ...]
    values: tuple[float, ...]
    samples: tuple[tuple[float, ...], ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Setting:
    """All series of one machine and one JAX, and how each commit was measured there.

    `failed` are the cases and commits without a point, since every process failed; where all of
    the setting did, it has no series.
    """

    name: str
    series: tuple[Series, ...]
    environments: dict[int, str]
    failed: tuple[Failed, ...] = ()


@dataclass(frozen=True)
class History:
    commits: tuple[Commit, ...]
    settings: tuple[Setting, ...]
    skipped: tuple[SkippedFile, ...]


def make_history(store: Store, *, repository: Path | None = None) -> History:
    """Every series of a store and its steps; settings with the most commits first.

    Parameters
    ----------
    store : Store
        From `reports.read_store`.
    repository : Path, optional
        A clone that knows order, dates and subjects of the commits.

    Raises
    ------
    ReportError
        If no process succeeded, or asv is missing.
    """
    measured = tables.measurements(store)
    if not any_of(measured["status"] == "ok"):
        raise ReportError("make_history: no process of the store succeeded; reports build says why")
    # Of the whole table: those that succeeded tell in which setting the others were.
    table = with_build_seconds(with_setting(measured))
    first = {
        str(k["commit"]): cast(pd.Timestamp, g["started_utc"].min())
        for k, g in groups(table, ["commit"])
    }
    commits = ordered_commits(list(first), first, repository)
    position = {commit.hash: index for index, commit in enumerate(commits)}
    table = table.assign(position=[position[name] for name in table["commit"]])
    settings = []
    for key, found in groups(table, ["setting"]):
        series = tuple(_all_series(found.loc[found["status"] == "ok"]))
        failed = tuple(all_failed(found))
        settings.append(Setting(str(key["setting"]), series, _environments(found), failed))
    settings.sort(key=lambda one: (not one.series, -len(one.environments), one.name))
    return History(commits, tuple(settings), store.skipped)


def _all_series(table: pd.DataFrame) -> Iterator[Series]:
    """A series for each case and metric that was ever measured in it, in the metrics' order."""
    metrics = metrics_of(table)
    for key, case in groups(table.sort_values(["position", "round_index"]), ["case"]):
        at = case["position"].to_numpy()
        for metric in metrics:
            values = numeric(case[metric.name]).to_numpy(dtype=float, na_value=np.nan)
            present = was_measured(case, metric)
            if metric.kind == "error" and np.isnan(values).all():
                continue
            if present.any():
                yield _series(str(key["case"]), metric, at[present], values[present])


def _series(case: str, metric: Metric, at: np.ndarray, values: np.ndarray) -> Series:
    commits, starts = np.unique(at, return_index=True)  # at is sorted
    samples = np.split(values, starts[1:])
    middle = np.median if metric.kind == "noisy" else np.max
    points = tuple(float(middle(sample)) for sample in samples)
    agree = metric.kind == "exact" and all((s == s[0]).all() for s in samples)
    kept = () if agree else tuple(tuple(map(float, sample)) for sample in samples)
    steps = find_steps(points, metric.kind)
    return Series(case, metric, tuple(map(int, commits)), points, kept, steps)


def _environments(table: pd.DataFrame) -> dict[int, str]:
    """For each commit: Python, load and date of its measuring, in words."""
    told = {}
    wanted = ["position", "python_version", "numpy_version", "load_1min_before", "started_utc"]
    ordered = cast(pd.DataFrame, table[wanted]).sort_values("started_utc", na_position="first")
    for key, found in groups(ordered, ["position"]):
        versions = {"Python": found["python_version"], "numpy": found["numpy_version"]}
        # A process that failed may not have lived to tell.
        known = {name: column.dropna() for name, column in versions.items()}
        parts = [f"{name} {column.iloc[-1]}" for name, column in known.items() if len(column)]
        loads = [float(load) for load in found["load_1min_before"] if not pd.isna(load)]
        if loads:
            parts.append(f"load up to {max(loads):.1f}")
        started = cast(pd.Timestamp, found["started_utc"].max())
        if not pd.isna(started):
            parts.append(f"measured {started:%Y-%m-%d %H:%M} UTC")
        told[int(key["position"])] = ", ".join(parts)
    return told
