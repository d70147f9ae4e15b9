"""Count Python executions with a wrapper, and traces and compiles with JAX's monitoring events."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import jax

from jaxmeter._measure.case import name_of

if TYPE_CHECKING:
    from jaxmeter._records.record import Counts

L = TypeVar("L", bound="Listener")
Stage = Literal["trace", "lower", "compile"]

_STAGES: dict[str, Stage] = {
    "/jax/core/compile/jaxpr_trace_duration": "trace",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lower",
    "/jax/core/compile/backend_compile_duration": "compile",
}
_CACHE_HIT = "/jax/compilation_cache/cache_hits"


class Listener(Protocol):
    """A listener to JAX's monitoring events."""

    def on_event(self, stage: Stage, fun_name: str, seconds: float, *, is_hit: bool) -> None:
        """Handle the end of a stage.

        For a trace, ``fun_name`` is the name of the function, such as ``step``. For a lowering or a
        compile, it is the name of the program, such as ``jit(step)``. ``is_hit`` is true for a
        compile that only read the program from the persistent cache.
        """


@dataclass
class Events:
    """A listener that collects the names of traced functions and of compiled programs. Older
    versions of JAX also report nested traces, so a nested function cannot be distinguished from an
    outer function of the same name."""

    traced: list[str] = field(default_factory=list)
    compiled: list[str] = field(default_factory=list)
    cache_hits: list[str] = field(default_factory=list)
    """The names of programs that were read from the persistent cache."""
    stages: Counter[Stage] = field(default_factory=Counter)
    """How often each stage ran, for any function."""

    def on_event(self, stage: Stage, fun_name: str, seconds: float, *, is_hit: bool) -> None:
        self.stages[stage] += 1
        if stage == "trace":
            self.traced.append(fun_name)
        elif stage == "compile":
            (self.cache_hits if is_hit else self.compiled).append(fun_name)


class ExecutionCounter:
    """A wrapper that counts the runs of the Python body of a function. The wrapper keeps the
    function's name, because JAX names programs after functions. It also keeps the signature,
    because JAX needs the signature for ``static_argnames``."""

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
    persistent cache. The number of runs is None without a ``counter``."""
    from jaxmeter._records.record import Counts  # not needed in watched programs

    program = f"jit({name})"
    return Counts(
        python_executions_count=None if counter is None else counter.count,
        traces_count=events.traced.count(name),
        compiles_count=events.compiled.count(program),
        cache_hits_count=events.cache_hits.count(program),
    )


_listening: list[Listener] = []
_pending = threading.local()
"""Has the attribute `hit` in a thread that read a program from the persistent cache, until the
event of the compile. JAX sends both events in the thread that compiles."""


@functools.cache
def _register_once() -> None:
    # Some supported versions of JAX cannot remove listeners, so these two listeners stay.
    jax.monitoring.register_event_listener(_on_event)
    jax.monitoring.register_event_duration_secs_listener(_on_duration)


def _on_event(event: str, **_: Any) -> None:
    if event == _CACHE_HIT:
        _pending.hit = True


def _on_duration(event: str, duration_secs: float, **keywords: Any) -> None:
    stage = _STAGES.get(event)
    if stage is None:
        return
    is_hit = False
    if stage == "compile":
        # JAX also sends the compile event if the program was in the persistent cache. In this case,
        # JAX sent the event of the cache hit just before. That event does not name the program.
        is_hit = vars(_pending).pop("hit", False)
    for listener in list(_listening):
        listener.on_event(stage, keywords.get("fun_name", ""), duration_secs, is_hit=is_hit)
