"""Self time: how long an event was the innermost one on its thread."""

from __future__ import annotations

import numpy as np


def self_times(starts: np.ndarray, durations: np.ndarray) -> tuple[np.ndarray, float]:
    """Self time of each event of one line, and how long any of them was there.

    At every moment the innermost event is the one that began last among those under way; of those
    that began together, the shortest. For events that lie one within the other this is their own
    duration less that of what they hold; for events that merely overlap no moment counts twice.

    Parameters
    ----------
    starts, durations : (n,) numbers of one unit, in any order.

    Returns
    -------
    self : (n,) in the order given; its sum is ``busy`` but for rounding.
    busy : length of the union of all events.
    """
    ends = starts + durations
    result = np.zeros(len(starts))
    order = np.lexsort((-durations, starts))
    begin, end = starts[order].tolist(), ends[order].tolist()
    own = [0.0] * len(begin)
    stack: list[int] = []
    busy, now = 0.0, float("-inf")

    for index, at in enumerate(begin):
        # Who was innermost since `now`: those that ended before `at` leave the stack one by one.
        while stack:
            top = stack[-1]
            until = end[top] if end[top] < at else at
            if until > now:
                own[top] += until - now
                busy += until - now
                now = until
            if end[top] > at:
                break
            stack.pop()
        now = max(now, at)
        stack.append(index)
    while stack:
        top = stack.pop()
        if end[top] > now:
            own[top] += end[top] - now
            busy += end[top] - now
            now = end[top]
    result[order] = own
    return result, busy


def union(starts: np.ndarray, durations: np.ndarray) -> float:
    """How long any of the intervals was under way."""
    order = np.argsort(starts, kind="stable")
    begin = starts[order]
    end = np.maximum.accumulate((starts + durations)[order])
    before = np.concatenate([[-np.inf], end[:-1]])
    return float(np.maximum(end - np.maximum(begin, before), 0.0).sum())
