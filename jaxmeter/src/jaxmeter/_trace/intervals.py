"""Compute the self times and the union of intervals of time."""

from __future__ import annotations

import numpy as np


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
