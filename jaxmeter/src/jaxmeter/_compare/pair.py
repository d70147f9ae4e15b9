"""Measure two cases in one process with interleaved calls.

Drift of the machine therefore affects both cases alike.
"""

from __future__ import annotations

import functools
import math
import statistics
import time
from collections.abc import Sequence
from typing import Any

import jax

from jaxmeter._compare.answers import answers_of, captured_fingerprint
from jaxmeter._measure.case import Call, Case
from jaxmeter._measure.counts import listening
from jaxmeter._measure.meter import Run
from jaxmeter._measure.phases import (
    Clock,
    no_garbage_collection,
    retrace_error,
    timed,
    timed_recompile,
)
from jaxmeter._measure.progress import Progress
from jaxmeter._records.comparison import Answers, ComparedProcess, Effort
from jaxmeter._records.record import Phases, Record

LEAST_TURNS_COUNT = 5
"""At least this number of turns is measured, even if the turns take longer than
``Effort.steady_seconds``. ``Effort.turns`` may set a smaller number. A turn is one block of timed
calls of each function."""


def measure_pair(
    a: Case,
    b: Case,
    effort: Effort,
    *,
    swapped: bool,
    calls: tuple[Sequence[Call], Sequence[Call]] = ((), ()),
    clock: Clock = time.perf_counter,
) -> ComparedProcess:
    """Measure two functions in this process with interleaved calls.

    Parameters
    ----------
    a, b : Case
        Both functions with their arguments.
    effort : Effort
        The limits on the measurements.
    swapped : bool
        Whether the second function is measured first. Change this value from process to process.
    calls : pair of sequence of (args, kwargs)
        Calls of each function that are made after the measurement, to count retraces.
    clock : callable
        A function that returns the time in seconds.

    Returns
    -------
    ComparedProcess
        The records of both functions, their timed compiles and the comparison of their answers.

    Raises
    ------
    JaxmeterError
        If an argument or a jit option cannot be used.
    RetraceError
        If a steady-state call traces or compiles a function again.
    Exception
        Any exception that a function raises.
    """
    first, second = (
        Run(case, Progress(Record("", "ok")), clock, tuple(more))
        for case, more in zip((a, b), calls, strict=True)
    )
    measured = measure_runs((first, second), effort, swapped=swapped)
    records = first.progress.record, second.progress.record
    return ComparedProcess(*records, swapped=swapped, **measured)


def measure_runs(runs: tuple[Run, Run], effort: Effort, *, swapped: bool) -> dict[str, Any]:
    """Measure two functions as `measure_pair` does, and write the results to the functions'
    records. Return the fields ``a_compiles``, ``b_compiles`` and ``answers`` of `ComparedProcess`.
    An exception of a function is written to the function's record and raised again."""
    ordered = runs[::-1] if swapped else runs
    shares = _share_traces(*runs)
    for run in ordered:
        if shares:
            jax.clear_caches()
        with run.progress.recording_failure(), listening(run.events):
            try:
                run.prepare()
            finally:
                run.note_counts()
    if shares:
        _warm_up_again(*ordered)
    # At this point, both functions have been called equally often. This matters if a call changes a
    # function's model, as in a training step of flax.nnx.
    answers = _compare_values(*runs)
    _interleave_calls(ordered, effort)
    for run in ordered:
        _make_calls(run, again=shares)
    compiles = _interleave_compiles(ordered, effort)
    a_compiles, b_compiles = compiles[::-1] if swapped else compiles
    return {"a_compiles": a_compiles, "b_compiles": b_compiles, "answers": answers}


def _share_traces(a: Run, b: Run) -> bool:
    """Return whether JAX would reuse the first function's trace for the second function. JAX does
    this if the caller jitted both functions, and both wrap the same Python function."""
    fns = (a.case.fn, b.case.fn)
    wrapped = [getattr(fn, "__wrapped__", fn) for fn in fns]
    return all(isinstance(fn, jax.stages.Wrapped) for fn in fns) and wrapped[0] is wrapped[1]


def _warm_up_again(*runs: Run) -> None:
    """Clear JAX's caches and call each function once, without counting the traces."""
    jax.clear_caches()
    for run in runs:
        with run.progress.recording_failure():
            run.call()


def _compare_values(a: Run, b: Run) -> Answers:
    """Compare the answers of one call of each function, and record a hash of each function's
    captured values."""
    answers: list[Any] = []
    for run in (a, b):
        run.progress.enter("answers")
        with run.progress.recording_failure():
            answers.append(run.call())
            held = captured_fingerprint(run.traced.jaxpr)
            run.progress.note_in("constants", captured_fingerprint=held)
    return answers_of(*answers)


def _interleave_calls(runs: Sequence[Run], effort: Effort) -> None:
    samples: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run.progress.enter("steady")
    # The fastest of three calls sets the length of a block, because cold caches may slow a call.
    fastest = [min(_block(run, 1) for _ in range(3)) for run in runs]
    lengths = [max(1, math.ceil(effort.turn_seconds / s)) if s > 0 else 1 for s in fastest]
    spent = 0.0
    for turn in range(effort.turns):
        if turn >= LEAST_TURNS_COUNT and spent > effort.steady_seconds:
            break
        # The order a b, b a, a b, ... makes a steady drift affect both functions alike.
        for first in (0, 1) if turn % 2 == 0 else (1, 0):
            seconds = _block(runs[first], lengths[first])
            samples[first].append(seconds)
            spent += seconds * lengths[first]
    for run, taken in zip(runs, samples, strict=True):
        run.note_samples(taken)


def _block(run: Run, length: int) -> float:
    """Call a function ``length`` times. Return the median time of a call in seconds."""
    taken: list[float] = []
    events_before = run.trace_events_count()
    with run.progress.recording_failure(), listening(run.events), no_garbage_collection():
        for _ in range(length):
            args, kwargs = run.arguments()
            taken.append(timed(run.clock, functools.partial(run.jitted, *args, **kwargs))[1])
        if run.trace_events_count() != events_before:
            raise retrace_error(run.name)
    return statistics.median(taken)


def _make_calls(run: Run, *, again: bool) -> None:
    """Make the calls that follow a measurement, and record their traces and compiles. If ``again``
    is true, first clear the caches and warm up the function."""
    if not run.calls:
        return
    run.progress.enter("calls")
    if again:
        _warm_up_again(run)
    with run.progress.recording_failure(), listening(run.events):
        for args, kwargs in run.calls:
            jax.block_until_ready(run.jitted(*args, **kwargs))
    run.note_counts()


def _interleave_compiles(runs: Sequence[Run], effort: Effort) -> list[tuple[Phases, ...]]:
    """Compile both functions alternately, within the limits of ``effort``. Return the times of the
    compiles of each function."""
    taken: list[list[Phases]] = [[] for _ in runs]
    clock = runs[0].clock
    start = clock()
    for number in range(effort.compiles):
        if number and clock() - start > effort.compile_seconds:
            break
        for n in (0, 1) if number % 2 == 0 else (1, 0):
            run = runs[n]
            with run.progress.recording_failure():
                run.progress.enter("compile again")
                taken[n].append(timed_recompile(clock, run.jitted, run.case))
    return [tuple(phases) for phases in taken]
