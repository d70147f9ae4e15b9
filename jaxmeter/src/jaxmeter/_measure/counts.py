"""Count Python executions with a wrapper, and traces and compiles with JAX's monitoring events."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import jax

from jaxmeter._measure.case import name_of

if TYPE_CHECKING:
    from jaxmeter._records.record import Counts

L = TypeVar("L", bound="Listener")

_TRACE = "/jax/core/compile/jaxpr_trace_duration"
_LOWER = "/jax/core/compile/jaxpr_to_mlir_module_duration"
_COMPILE = "/jax/core/compile/backend_compile_duration"
_CACHE_HIT = "/jax/compilation_cache/cache_hits"


class Listener:
    """Base class of listeners to JAX's monitoring events."""

    def on_trace(self, fun_name: str, seconds: float) -> None:
        """Handle the trace of a function. ``fun_name`` is the function's name, such as ``step``."""

    def on_lowering(self, fun_name: str, seconds: float) -> None:
        """Handle the lowering of a program. ``fun_name`` is a name such as ``jit(step)``."""

    def on_compile(self, fun_name: str, seconds: float, *, is_hit: bool) -> None:
        """Handle the compile of a program.

        If ``is_hit`` is true, the program was read from the persistent cache instead of being
        compiled.
        """


@dataclass
class Events(Listener):
    """A listener that collects the names of traced functions and of compiled programs.

    Older versions of JAX also report nested traces and other operations. With these versions, a
    nested function cannot be distinguished from an outer function of the same name.
    """

    traced: list[str] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)
    cache_hits: list[str] = field(default_factory=list)
    """The names of programs that were read from the persistent cache."""

    def on_trace(self, fun_name: str, seconds: float) -> None:
        self.traced.append(fun_name)

    def on_compile(self, fun_name: str, seconds: float, *, is_hit: bool) -> None:
        (self.cache_hits if is_hit else self.compiled).append(fun_name)


class ExecutionCounter:
    """A wrapper that counts the runs of the Python body of a function.

    The wrapper keeps the name of the function, which JAX uses to name programs. It also keeps the
    signature, which JAX needs to find ``static_argnames``.
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
    """Pass JAX's monitoring events to a listener within a ``with`` block."""
    _register_once()
    _listening.append(listener)
    try:
        yield listener
    finally:
        # Compare by identity, because two listeners with the same events are equal.
        _listening[:] = [other for other in _listening if other is not listener]


def counts(events: Events, name: str, counter: ExecutionCounter | None) -> Counts:
    """Return how often the function ``name`` was run by Python, traced, compiled and read from the
    persistent cache."""
    from jaxmeter._records.record import Counts  # not needed in watched programs

    program = f"jit({name})"
    return Counts(
        python_executions_count=None if counter is None else counter.count,
        traces_count=events.traced.count(name),
        compiles_count=events.compiled.count(program),
        cache_hits_count=events.cache_hits.count(program),
    )


_listening: list[Listener] = []
_hit_pending = False


@functools.cache
def _register_once() -> None:
    # Some supported versions of JAX cannot remove listeners, so both listeners stay registered.
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
        # JAX also sends this event if the program was in the persistent cache. In this case, the
        # event of the cache hit, which has no name, came just before.
        _hit_pending = False
    for listener in list(_listening):
        if event == _TRACE:
            listener.on_trace(name, duration_secs)
        elif event == _LOWER:
            listener.on_lowering(name, duration_secs)
        elif event == _COMPILE:
            listener.on_compile(name, duration_secs, is_hit=is_hit)
