"""The data of a review: what was measured of both commits, and what differs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pandas as pd

from ..frames import Row
from ..load import SkippedFile
from ..metrics import Metric

Verdict = Literal["regression", "improvement", "changed", "same", "inconclusive", "unpaired"]
REPORTED: tuple[Verdict, ...] = ("regression", "improvement", "changed")

# Tested together, so that a false alarm among all of them has the significance of the criteria.
# Other times show where a difference lies; testing them as well would make every test weaker.
PRIMARY = ("trace_lower_compile_seconds", "steady_median_seconds")


@dataclass(frozen=True)
class CaseResults:
    """All processes of one case at one commit.

    Attributes
    ----------
    good : dict from int to dict
        Measurements of the processes that succeeded by round, as in `tables.measurements`.
    failed : tuple of dict
        Measurements of the others.
    definition : tuple
        Target and parameters; equal where both commits measured the same function.
    arrays : tuple of tuple
        Captured arrays of the process that captured most, as (shape and dtype, bytes, where).
    checked : dict from int to frozenset of str
        By round, the names of the case's own checks and measurements.
    """

    good: dict[int, Row]
    failed: tuple[Row, ...] = ()
    definition: tuple[Any, ...] = ()
    arrays: tuple[tuple[str, int, str], ...] = ()
    checked: Mapping[int, frozenset[str]] = field(default_factory=dict)

    @property
    def broken(self) -> tuple[Row, ...]:
        """The failed processes without those that were skipped on purpose."""
        return tuple(row for row in self.failed if row["status"] != "skipped")

    def values(self, metric: Metric) -> dict[int, float]:
        """Return the values of a metric by round; NaN where a check gave no number."""
        found = {}
        for index, row in self.good.items():
            value = row.get(metric.name)
            if value is not None and not pd.isna(value):
                if metric.kind != "noisy" or math.isfinite(value):  # no clock gives others
                    found[index] = float(value)
            elif metric.kind == "error" and metric.name in self.checked.get(index, ()):
                found[index] = math.nan
        return found


@dataclass(frozen=True)
class CommitResults:
    """All cases of one commit."""

    commit: str
    cases: dict[str, CaseResults]


@dataclass(frozen=True)
class LeftOut:
    """An environment or a folder that no number of the review comes from.

    `is_asked` where another environment was asked for by name.
    """

    name: str
    reason: str
    is_asked: bool = False


@dataclass(frozen=True)
class CommitPair:
    """Both commits in one environment.

    `programs` maps cases to the differences between their programs, as text.
    """

    base: CommitResults
    head: CommitResults
    environment: str
    left_out: tuple[LeftOut, ...]
    skipped: tuple[SkippedFile, ...]
    programs: Mapping[str, str] = field(default_factory=dict)

    def case(self, name: str) -> tuple[CaseResults, CaseResults]:
        """Return a case of both commits."""
        return self.base.cases[name], self.head.cases[name]


@dataclass(frozen=True)
class Finding:
    """One metric of one case, BASE against HEAD.

    Attributes
    ----------
    base, head : float
        The maximum of an exact metric or an error, or the median over processes.
    note : str
        Reason of the verdict.
    low, high : float
        Interval of head/base where it was tested; NaN elsewhere.
    is_gated : bool
        Whether a regression fails the review.
    only_at : str
        "BASE" or "HEAD" where the other has no such number, in some of its processes at least.
    pooled : tuple of str
        The cases of a pooled time; `case` then says how many, and rounds are those of all.
    """

    case: str
    metric: Metric
    base: float
    head: float
    verdict: Verdict
    note: str = ""
    low: float = math.nan
    high: float = math.nan
    rounds_count: int = 1
    is_gated: bool = False
    only_at: Literal["", "BASE", "HEAD"] = ""
    pooled: tuple[str, ...] = ()

    @property
    def is_primary(self) -> bool:
        """Whether it is a time that may decide."""
        return self.metric.name in PRIMARY

    @property
    def is_tested(self) -> bool:
        """Whether it was tested statistically and has an interval."""
        return not math.isnan(self.low)

    @property
    def ratio(self) -> float:
        """Head over base; NaN where base is 0."""
        return self.head / self.base if self.base else math.nan


@dataclass(frozen=True)
class LostCase:
    """A case that cannot be compared, and why.

    `is_regression` where HEAD broke it; `failure_kind` is then the name of its error.
    """

    case: str
    reason: str
    is_regression: bool = False
    failure_kind: str = ""
