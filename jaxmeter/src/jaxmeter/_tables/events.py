"""Compute what traces and nsys captures share: self times of events, and the table of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from jaxmeter._tables.schemas import REAL, TEXT, WHOLE, frame, most, schema

schema(
    "kernels",
    "A GPU kernel with one launch configuration, the one with most time first; empty on CPUs.",
    {
        "kernel": (TEXT, "name of the kernel"),
        "op": (TEXT, "instruction of the optimised HLO, where it is known"),
        "program": (TEXT, "program of the instruction"),
        "scope": (TEXT, "named scopes of the instruction"),
        "device": (TEXT, "plane of the trace, or number of the GPU"),
        "launches_count": (WHOLE, "launches"),
        "total_seconds": (REAL, "duration of all launches, seconds"),
        "mean_seconds": (REAL, "mean duration of a launch, seconds"),
        "longest_seconds": (REAL, "duration of the longest launch, seconds"),
        "grid": (TEXT, "blocks, x,y,z"),
        "block": (TEXT, "threads of a block, x,y,z"),
        "registers_count": (WHOLE, "registers of a thread"),
        "shared_bytes": (WHOLE, "shared memory of a block, static and dynamic, bytes"),
    },
)


def kernel_table(launches: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the table of kernels from launches, each with its ``seconds``."""
    if not launches:
        return frame("kernels", [])
    each = pd.DataFrame(launches)
    same = [column for column in each.columns if column != "seconds"]
    sums = each.groupby(same, dropna=False, sort=False)["seconds"].agg(
        launches_count="size", total_seconds="sum", mean_seconds="mean", longest_seconds="max"
    )
    return most(frame("kernels", sums.reset_index()), "total_seconds")


def self_times(starts: np.ndarray, durations: np.ndarray) -> tuple[np.ndarray, float]:
    """Return how long each event was the innermost one on its thread, and the time with any event.

    At every moment the innermost event is the last that began among those under way; of events
    that began together, the shortest. For nested events the self time is the duration less that of
    the events inside; where events merely overlap, no moment is counted twice.

    Parameters
    ----------
    starts, durations : (n,) in one unit, in any order.

    Returns
    -------
    self : (n,) in the given order; the sum is ``busy`` but for rounding.
    busy : length of the union of all events.
    """
    ends = starts + durations
    result = np.zeros(len(starts))
    order = np.lexsort((-durations, starts))
    begin, end = starts[order].tolist(), ends[order].tolist()
    own = [0.0] * len(begin)
    stack: list[int] = []
    now = float("-inf")

    def advance(at: float) -> None:
        """Credit the time until `at` to the innermost events, and drop those that ended."""
        nonlocal now
        while stack:
            top = stack[-1]
            until = min(end[top], at)
            if until > now:
                own[top] += until - now
                now = until
            if end[top] > at:
                return
            stack.pop()

    for index, at in enumerate(begin):
        advance(at)
        now = max(now, at)
        stack.append(index)
    advance(float("inf"))
    result[order] = own
    return result, union(starts, durations)


def union(starts: np.ndarray, durations: np.ndarray) -> float:
    """Return the length of the union of intervals."""
    order = np.argsort(starts, kind="stable")
    begin = starts[order]
    end = np.maximum.accumulate((starts + durations)[order])
    before = np.concatenate([[-np.inf], end[:-1]])
    return float(np.maximum(end - np.maximum(begin, before), 0.0).sum())
