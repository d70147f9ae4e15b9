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

from jaxmeter._capture.constants import captured_fingerprint
from jaxmeter._compare.answers import answers_of
from jaxmeter._measure.case import Case
from jaxmeter._measure.counts import Events, listening
from jaxmeter._measure.meter import Run
from jaxmeter._measure.phases import Clock, no_collection, retraced, timed
from jaxmeter._measure.progress import Progress, telling
from jaxmeter._measure.staging import jitted
from jaxmeter._records.answers import Answers
from jaxmeter._records.comparison import Effort
from jaxmeter._records.record import Phases

LEAST_TURNS_COUNT = 5
"""So many turns are taken even if they take longer than wanted."""

Call = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Compared:
    """A function to be compared, with calls to be made after it is measured."""

    case: Case
    progress: Progress
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Measured:
    """What a pair tells beside its records."""

    a_compiles: tuple[Phases, ...] = ()
    """Seconds of tracing, lowering and compiling the first again, with JAX's caches cleared before
    but all of JAX and XLA warm."""
    b_compiles: tuple[Phases, ...] = ()
    answers: Answers | None = None


def measure_pair(
    pair: tuple[Compared, Compared],
    effort: Effort,
    *,
    swapped: bool,
    clock: Clock = time.perf_counter,
) -> Measured:
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
    Measured
        Their times of compiling, and how their answers compare.

    Raises
    ------
    RetraceError
        If a steady-state run is traced again.
    Exception
        Whatever a function raises; the record of that function tells it too.
    """
    order = (1, 0) if swapped else (0, 1)
    shares = _share_traces(pair)
    runs: list[Run] = []
    for side in order:
        if shares:
            jax.clear_caches()
        with _listening_run(pair[side], clock) as run:
            run.prepare()
        runs.append(run)
    if shares:
        _warm_up_again(runs[0])
    _take_turns(runs, effort, clock)
    answers = _compare_values(*(runs[::-1] if swapped else runs))
    for run, side in zip(runs, order, strict=True):
        _make_calls(run, pair[side], again=shares)
    return Measured(*_compile_in_turns(pair, order, effort, clock), answers)


def _share_traces(pair: tuple[Compared, Compared]) -> bool:
    """Whether JAX would take up for the second what it traced for the first: both are one function,
    jitted before it came here."""
    a, b = (one.case.fn for one in pair)
    is_jitted = all(isinstance(fn, jax.stages.Wrapped) for fn in (a, b))
    return is_jitted and getattr(a, "__wrapped__", a) is getattr(b, "__wrapped__", b)


def _warm_up_again(run: Run) -> None:
    """Let a function be as after its first call, without JAX's knowing of any other; uncounted."""
    jax.clear_caches()
    with telling(run.progress):
        args, kwargs = run.arguments()
        jax.block_until_ready(run.jitted(*args, **kwargs))


def _compare_values(a: Run, b: Run) -> Answers:
    """Compare the answers of a call of each, and note what tells captured values apart."""
    answers: list[Any] = []
    for run in (a, b):
        run.progress.enter("answers")
        with telling(run.progress):
            args, kwargs = run.arguments()
            answers.append(jax.block_until_ready(run.jitted(*args, **kwargs)))
            held = captured_fingerprint(run.traced.jaxpr)
            run.progress.note_in("constants", captured_fingerprint=held)
    return answers_of(*answers)


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
        run.progress.enter("steady")
    # The second call still meets cold caches; the third tells how many make a block.
    lengths = [_length(min(_block(run, clock, 1) for _ in range(3)), effort) for run in runs]
    spent = 0.0
    for turn in range(effort.turns):
        if turn >= LEAST_TURNS_COUNT and spent > effort.steady_seconds:
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


def _make_calls(run: Run, one: Compared, *, again: bool) -> None:
    """Make the calls, whose traces and compiles go into the record's counts."""
    if not one.calls:
        return
    one.progress.enter("calls")
    if again:
        _warm_up_again(run)
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
                taken[side].append(_compiled_again(pair[side], clock))
    return tuple(taken[0]), tuple(taken[1])


def _compiled_again(one: Compared, clock: Clock) -> Phases:
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
