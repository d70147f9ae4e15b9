"""Compute the self times of events and the union of time intervals."""

from __future__ import annotations

import numpy as np


def self_times(starts: np.ndarray, durations: np.ndarray) -> np.ndarray:
    """Return the self time of each event of a thread.

    The self time of an event is the time during which it is the innermost event. The innermost
    event at a moment is the event under way that began last. If several events began together, the
    shortest of them is the innermost. For nested events, the self time is the duration of the event
    less the durations of the events directly inside. For events that overlap without nesting, no
    moment is counted twice.

    Parameters
    ----------
    starts, durations : (n,) in the same unit, in any order.

    Returns
    -------
    (n,) self times, in the order and unit of `durations`. Their sum is the `union` of the events,
    up to rounding.
    """
    ends = starts + durations
    result = np.zeros(len(starts))
    order = np.lexsort((-durations, starts))
    begin, end = starts[order].tolist(), ends[order].tolist()
    own = [0.0] * len(begin)
    stack: list[int] = []
    now = float("-inf")

    def advance(at: float) -> None:
        """Add the time until `at` to the innermost events, and drop the events that ended."""
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
    return result


def union(starts: np.ndarray, durations: np.ndarray) -> float:
    """Return the length of the union of time intervals.

    `starts` and `durations` have shape (n,) and the same unit. The result has this unit too.
    """
    order = np.argsort(starts, kind="stable")
    begin = starts[order]
    end = np.maximum.accumulate((starts + durations)[order])
    before = np.concatenate([[-np.inf], end[:-1]])
    return float(np.maximum(end - np.maximum(begin, before), 0.0).sum())
