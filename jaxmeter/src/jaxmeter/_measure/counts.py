"""How often a function is run by Python, traced and compiled, from wrappers and JAX's events."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import jax

from jaxmeter._measure.case import name_of
from jaxmeter._records.record import Counts

L = TypeVar("L", bound="Listener")

_TRACE = "/jax/core/compile/jaxpr_trace_duration"
_LOWER = "/jax/core/compile/jaxpr_to_mlir_module_duration"
_COMPILE = "/jax/core/compile/backend_compile_duration"
_CACHE_HIT = "/jax/compilation_cache/cache_hits"


class Listener:
    """Hears of JAX's events, each with the name of its function."""

    def hear_trace(self, fun_name: str, seconds: float) -> None:
        """A function was traced; its name stands alone, ``step``."""

    def hear_lowering(self, fun_name: str, seconds: float) -> None:
        """A program was lowered; its name is that of the program, ``jit(step)``."""

    def hear_compile(self, fun_name: str, seconds: float, *, is_hit: bool) -> None:
        """A program was compiled, or taken from the persistent cache instead."""


@dataclass
class Events(Listener):
    """What happened while this was listening, each event by the name of its function.

    Older JAX reports nested traces and operations run on the side as well, hence by name; a
    nested function of the same name cannot be told apart there.
    """

    traced: list[str] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)
    cache_hits: list[str] = field(default_factory=list)
    """Programs taken from the persistent cache."""

    def hear_trace(self, fun_name: str, seconds: float) -> None:
        self.traced.append(fun_name)

    def hear_compile(self, fun_name: str, seconds: float, *, is_hit: bool) -> None:
        (self.cache_hits if is_hit else self.compiled).append(fun_name)


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
def listening(listener: L) -> Iterator[L]:
    """Let a listener hear JAX's events for the duration of a ``with`` block."""
    _register_once()
    _listening.append(listener)
    try:
        yield listener
    finally:
        # By identity: two listeners that heard the same are equal.
        _listening[:] = [other for other in _listening if other is not listener]


def counts(events: Events, name: str, executions_count: int | None) -> Counts:
    """The counts of the function of that name, out of all that was heard."""
    program = f"jit({name})"
    return Counts(
        python_executions_count=executions_count,
        traces_count=events.traced.count(name),
        compiles_count=events.compiled.count(program),
        cache_hits_count=events.cache_hits.count(program),
    )


_listening: list[Listener] = []
_hit_pending = False


@functools.cache
def _register_once() -> None:
    # Listeners cannot be removed in every supported version, so one pair serves for good.
    jax.monitoring.register_event_listener(_on_event)
    jax.monitoring.register_event_duration_secs_listener(_on_duration)


def _on_event(event: str, **_: Any) -> None:
    global _hit_pending
    if event == _CACHE_HIT:
        _hit_pending = True


def _on_duration(event: str, duration_secs: float, **keywords: Any) -> None:
    global _hit_pending
    name = keywords.get("fun_name", "")
    is_hit = _hit_pending
    if event == _COMPILE:
        # This one also comes when the program was in the persistent cache; the hit, which has no
        # name, came just before it.
        _hit_pending = False
    for listener in list(_listening):
        if event == _TRACE:
            listener.hear_trace(name, duration_secs)
        elif event == _LOWER:
            listener.hear_lowering(name, duration_secs)
        elif event == _COMPILE:
            listener.hear_compile(name, duration_secs, is_hit=is_hit)
