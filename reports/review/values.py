"""The numbers of one metric in the processes of a case, and what it means where some are missing.

A process may have given no number at all, or one that is not a number: a check that failed so.
"""

import math
from typing import Literal

import pandas as pd

from ..metrics import Metric
from .findings import Finding
from .sides import CaseSide


def values_of(case: CaseSide, metric: Metric) -> dict[int, float]:
    """By round; NaN where a check was made and its error is no number, nothing where none was."""
    found = {}
    for index, row in case.good.items():
        value = row.get(metric.name)
        if value is not None and not pd.isna(value):
            if metric.kind != "noisy" or math.isfinite(value):  # no clock gives others
                found[index] = float(value)
        elif metric.kind == "error" and metric.name in case.checked.get(index, ()):
            found[index] = math.nan
    return found


def one_sided(
    name: str,
    metric: Metric,
    pair: tuple[CaseSide, CaseSide],
    values: tuple[dict[int, float], dict[int, float]],
    *,
    is_gated: bool,
) -> Finding | None:
    """The finding of a number that only one commit has, in all its processes; else None.

    What HEAD has in some of its processes alone counts as lost, unless it is a time: of those the
    rounds that are left are judged.
    """
    base, head = values
    if head and not base:
        note = "new: only at HEAD, nothing to compare it with"
        return _one_sided(name, metric, (math.nan, largest(head)), "HEAD", note)
    is_partly = metric.kind != "noisy" and len(base) == len(pair[0].good)
    lacking = len(pair[1].good) - len(head)
    if not base or not lacking or (head and not is_partly):
        return None
    note = f"only at BASE, missing at HEAD{some(lacking, len(pair[1].good))}"
    numbers = (largest(base), largest(head) if head else math.nan)
    return _one_sided(name, metric, numbers, "BASE", note, is_gated=is_gated)


def _one_sided(
    name: str,
    metric: Metric,
    numbers: tuple[float, float],
    only_at: Literal["BASE", "HEAD"],
    note: str,
    *,
    is_gated: bool = False,
) -> Finding:
    verdict = "worse" if is_gated else "changed"
    return Finding(name, metric, *numbers, verdict, note, is_gated=is_gated, only_at=only_at)


def largest(values: dict[int, float]) -> float:
    """The largest; NaN if any is."""
    return math.nan if any(map(math.isnan, values.values())) else max(values.values())


def some(part: int, whole: int) -> str:
    """` in 5 of 6 processes`, or nothing where it is all of them."""
    return "" if part == whole else f" in {part} of {whole} processes"


def is_more_often(head: tuple[int, int], base: tuple[int, int]) -> bool:
    """Whether something befell HEAD more often, each side as (how many, of how many).

    One more of many more processes is chance; all of them never is, if BASE had a better one.
    """
    more = head[0] * base[1] > base[0] * head[1]
    return more and (head[0] > base[0] or head[0] == head[1])
