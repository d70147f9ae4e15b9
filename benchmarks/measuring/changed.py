"""Measure the times of operations with changed programs; the sides are interleaved.

A side is a commit of a review: BASE or a HEAD. One process measures several operations one after
the other. The process imports vcjax and prepares inputs only once. It takes the programs from the
compilation cache, and calls each operation for about a second. Round 0 measures exact quantities.
Later rounds measure times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from benchmarks.measuring.rounds import ENOUGH_ROUNDS, MeasuredSide, affordable
from benchmarks.operations.measure import take_operation_times
from benchmarks.operations.table import SUITE

START_SECONDS = 2.5  # time of a process before its first operation
CALLS_SECONDS = 1.2  # time of all timed calls of an operation
UNKNOWN_SECONDS = 2.0  # time of an operation before its timed calls, if no record has this time
MAX_NAMES = 4  # messages name at most this many operations of a round


class TimedSide(NamedTuple):
    """A side, with the names of the operations that are timed on it."""

    side: MeasuredSide
    names: tuple[str, ...]


def timed_sides(
    measured: Sequence[MeasuredSide], changed: Sequence[Sequence[str]]
) -> list[TimedSide]:
    """Return the sides, BASE first, with the operations to time on each side.

    `changed` has a list for each HEAD: the operations that differ from BASE. On a HEAD, the
    operations in the list of this HEAD are timed. On BASE, the operations in all lists are timed.
    """
    names = dict.fromkeys(name for one in changed for name in one)
    return [
        TimedSide(side, tuple(one)) for side, one in zip(measured, (names, *changed), strict=True)
    ]


def affordable_sides(sides: Sequence[TimedSide], seconds: float) -> list[TimedSide]:
    """Return the sides with only those operations that can be measured within `seconds`.

    Each operation needs `ENOUGH_ROUNDS` rounds; stored rounds take no time. Operations with the
    shortest rounds are chosen first, and at least one operation is chosen.
    """
    costs = _costs(sides)
    numbers = range(1, ENOUGH_ROUNDS + 1)
    missing = {name: sum(not _is_stored(name, n, sides) for n in numbers) for name in costs}
    needed = {name: missing[name] * costs[name] for name in sorted(costs, key=costs.__getitem__)}
    starts = max(missing.values(), default=0) * START_SECONDS * len(sides)
    kept = affordable(needed, seconds, "operation with a changed program", start_seconds=starts)
    return [one._replace(names=tuple(n for n in kept if n in one.names)) for one in sides]


def _costs(sides: Sequence[TimedSide]) -> Mapping[str, float]:
    """Return the estimated seconds that a round of each operation takes on all sides together."""
    costs: dict[str, float] = {}
    for name in dict.fromkeys(name for one in sides for name in one.names):
        there = [one.side.store for one in sides if name in one.names]
        records = [store.succeeded(f"{SUITE}/{name}", 0) for store in there]
        known = [r.wall_seconds for r in records if r is not None and r.wall_seconds is not None]
        costs[name] = len(there) * (CALLS_SECONDS + 2 * min(known, default=UNKNOWN_SECONDS))
    return costs


def _is_stored(name: str, number: int, sides: Sequence[TimedSide]) -> bool:
    there = [one.side.store for one in sides if name in one.names]
    return all(store.succeeded(f"{SUITE}/{name}", number) for store in there)


def take_rounds(
    sides: Sequence[TimedSide],
    *,
    rounds: int,
    seconds: float,
    expected_seconds: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
) -> float:
    """Measure the missing rounds; stop before a round that is expected to end after `seconds`.

    The first missing round is expected to take `expected_seconds`. Each later round is expected to
    take as long as the previous measured round. Return the expected seconds of the next round.
    """
    started, cost = clock(), expected_seconds
    for number in range(1, rounds + 1):
        begun = clock()
        # If a side lacks a record of an operation, the operation is measured on all sides.
        # Otherwise new records would be compared with old records, and the speed of the machine may
        # have changed since then.
        missing = [name for name in sides[0].names if not _is_stored(name, number, sides)]
        if not missing:
            continue
        if begun - started + cost > seconds:
            break
        shown, more = missing[:MAX_NAMES], len(missing) - MAX_NAMES
        text = ", ".join(shown) + (f" and {more} more" if more > 0 else "")
        print(f"round {number} of operations {text}: ", end="", flush=True)
        # The side that is measured first affects the next side, so the order alternates.
        for side, names in sides if number % 2 else sides[::-1]:
            if own := [name for name in names if name in missing]:
                take_operation_times(side, own, round_index=number)
        cost = clock() - begun
        print(f"{cost:.1f} s", flush=True)
    return cost
