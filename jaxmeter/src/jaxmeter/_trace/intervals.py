"""Compute the self times of events and the union of time intervals."""

from __future__ import annotations

import numpy as np

from jaxmeter._trace.innermost import innermost


def self_times(starts: np.ndarray, durations: np.ndarray) -> np.ndarray:
    """Return the self time of each event of a thread.

    The self time of an event is the time during which it is the innermost event. Of the events
    under way, the innermost is the event that began last. If several events began together, the
    shortest of them is the innermost. For nested events, the self time is the duration of the event
    minus the durations of the events directly inside it. For events that overlap without nesting,
    no moment is counted twice.

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
    own = [0.0] * len(starts)
    for at, start, end in innermost(starts[order].tolist(), ends[order].tolist()):
        own[at] += end - start
    result[order] = own
    return result


def union(starts: np.ndarray, durations: np.ndarray) -> float:
    """Return the length of the union of time intervals.

    `starts` and `durations` have shape (n,) and the same unit. The result also has this unit.
    """
    order = np.argsort(starts, kind="stable")
    begin = starts[order]
    end = np.maximum.accumulate((starts + durations)[order])
    before = np.concatenate([[-np.inf], end[:-1]])
    return float(np.maximum(end - np.maximum(begin, before), 0.0).sum())
