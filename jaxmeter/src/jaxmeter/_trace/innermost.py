"""Find the innermost of nested events at each moment, without importing NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def innermost(starts: Sequence[float], ends: Sequence[float]) -> Iterator[tuple[int, float, float]]:
    """Yield the pieces of time in which one event of a thread is the innermost event.

    Each piece is a tuple: the position of the event, the start of the piece and the end of the
    piece. Pieces do not overlap. Of the events under way, the innermost is the event that began
    last. The events are sorted by their starts; if events begin together, the longest is first.
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
