"""Divide the elapsed time of a compile among the tasks that its threads worked on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple


class Work(NamedTuple):
    """A piece of a thread's work, from ``start`` to ``end`` in seconds, that counts for ``key``."""

    start: float
    end: float
    key: Hashable


def divide(
    workers: Sequence[Work], main: Sequence[Work], seconds: float, rest: Hashable
) -> defaultdict[Hashable, float]:
    """Return the seconds of each key. The seconds of all keys sum to the elapsed time.

    Parameters
    ----------
    workers : sequence of Work
        The work of the threads that compile kernels. If several threads work at a moment, the
        moment is divided equally among them.
    main : sequence of Work
        The work of the thread that waits for these threads. It counts only while no worker
        works.
    seconds : float
        The elapsed time.
    rest : hashable
        The key of moments without any work.
    """
    ends = [(at, 0, work) for work in workers for at in (work.start, work.end)]
    ends += [(at, 1, work) for work in main for at in (work.start, work.end)]
    ends.sort(key=lambda end: end[0])
    active: tuple[dict[int, Work], dict[int, Work]] = {}, {}
    found: defaultdict[Hashable, float] = defaultdict(float)
    now = 0.0
    for at, kind, work in ends:
        at = min(max(at, 0.0), seconds)
        if at > now:
            working = active[0] or active[1]
            for other in working.values():
                found[other.key] += (at - now) / len(working)
            if not working:
                found[rest] += at - now
            now = at
        if active[kind].pop(id(work), None) is None:
            active[kind][id(work)] = work
    found[rest] += max(seconds - now, 0.0)
    return found
