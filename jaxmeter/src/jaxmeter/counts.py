"""How often a function is run by Python, traced and compiled, from wrappers and JAX's events."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import jax

from jaxmeter.case import name_of
from jaxmeter.record import Counts

_TRACE = "/jax/core/compile/jaxpr_trace_duration"
_COMPILE = "/jax/core/compile/backend_compile_duration"
_CACHE_HIT = "/jax/compilation_cache/cache_hits"


@dataclass
class Events:
    """What happened while this was listening, each event by the name of its function.

    Older JAX reports nested traces and operations run on the side as well, hence by name; a
    nested function of the same name cannot be told apart there.
    """

    traced: list[str] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)
    cache_hits: list[str] = field(default_factory=list)
    """Programs taken from the persistent cache."""
    _hit_pending: bool = False

    def hear_event(self, event: str) -> None:
        """Take note of an event that has no duration."""
        if event == _CACHE_HIT:
            self._hit_pending = True

    def hear_duration(self, event: str, fun_name: str) -> None:
        """Take note of an event that has a duration and a function."""
        if event == _TRACE:
            self.traced.append(fun_name)
        elif event == _COMPILE:
            # This one also comes when the program was in the persistent cache; the hit, which
            # has no name, came just before it.
            (self.cache_hits if self._hit_pending else self.compiled).append(fun_name)
            self._hit_pending = False


class ExecutionCounter:
    """Wraps a function so that the runs of its Python body are counted.

    The wrapper keeps the name and the signature: JAX names programs by the one and finds
    ``static_argnames`` in the other.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.count = 0

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.count += 1
            return fn(*args, **kwargs)

        self.wrapped = functools.wraps(fn)(counted)
        self.wrapped.__name__ = name_of(fn)


@contextmanager
def listening() -> Iterator[Events]:
    """Collect JAX's events for the duration of a ``with`` block."""
    _register_once()
    events = Events()
    _listening.append(events)
    try:
        yield events
    finally:
        # By identity: two listeners that heard the same are equal.
        _listening[:] = [other for other in _listening if other is not events]


def counts(events: Events, name: str, executions_count: int | None) -> Counts:
    """The counts of the function of that name, out of all that was heard."""
    program = f"jit({name})"
    return Counts(
        python_executions_count=executions_count,
        traces_count=events.traced.count(name),
        compiles_count=events.compiled.count(program),
        cache_hits_count=events.cache_hits.count(program),
    )


_listening: list[Events] = []


@functools.cache
def _register_once() -> None:
    # Listeners cannot be removed in every supported version, so one pair serves for good.
    jax.monitoring.register_event_listener(_on_event)
    jax.monitoring.register_event_duration_secs_listener(_on_duration)


def _on_event(event: str, **_: Any) -> None:
    for events in _listening:
        events.hear_event(event)


def _on_duration(event: str, duration_secs: float, **keywords: Any) -> None:
    for events in _listening:
        events.hear_duration(event, keywords.get("fun_name", ""))
