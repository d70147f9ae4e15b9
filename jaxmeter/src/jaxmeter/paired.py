"""Measure two cases in one process, in turns, so that what drifts meets both alike."""

from __future__ import annotations

import functools
import gc
import math
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax

from jaxmeter.case import Case
from jaxmeter.comparison_record import Effort
from jaxmeter.counts import Events, listening
from jaxmeter.meter import Run
from jaxmeter.phases import Clock, no_collection, retraced, timed
from jaxmeter.progress import Progress, telling
from jaxmeter.record import Phases
from jaxmeter.staging import jitted

LEAST_TURNS_COUNT = 5
"""So many turns are taken even if they take longer than wanted."""

Call = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Compared:
    """A function to be compared, with calls to be made after it is measured."""

    case: Case
    progress: Progress
    calls: tuple[Call, ...] = ()


def measure_pair(
    pair: tuple[Compared, Compared],
    effort: Effort,
    *,
    swapped: bool,
    clock: Clock = time.perf_counter,
) -> tuple[tuple[Phases, ...], tuple[Phases, ...]]:
    """Measure two functions in this process, in turns, into their records.

    Parameters
    ----------
    pair : pair of Compared
        Both functions. The samples of their records will be seconds per call, the median of a
        block, one for each turn.
    effort : Effort
        How long to measure.
    swapped : bool
        Whether the second goes first, in everything. Let it be so in every other process.
    clock : callable
        Gives seconds.

    Returns
    -------
    pair of tuple of Phases
        Seconds of tracing, lowering and compiling each function anew, with JAX's caches cleared
        before but all of JAX and XLA warm.

    Raises
    ------
    RetraceError
        If a settled run is traced again.
    Exception
        Whatever a function raises; the record of that function tells it too.
    """
    order = (1, 0) if swapped else (0, 1)
    runs: list[Run] = []
    for side in order:
        with _listening_run(pair[side], clock) as run:
            run.prepare()
        runs.append(run)
    _take_turns(runs, effort, clock)
    for run, side in zip(runs, order, strict=True):
        _make_calls(run, pair[side])
    return _compile_in_turns(pair, order, effort, clock)


@contextmanager
def _listening_run(one: Compared, clock: Clock) -> Iterator[Run]:
    with telling(one.progress), listening(Events()) as events:
        run = Run(one.case, one.progress, events, clock)
        try:
            yield run
        finally:
            run.note_counts()


def _take_turns(runs: list[Run], effort: Effort, clock: Clock) -> None:
    samples: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run.progress.enter("settled")
    # The second call still meets cold caches; the third tells how many make a block.
    lengths = [_length(min(_block(run, clock, 1) for _ in range(3)), effort) for run in runs]
    spent = 0.0
    for turn in range(effort.turns):
        if turn >= LEAST_TURNS_COUNT and spent > effort.settled_seconds:
            break
        # a b, b a, a b: whatever grows steadily meets both alike.
        for first in (0, 1) if turn % 2 == 0 else (1, 0):
            seconds = _block(runs[first], clock, lengths[first])
            samples[first].append(seconds)
            spent += seconds * lengths[first]
    for run, taken in zip(runs, samples, strict=True):
        run.note_samples(taken)


def _block(run: Run, clock: Clock, length: int) -> float:
    """Seconds per call: the median of so many calls."""
    taken: list[float] = []
    traces_before = run.traces_count()
    with telling(run.progress), listening(run.events), no_collection():
        for _ in range(length):
            args, kwargs = run.arguments()
            taken.append(timed(clock, functools.partial(run.jitted, *args, **kwargs))[1])
        if run.traces_count() != traces_before:
            raise retraced(run.name)
    return statistics.median(taken)


def _length(seconds: float, effort: Effort) -> int:
    return max(1, math.ceil(effort.turn_seconds / seconds)) if seconds > 0 else 1


def _make_calls(run: Run, one: Compared) -> None:
    """Make the calls, whose traces and compiles go into the record's counts."""
    if not one.calls:
        return
    one.progress.enter("calls")
    with telling(one.progress), listening(run.events):
        for args, kwargs in one.calls:
            jax.block_until_ready(run.jitted(*args, **kwargs))
    run.note_counts()


def _compile_in_turns(
    pair: tuple[Compared, Compared], order: tuple[int, int], effort: Effort, clock: Clock
) -> tuple[tuple[Phases, ...], tuple[Phases, ...]]:
    taken: tuple[list[Phases], list[Phases]] = ([], [])
    start = clock()
    for number in range(effort.compiles):
        if number and clock() - start > effort.compile_seconds:
            break
        for side in order if number % 2 == 0 else order[::-1]:
            with telling(pair[side].progress):
                taken[side].append(_compiled_anew(pair[side], clock))
    return tuple(taken[0]), tuple(taken[1])


def _compiled_anew(one: Compared, clock: Clock) -> Phases:
    one.progress.enter("compile again")
    case = one.case
    jax.clear_caches()
    gc.collect()
    program = jitted(case)
    with no_collection():
        traced, trace_seconds = timed(clock, lambda: program.trace(*case.args, **case.kwargs))
        lowered, lower_seconds = timed(clock, traced.lower)
        _, compile_seconds = timed(clock, lowered.compile)
    return Phases(trace_seconds, lower_seconds, compile_seconds)
