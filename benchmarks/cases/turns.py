"""Two programs in one process, turn by turn, so that both meet the same machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np

# A comparison that takes longer than this stops repeating itself: the ratio is then plain enough.
ENOUGH_SECONDS = 15.0


@dataclass(frozen=True)
class Spent:
    """Median time of one side's turns."""

    wall_seconds: float
    cpu_per_wall: float


def in_turns(ours: Callable, theirs: Callable, count: int) -> tuple[Spent, Spent]:
    """Let both take turns, `count` times or until `ENOUGH_SECONDS` have passed."""
    spent: tuple[list, list] = ([], [])
    started = time.perf_counter()
    for _ in range(count):
        for side, call in zip(spent, (ours, theirs), strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            jax.block_until_ready(call())
            side.append((time.perf_counter() - wall, time.process_time() - cpu))
        if time.perf_counter() - started > ENOUGH_SECONDS:
            break
    first, second = (
        Spent(
            wall_seconds=float(np.median([wall for wall, _ in side])),
            cpu_per_wall=sum(cpu for _, cpu in side) / sum(wall for wall, _ in side),
        )
        for side in spent
    )
    return first, second
