"""Measure a case (a function with its arguments) in this process, phase by phase."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

import jax

from jaxmeter._capture.constants import count_constants
from jaxmeter._measure.accounting import (
    compiler_account,
    device_peak_bytes,
    peak_rss_bytes,
    reset_peak_rss,
    rss_bytes,
)
from jaxmeter._measure.benchmark import Count, Limit
from jaxmeter._measure.case import Call, Case, case_of, name_of, numbers
from jaxmeter._measure.counts import Events, Stage, counts, listening
from jaxmeter._measure.environment import host_environment, jax_environment, load_1min
from jaxmeter._measure.failures import beginning_in_users_code
from jaxmeter._measure.phases import (
    Clock,
    fresh_arguments,
    no_garbage_collection,
    retrace_error,
    timed,
    timed_recompile,
)
from jaxmeter._measure.progress import Progress
from jaxmeter._measure.staging import jitted, prepared, trace
from jaxmeter._program.program import describe_program
from jaxmeter._records.plain_data import checked
from jaxmeter._records.record import Counts, Failure, Record
from jaxmeter.errors import RetraceError

T = TypeVar("T")

_MIN_SAMPLES_COUNT = 3
"""The limit ``max_seconds`` can stop the sampling only after this number of samples."""
_SLOW_RUN_SECONDS = 0.05
"""The record is published after each steady-state run that takes longer than this limit. The time
to publish the record is then negligible."""


@beginning_in_users_code
def measure(
    fn: Case | Callable[..., Any],
    *args: Any,
    repeat: int = 20,
    max_seconds: float | None = None,
    compiles: int = 1,
    name: str | None = None,
    clock: Clock = time.perf_counter,
) -> Record:
    """Measure a function in this process.

    The caches of JAX are cold only if nothing that the function uses was traced or compiled before.
    Use `jaxmeter.run_case` to measure in a fresh process. If a function that is already jitted was
    traced, lowered or compiled before for these arguments, JAX uses the earlier result. The seconds
    of this phase are then None in the record, and ``traces_count`` or ``compiles_count`` is 0.

    Parameters
    ----------
    fn : Case or callable
        A case, or a function whose arguments follow.
    *args : Any
        The function's arguments. For keyword arguments or jit options, give a `Case` instead.
    repeat : int
        The number of steady-state samples.
    max_seconds : float or None
        Stop sampling when the samples together took more seconds than this limit, but not before
        the third sample.
    compiles : int
        How often to trace, lower and compile. The first compile comes before the runs. The
        other compiles come after the runs, without the persistent cache, and each after
        ``jax.clear_caches``, which removes every program of this process.
    name : str, optional
        The name of the record; by default the name of the function.
    clock : callable
        A function that returns the time in seconds.

    Returns
    -------
    Record
        The measurements. The status of the record is ``"rejected"`` if the program came from the
        persistent compilation cache.

    Raises
    ------
    JaxmeterError
        If an argument, a jit option or the result of the check cannot be used.
    RetraceError
        If a steady-state run traces or compiles the function again. The attribute ``record`` of the
        error contains the earlier measurements.
    Exception
        Any exception of the function or of its check, with a note that names the phase.
    """
    case = case_of("measure", fn, args)
    checked("measure", "repeat", repeat, Count)
    checked("measure", "compiles", compiles, Count)
    checked("measure", "max_seconds", max_seconds, Limit)
    progress = Progress(Record(name=name or name_of(case.fn), status="ok"))
    try:
        progress.note(environment=dataclasses.replace(host_environment(), **jax_environment()))
        measure_case(
            case, progress, repeat=repeat, max_seconds=max_seconds, compiles=compiles, clock=clock
        )
    except Exception as error:
        if isinstance(error, RetraceError):
            error.record = progress.record
        error.add_note(f"jaxmeter.measure: raised in the phase {progress.phase!r}")
        raise
    return rejected_if_not_compiled(progress.record, cold=False)


def measure_case(
    case: Case,
    progress: Progress,
    *,
    repeat: int,
    max_seconds: float | None,
    compiles: int,
    clock: Clock,
) -> None:
    """Measure a case phase by phase, and put the measurements into ``progress``. If a phase raises
    an exception, ``progress`` keeps the earlier measurements."""
    run = Run(case, progress, clock)
    with listening(run.events):
        try:
            run.prepare()
            answer = run.run_steady(repeat, max_seconds)
        finally:
            run.note_counts()
    progress.enter("check")
    if case.check is not None:
        progress.note(checks=numbers("Case.check", "result", case.check(answer)))
    progress.enter("recompile")
    run.recompile(compiles - 1)
    progress.enter("end")
    progress.note_in("environment", load_1min_after=load_1min())


def rejected_if_not_compiled(record: Record, *, cold: bool) -> Record:
    """Return the record, with the status ``rejected`` if the program came from the persistent
    cache. If ``cold`` is true, also reject a program that was compiled before the measurement."""
    if record.counts.cache_hits_count:
        kind = "CacheHit"
        message = (
            "the program came from the persistent compilation cache and was not compiled; "
            "set JAX_ENABLE_COMPILATION_CACHE=false"
        )
    elif cold and record.counts.compiles_count == 0:
        kind = "AlreadyCompiled"
        message = (
            "the program was compiled before it was measured; "
            "let the target make the case without calling the function to be measured"
        )
    else:
        return record
    failure = Failure("compile", kind, message)
    return dataclasses.replace(record, status="rejected", failure=failure)


class Run:
    """The measurement of one program.

    ``calls`` are further calls of the function, which `measure_pair` makes after the measurement.
    """

    def __init__(
        self, case: Case, progress: Progress, clock: Clock, calls: tuple[Call, ...] = ()
    ) -> None:
        self.case = case = prepared(case)
        self.progress, self.clock, self.calls = progress, clock, calls
        self.events = Events()
        self.name = name_of(case.fn)
        progress.note(extras=case.extras)
        self.jitted, self.counter = jitted(case)

    def prepare(self) -> None:
        """Trace, lower, compile, describe and call the program: all phases before the steady
        state."""
        self.progress.enter("trace")
        reset_peak_rss()
        self.progress.note_in("memory", baseline_rss_bytes=rss_bytes())
        self.traced = self.timed_stage("trace", lambda: trace("measure", self.jitted, self.case))
        if self.events.traced:
            # The last event comes from the outermost function, and contains JAX's name for it.
            self.name = self.events.traced[-1]
        jaxpr = self.traced.jaxpr
        self.progress.note(constants=count_constants(jaxpr), program=describe_program(jaxpr))

        self.progress.enter("lower")
        lowered = self.timed_stage("lower", self.traced.lower)
        # Count constants before compiling, because large constants may make the compile very slow.
        self.progress.note(constants=count_constants(jaxpr, lowered))
        self.note_counts()

        self.progress.enter("compile")
        compiled = self.timed_stage("compile", lowered.compile)
        self.progress.note_in("memory", compile_peak_rss_bytes=peak_rss_bytes())
        self.note_counts()

        self.progress.enter("program")
        self.progress.note(program=describe_program(jaxpr, compiled))
        self.progress.note_in("memory", **compiler_account(compiled))

        self.progress.enter("first_call")
        given, bound = dict(self.case.kwargs), getattr(self.jitted, "args", ())
        self.arguments = fresh_arguments(lowered, self.case.args, given, bound)
        args, kwargs = self.arguments()
        _, seconds = timed(self.clock, lambda: self.jitted(*args, **kwargs))
        self.progress.note_in("phases", first_call_seconds=seconds)
        self.note_counts()

    def timed_stage(self, stage: Stage, call: Callable[[], T]) -> T:
        """Return the result of a stage, and note its seconds. No seconds are noted if JAX used an
        earlier result."""
        before = self.events.stages[stage]
        result, seconds = timed(self.clock, call)
        if self.events.stages[stage] > before:
            self.progress.note_in("phases", **{f"{stage}_seconds": seconds})
        return result

    def run_steady(self, repeat: int, max_seconds: float | None) -> Any:
        """Take the steady-state samples; return the answer of the last run.

        If a run traces or compiles the function again, a RetraceError is raised, because the time
        of the run includes this work.
        """
        self.progress.enter("steady")
        limit = math.inf if max_seconds is None else max_seconds
        samples: list[float] = []
        spent, answer = 0.0, None
        events_before = self.trace_events_count()
        try:
            # The first of these runs is the second call of the function. This run is not a sample,
            # because cold caches still make it slower.
            for taken in range(-1, repeat):
                if taken >= _MIN_SAMPLES_COUNT and spent > limit:
                    break
                answer = None  # otherwise two answers would be in memory at once
                args, kwargs = self.arguments()
                with no_garbage_collection():
                    call = functools.partial(self.jitted, *args, **kwargs)
                    answer, seconds = timed(self.clock, call)
                # Compare the counts instead of using jax.no_tracing, which also raises errors for
                # programs with effects. Such programs are not traced again, but do not take JAX's
                # fast path.
                if self.trace_events_count() != events_before:
                    raise retrace_error(name_of(self.jitted))
                if taken >= 0:
                    spent += seconds
                    samples.append(seconds)
                    if seconds > _SLOW_RUN_SECONDS:
                        self.note_samples(samples)
                        self.progress.publish()
        finally:
            self.note_samples(samples)
        return answer

    def call(self) -> Any:
        """Call the function with its arguments, and return the answer when it is computed."""
        args, kwargs = self.arguments()
        return jax.block_until_ready(self.jitted(*args, **kwargs))

    def recompile(self, count: int) -> None:
        """Trace, lower and compile again ``count`` times. The counts in the record do not include
        these traces and compiles."""
        for _ in range(count):
            phases = timed_recompile(self.clock, self.jitted, self.case)
            self.progress.note(recompiles=(*self.progress.record.recompiles, phases))

    def note_samples(self, samples: list[float]) -> None:
        self.progress.note(samples_seconds=tuple(samples))
        self.progress.note_in(
            "memory", peak_rss_bytes=peak_rss_bytes(), device_peak_bytes=device_peak_bytes()
        )

    def note_counts(self) -> None:
        self.progress.note(counts=self.counts())

    def counts(self) -> Counts:
        return counts(self.events, self.name, self.counter)

    def trace_events_count(self) -> int:
        """Return a count that grows with each trace, compile and run of the Python body."""
        now = self.counts()
        both = (now.traces_count or 0) + (now.compiles_count or 0)
        return both + (now.python_executions_count or 0)
