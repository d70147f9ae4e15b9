"""Find the innermost event at each moment, and compute self times and the union of intervals.

Importing this module does not import NumPy, because ``jaxmeter watch`` does not need NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def innermost(starts: Sequence[float], ends: Sequence[float]) -> Iterator[tuple[int, float, float]]:
    """Yield the pieces of time in which one event of a thread is the innermost event.

    Each piece is a tuple: the position of the event, the start of the piece and the end of the
    piece. Pieces do not overlap. Of the events under way, the innermost is the event that began
    last. The events must be sorted by their starts; if events begin together, the longest is first.
    """
    stack: list[int] = []
    now = float("-inf")
    for at in range(len(starts) + 1):
        begin = starts[at] if at < len(starts) else float("inf")
        # The time until this event begins belongs to the events under way.
        while stack:
            until = min(ends[stack[-1]], begin)
            if until > now:
                yield stack[-1], now, until
                now = until
            if ends[stack[-1]] > begin:
                break
            stack.pop()
        now = max(now, begin)
        stack.append(at)


def self_times(starts: np.ndarray, durations: np.ndarray) -> np.ndarray:
    """Return the self time of each event of a thread: the time in which it is `innermost`.

    For nested events, this is the duration of the event minus the durations of the events directly
    inside it. If several events begin together, the shortest of them is the innermost. No moment is
    counted twice, so the sum of the self times is the `union` of the events, up to rounding.

    `starts` and `durations` have shape (n,) and the same unit, and may have any order. The result
    has their order and unit.
    """
    import numpy as np

    ends = starts + durations
    result = np.zeros(len(starts))
    order = np.lexsort((-durations, starts))
    own = [0.0] * len(starts)
    for at, start, end in innermost(starts[order].tolist(), ends[order].tolist()):
        own[at] += end - start
    result[order] = own
    return result


def union(intervals: Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of intervals; each is a pair of its start and its end."""
    length, until = 0.0, float("-inf")
    for start, end in sorted(intervals):
        length += max(0.0, end - max(start, until))
        until = max(until, end)
    return length
