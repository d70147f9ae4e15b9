"""Find the calls in a sequence that retrace a function, and the causes of each retrace."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax

from jaxmeter._measure.case import Call, Case, case_of, name_of, split_call
from jaxmeter._measure.counts import Events, counts, listening
from jaxmeter._measure.failures import beginning_in_users_code, raise_from_call
from jaxmeter._measure.phases import Clock, timed
from jaxmeter._measure.staging import fresh, prepared
from jaxmeter._records.retraces import UNKNOWN, Retraces, TracedCall
from jaxmeter._retrace.signatures import Signature, causes
from jaxmeter._retrace.static import call_signature
from jaxmeter.errors import JaxmeterError


@beginning_in_users_code
def retraces(
    fn: Case | Callable[..., Any],
    calls: Iterable[Any] = (),
    *,
    clock: Clock = time.perf_counter,
    **jit_options: Any,
) -> Retraces:
    """Call a function several times, and report which calls retraced the function, and why.

    Parameters
    ----------
    fn : Case or callable
        The function to call. If the function is already jitted, its cache is cleared first. If `fn`
        is a case with arguments, the first call uses these arguments. The jit options of a case are
        used in all calls.
    calls : iterable
        The arguments of each call: a tuple, or a pair of a tuple and a dictionary of keyword
        arguments. The calls are taken one at a time, so a generator may change options of JAX
        between calls. `calls` may be left out if `fn` is a case with arguments.
    clock : callable
        A function that returns the time in seconds.
    **jit_options : Any
        Options of `jax.jit` for a function that is not jitted: ``static_argnames``, ...

    Returns
    -------
    Retraces
        One entry for each call. An entry has the numbers of traces, compiles and cache hits that
        JAX reports. It also has the time in seconds and, unless the function was already jitted,
        the number of executions of the Python body. Each call that traced or compiled has causes,
        except the first call.

    Raises
    ------
    JaxmeterError
        If `fn` is neither a callable nor a case; if `calls` is not an iterable of tuples, or is
        left out although `fn` is not a case with arguments; or if the arguments or jit options
        cannot be used.
    Exception
        Any exception that a call raises, with a note that names the call.
    """
    case = case_of("retraces", fn)
    name = name_of(case.fn)
    first = [(case.args, dict(case.kwargs))] if case.args or case.kwargs else []
    if not first and isinstance(calls, tuple | list) and not calls:
        raise JaxmeterError(
            f"retraces: got no calls of {name}; give the arguments of each call, such as "
            f"jaxmeter.retraces({name}, [(x,), (y,)])"
        )
    if not isinstance(calls, Iterable) or isinstance(calls, (str, Mapping, jax.Array)):
        raise JaxmeterError(
            f"retraces: got calls of type {type(calls).__name__}; give a list with the "
            "arguments of each call, such as [(x,), (y,)]"
        )
    case = prepared(Case(case.fn, jit_options={**case.jit_options, **jit_options}))
    traced = _traced_calls(case, itertools.chain(first, calls), clock)
    return Retraces(name, tuple(traced), jax.__version__)


def call_arguments(command: str, given: Any, number: int) -> Call:
    """Return the positional and the keyword arguments of a call in the user's list of calls.

    Error messages contain the name of the command, and `number`, the position of the call.
    """
    if not isinstance(given, tuple):
        raise JaxmeterError(
            f"{command}: got call {number} of type {type(given).__name__}; give a tuple of "
            "arguments, such as (x,) for one argument, or ((x,), {'n': 20}) with keyword arguments"
        )
    return split_call(given)


def _traced_calls(case: Case, calls: Iterable[Any], clock: Clock) -> Iterator[TracedCall]:
    """Call a case with the arguments of each of `calls`. Yield the traces, compiles and causes of
    each call."""
    fn, name, traced_name = case.fn, name_of(case.fn), ""
    jitted, counter = fresh(case)
    earlier: list[Signature] = []
    for number, given in enumerate(calls):
        args, kwargs = call_arguments("retraces", given, number)
        now = call_signature(jitted, fn, args, kwargs)
        if counter is not None:
            counter.count = 0
        with listening(Events()) as events:
            try:
                seconds = timed(clock, functools.partial(jitted, *args, **kwargs))[1]
            except Exception as error:
                where = f" in call {number}"
                raise_from_call("retraces", fn, args, kwargs, error, where=where)
        if events.traced and not traced_name:
            # A library may give its function another name. A later call may trace only functions
            # that the library applies to the result.
            traced_name = name if name in events.traced else events.traced[-1]
        counted = counts(events, traced_name or name, counter)
        call = TracedCall(
            number=number,
            executions_count=counted.python_executions_count,
            traces_count=counted.traces_count or 0,
            compiles_count=counted.compiles_count or 0,
            cache_hits_count=counted.cache_hits_count or 0,
            seconds=seconds,
            nearest=None,
            causes=(),
        )
        if earlier and (call.traced or call.compiled):
            nearest, found = causes(now, earlier)
            call = dataclasses.replace(call, nearest=nearest, causes=found or (UNKNOWN,))
        earlier.append(now)
        yield call
