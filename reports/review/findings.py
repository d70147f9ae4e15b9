"""What a review finds: one metric of one case, or one case that cannot be compared."""

import math
from dataclasses import dataclass
from typing import Literal

from ..metrics import Metric

Verdict = Literal["worse", "better", "changed", "same", "inconclusive", "apart"]

# Tested together, so that the chance of any false alarm among them is the rule's. Other times
# tell where a difference lies; were they tested too, each test would have to be blunter.
PRIMARY = ("build_seconds", "steady_median_seconds")


@dataclass(frozen=True)
class Finding:
    """One metric of one case, base against head.

    Attributes
    ----------
    base, head : float
        The largest of an exact metric or an error, or the median over processes.
    low, high : float
        Interval of head/base where it was tested; NaN elsewhere.
    note : str
        Why the verdict is what it is.
    is_gated : bool
        Whether "worse" fails the review.
    only_at : str
        "BASE" or "HEAD" where the other has no such number, in some of its processes at least.
    joined : tuple of str
        The cases that were judged together, in a finding of several; `case` then says how many,
        and the rounds are those of all.
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
    joined: tuple[str, ...] = ()

    @property
    def is_primary(self) -> bool:
        """Whether it is one of the times that may decide."""
        return self.metric.name in PRIMARY

    @property
    def is_tested(self) -> bool:
        """Whether it was judged by statistics, which then tell an interval."""
        return not math.isnan(self.low)

    @property
    def ratio(self) -> float:
        """Head over base; NaN where base is nothing."""
        return self.head / self.base if self.base else math.nan


@dataclass(frozen=True)
class Lost:
    """A case that cannot be compared, and why.

    `is_worse` where head broke what base had; `failure_kind` is then the name of its error.
    """

    case: str
    reason: str
    is_worse: bool = False
    failure_kind: str = ""
