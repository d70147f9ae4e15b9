"""Compute the self times of events and the union of time intervals."""

from __future__ import annotations

import numpy as np

from jaxmeter._trace.innermost import innermost


def self_times(starts: np.ndarray, durations: np.ndarray) -> np.ndarray:
    """Return the self time of each event of a thread: the time in which it is `innermost`.

    For nested events, this is the duration of the event minus the durations of the events directly
    inside it. If several events begin together, the shortest of them is the innermost. No moment is
    counted twice, so the sum of the self times is the `union` of the events, up to rounding.

    `starts` and `durations` have shape (n,) and the same unit, and may have any order. The result
    has their order and unit.
    """
    ends = starts + durations
    result = np.zeros(len(starts))
    order = np.lexsort((-durations, starts))
    own = [0.0] * len(starts)
    for at, start, end in innermost(starts[order].tolist(), ends[order].tolist()):
        own[at] += end - start
    result[order] = own
    return result


def union(starts: np.ndarray, durations: np.ndarray) -> float:
    """Return the length of the union of time intervals, given as arrays of shape (n,)."""
    order = np.argsort(starts, kind="stable")
    begin = starts[order]
    end = np.maximum.accumulate((starts + durations)[order])
    before = np.concatenate([[-np.inf], end[:-1]])
    return float(np.maximum(end - np.maximum(begin, before), 0.0).sum())
