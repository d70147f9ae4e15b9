"""Why a function is traced again: each call of a sequence, with the argument at fault."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax

from jaxmeter._measure.case import Case, name_of, split_call
from jaxmeter._measure.counts import Events, listening
from jaxmeter._measure.phases import Clock, timed
from jaxmeter._measure.staging import fresh
from jaxmeter._records.retraces import UNKNOWN, Difference, Retraces, TracedCall
from jaxmeter._retrace.signatures import Signature, causes, signature, static_arguments
from jaxmeter.errors import JaxmeterError


def retraces(
    fn: Case | Callable[..., Any],
    calls: Iterable[Any],
    *,
    clock: Clock = time.perf_counter,
    **jit_options: Any,
) -> Retraces:
    """Call a function again and again, and tell which calls traced it again, and why.

    Parameters
    ----------
    fn : Case or callable
        The function. If it is already jitted its cache is cleared first. Of a case the function
        and the options of jit are taken, and its arguments are the first call, if it has any.
    calls : iterable
        The arguments of each call: a tuple of them, or a pair of a tuple and a dictionary of
        those by keyword. They are taken one at a time, so that a generator may change options of
        JAX between them.
    clock : callable
        Gives seconds; tests give their own.
    **jit_options : Any
        For `jax.jit`, of a function that is not jitted: ``static_argnames``, ...

    Returns
    -------
    Retraces
        Counts are those of JAX's events and of runs of the Python body; a cause is told only
        where there was a trace or a compile.

    Raises
    ------
    JaxmeterError
        If an argument is not of its kind.
    Exception
        Whatever a call raises, with a note that tells which.
    """
    first = []
    if isinstance(fn, Case):
        if fn.args or fn.kwargs:
            first.append((fn.args, dict(fn.kwargs)))
        jit_options = {**fn.jit_options, **jit_options}
        fn = fn.fn
    elif not callable(fn):
        raise JaxmeterError(f"retraces: got fn={fn!r:.80}; give a callable or a Case")
    if not isinstance(calls, Iterable) or isinstance(calls, (str, Mapping, jax.Array)):
        raise JaxmeterError(
            f"retraces: got calls of type {type(calls).__name__}; give the arguments of each "
            "call, such as [(x,), (y,)]"
        )
    log = _CallLog(Case(fn, jit_options=jit_options), clock)
    for given in itertools.chain(first, calls):
        log.call(*call_arguments(given, len(log.told)))
    return Retraces(log.name, tuple(log.told), jax.__version__)


def call_arguments(given: Any, number: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if not isinstance(given, tuple):
        raise JaxmeterError(
            f"retraces: got {type(given).__name__} for call {number}; give a tuple of arguments, "
            "for one argument (x,), or a pair of a tuple and a dictionary"
        )
    return split_call(given)


class _CallLog:
    """A function, and what was seen in each call of it."""

    def __init__(self, case: Case, clock: Clock) -> None:
        self.fn, self.clock = case.fn, clock
        self.name = name_of(case.fn)
        self.jitted, self.counter = fresh(case)
        self.static = static_arguments(getattr(self.jitted, "_jit_info", None))
        self.traced_name = self.name
        self.told: list[TracedCall] = []
        self.earlier: list[Signature] = []

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        number = len(self.told)
        known = signature(self.fn, args, kwargs, self.static)
        count_before = 0 if self.counter is None else self.counter.count
        with listening(Events()) as events:
            try:
                _, seconds = timed(self.clock, lambda: self.jitted(*args, **kwargs))
            except Exception as error:
                error.add_note(f"jaxmeter.retraces: raised in call {number} of {self.name}")
                raise
        if events.traced and self.name not in events.traced:
            self.traced_name = events.traced[-1]  # as others than JAX name what they jit
        program = f"jit({self.traced_name})"
        executions = None if self.counter is None else self.counter.count - count_before
        traces = events.traced.count(self.traced_name)
        compiles, hits = events.compiled.count(program), events.cache_hits.count(program)
        nearest: int | None = None
        found: tuple[Difference, ...] = ()
        again = traces if executions is None else executions
        if self.earlier and again + compiles + hits:
            nearest, found = causes(known, self.earlier)
            found = found or (UNKNOWN,)
        self.earlier.append(known)
        self.told.append(
            TracedCall(
                number=number,
                executions_count=executions,
                traces_count=traces,
                compiles_count=compiles,
                cache_hits_count=hits,
                seconds=seconds,
                nearest=nearest,
                causes=found,
            )
        )
