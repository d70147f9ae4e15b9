"""Exact metrics, errors and missing numbers: one process that differs is a finding.

A commit is judged by its worst process.
"""

import math
from typing import Literal

from jaxmeter import compare_largest

from ..metrics import Metric
from .model import CaseResults, Finding, Verdict

GATED = (
    "captured_bytes",
    "embedded_bytes",
    "hidden_argument_bytes",
    "temp_bytes",
    "traces_count",
    "compiles_count",
)
"""Exact metrics whose growth fails a review; errors always do, times where asked."""
SMALL_BYTES = 1024  # growth by less is reported but does not fail a review

ERROR_FACTOR = 1.25  # an error larger by this factor is a regression; less is summation order
ERROR_CHANGE = 1e-3  # relative changes of an error below this are not reported
ROUNDING = 1e-13

Values = tuple[dict[int, float], dict[int, float]]


def compare_exact_metric(
    case: str, metric: Metric, pair: tuple[CaseResults, CaseResults]
) -> Finding | None:
    """Compare an exact metric or an error; None where neither commit has it."""
    values = (pair[0].values(metric), pair[1].values(metric))
    is_gated = metric.kind == "error" or metric.name in GATED
    missing = missing_number(case, metric, pair, values, is_gated=is_gated)
    if missing is not None or not values[0] or not values[1]:
        return missing
    base, head = (list(one.values()) for one in values)
    verdict, note = _error(base, head) if metric.kind == "error" else _exact(metric, base, head)
    return Finding(case, metric, _largest(base), _largest(head), verdict, note, is_gated=is_gated)


def missing_number(
    case: str,
    metric: Metric,
    pair: tuple[CaseResults, CaseResults],
    values: Values,
    *,
    is_gated: bool,
) -> Finding | None:
    """Return the finding of a number that only one commit has; None if both have it.

    An exact number that some processes of HEAD lack is lost; of a time, the other rounds are left.
    """
    base, head = (list(one.values()) for one in values)
    lacking = len(pair[1].good) - len(head)
    only_at: Literal["BASE", "HEAD"] = "BASE"
    verdict: Verdict = "regression" if is_gated else "changed"
    if head and not base:
        only_at, verdict, is_gated = "HEAD", "changed", False
        note = "new: only at HEAD, nothing to compare with"
    elif base and lacking and (not head or _is_complete(metric, pair[0], base)):
        note = f"only at BASE, missing at HEAD{_in_processes(lacking, len(pair[1].good))}"
    else:
        return None
    numbers = (_largest(base), _largest(head))
    return Finding(case, metric, *numbers, verdict, note, is_gated=is_gated, only_at=only_at)


def is_more_often(head: tuple[int, int], base: tuple[int, int]) -> bool:
    """Return whether something happens more often at HEAD, given (how many, of how many).

    One more among many more processes is chance; all of them never are, if BASE had a good one.
    """
    more = head[0] * base[1] > base[0] * head[1]
    return more and (head[0] > base[0] or head[0] == head[1])


def _is_complete(metric: Metric, case: CaseResults, values: list[float]) -> bool:
    return metric.kind != "noisy" and len(values) == len(case.good)


def _largest(values: list[float]) -> float:
    """Return the maximum; NaN if any value is, or there is none."""
    return math.nan if any(map(math.isnan, values)) else max(values, default=math.nan)


def _exact(metric: Metric, base: list[float], head: list[float]) -> tuple[Verdict, str]:
    order, note = compare_largest(base, head)
    if order == "same" or order == "inconclusive":
        return order, note
    if metric.name not in GATED:
        return "changed", note
    if metric.unit == "bytes" and abs(max(head) - max(base)) < SMALL_BYTES:
        return "changed", f"less than {SMALL_BYTES} bytes"
    return "regression" if order == "larger" else "improvement", note


def _error(base: list[float], head: list[float]) -> tuple[Verdict, str]:
    if any(map(math.isnan, (*base, *head))):
        return _not_a_number(base, head)
    low, high = max(base), max(head)
    if high > ERROR_FACTOR * max(low, ROUNDING):
        return "regression", "the answer is less accurate"
    if low > ERROR_FACTOR * max(high, ROUNDING):
        return "improvement", "the answer is more accurate"
    largest = max(low, high)
    if largest > ROUNDING and abs(high - low) > ERROR_CHANGE * largest:
        return "changed", "within what the order of summation explains"
    return "same", ""


def _not_a_number(base: list[float], head: list[float]) -> tuple[Verdict, str]:
    at_base, at_head = ((sum(map(math.isnan, one)), len(one)) for one in (base, head))
    if is_more_often(at_head, at_base):
        return "regression", f"not a number{_in_processes(*at_head)}"
    if is_more_often(at_base, at_head):
        return "improvement", f"not a number at BASE{_in_processes(*at_base)}"
    both = f"{_in_processes(*at_base)} at BASE and{_in_processes(*at_head)} at HEAD"
    return "inconclusive", f"not a number{both}"


def _in_processes(part: int, whole: int) -> str:
    """Return " in 5 of 6 processes", or nothing where it is all of them."""
    return "" if part == whole else f" in {part} of {whole} processes"
