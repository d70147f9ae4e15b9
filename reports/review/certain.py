"""Exact metrics and errors: what they are needs no statistics, one process that differs is one.

So a commit is judged by the worst of its processes.
"""

import math

from ..metrics import Metric
from .findings import Finding, Verdict
from .sides import CaseSide
from .values import is_more_often, one_sided, some, values_of

GATED = (
    "captured_bytes",
    "embedded_bytes",
    "hidden_argument_bytes",
    "temp_bytes",
    "traces_count",
    "compiles_count",
)
"""Exact metrics whose growth fails a review; errors do always, times where asked."""
SMALL_BYTES = 1024  # of growth: told, yet no reason to stop anybody

ERROR_FACTOR = 1.25  # an error is worse from here on; below, summation order explains it
ERROR_TOLD = 1e-3  # share of an error; by less it moves with the order of summation, untold
ROUNDING = 1e-13


def certain(name: str, metric: Metric, pair: tuple[CaseSide, CaseSide]) -> Finding | None:
    """The finding of an exact metric or an error; None where neither commit has it."""
    values = (values_of(pair[0], metric), values_of(pair[1], metric))
    is_gated = metric.kind == "error" or metric.name in GATED
    found = one_sided(name, metric, pair, values, is_gated=is_gated)
    if found is not None or not values[0] or not values[1]:
        return found
    base, head = (list(one.values()) for one in values)
    if metric.kind == "error":
        return _error(name, metric, base, head)
    return _exact(name, metric, sorted(base), sorted(head))


def _exact(name: str, metric: Metric, base: list[float], head: list[float]) -> Finding:
    """Judge sorted values: HEAD's largest against BASE, where that is one number."""
    low, high = base[-1], head[-1]
    if base[0] != base[-1] and base[0] <= head[-1] and head[0] <= base[-1]:
        varies = "differs between the processes of BASE"
        return Finding(name, metric, low, high, "same" if base == head else "inconclusive", varies)
    if high == low and head[0] < low:
        lower = f"lower{some(sum(value < low for value in head), len(head))}"
        return Finding(name, metric, low, high, "inconclusive", lower)
    if high == low:
        return Finding(name, metric, low, high, "same")
    beyond = sum(value > low for value in head) if high > low else len(head)
    note = some(beyond, len(head)).strip()
    if metric.name not in GATED:
        return Finding(name, metric, low, high, "changed", note)
    if metric.unit == "bytes" and abs(high - low) < SMALL_BYTES:
        return Finding(name, metric, low, high, "changed", f"less than {SMALL_BYTES} bytes")
    verdict = "worse" if high > low else "better"
    return Finding(name, metric, low, high, verdict, note, is_gated=True)


def _error(name: str, metric: Metric, base: list[float], head: list[float]) -> Finding:
    lost = [(sum(map(math.isnan, one)), len(one)) for one in (base, head)]
    low, high = (math.nan if any(map(math.isnan, one)) else max(one) for one in (base, head))
    verdict, note = _accuracy(low, high)
    if any(bad for bad, _ in lost):
        verdict, note = _not_a_number(lost[0], lost[1])
    return Finding(name, metric, low, high, verdict, note, is_gated=True)


def _accuracy(low: float, high: float) -> tuple[Verdict, str]:
    """Of the largest error of each side."""
    if high > ERROR_FACTOR * max(low, ROUNDING):
        return "worse", "the answer is less accurate"
    if low > ERROR_FACTOR * max(high, ROUNDING):
        return "better", "the answer is more accurate"
    largest = max(low, high)
    if largest > ROUNDING and abs(high - low) > ERROR_TOLD * largest:
        return "changed", "within what the order of summation explains"
    return "same", ""


def _not_a_number(base: tuple[int, int], head: tuple[int, int]) -> tuple[Verdict, str]:
    if is_more_often(head, base):
        return "worse", f"not a number{some(*head)}"
    if is_more_often(base, head):
        return "better", f"not a number at BASE{some(*base)}"
    return "inconclusive", f"not a number{some(*base)} at BASE and{some(*head)} at HEAD"
