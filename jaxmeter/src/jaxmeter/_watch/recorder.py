"""Write an event for each trace, lowering and compile of JAX in this process."""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Hashable
from types import FrameType
from typing import Any

import jax
import numpy as np

from jaxmeter._capture.constants import captured_values, identity
from jaxmeter._measure.case import Case
from jaxmeter._measure.counts import Stage, listening
from jaxmeter._program.jaxprs import equations_count
from jaxmeter._program.places import owner, places_of_frame
from jaxmeter._retrace.groups import Call
from jaxmeter._retrace.watch import Seen, Watch
from jaxmeter._watch.cache_events import CacheEvents

_LARGE_BYTES = 1_000_000
"""If a program captures at least this many bytes, the recorder searches for the variables that hold
the captured arrays."""
_ARRAYS_COUNT = 5
_FRAMES_COUNT = 40
_until_the_end = contextlib.ExitStack()


def record(events: Any) -> None:
    """Record compiles with ``events.write`` until the process ends."""
    recorder = Recorder(events.write)
    _until_the_end.enter_context(listening(recorder))
    jax.clear_caches = recorder.noticing(jax.clear_caches)
    if count := int(os.environ.get("JAXMETER_WATCH_PROFILES", "0")):
        recorder.slowest = Slowest(count)
        os.register_at_fork(after_in_child=recorder.slowest.forget)
        # This exit handler runs before JAX's own.
        atexit.register(recorder.slowest.profile, events.write)
    events.write("jax", version=jax.__version__)


class Recorder(Watch):
    """A watch that writes an event for each trace, lowering and compile. An exception of the
    recorder becomes an event, and is not raised in the program."""

    def __init__(self, write: Callable[..., None]) -> None:
        super().__init__()
        self.write = write
        self.cache = CacheEvents()
        self.problems: set[str] = set()
        self.searched: set[Hashable] = set()
        self.spent_seconds = 0.0
        self.slowest: Slowest | None = None
        """The functions to profile, or None if no profiles are requested."""

    def on_event(self, stage: Stage, fun_name: str, seconds: float, *, is_hit: bool) -> None:
        began = time.perf_counter()
        try:
            super().on_event(stage, fun_name, seconds, is_hit=is_hit)
        except Exception as error:
            self._problem(f"an event was not recorded: {error!r}")
        self.spent_seconds += time.perf_counter() - began

    def on_seen(self, seen: Seen) -> None:
        details: dict[str, Any] = {}
        if seen.stage == "lower":
            details = self._program(seen)
        elif seen.stage == "compile":
            details = {"cache": self.cache.taken()}
            if self.slowest is not None:
                self.slowest.offer(seen)
        self.write(
            seen.stage,
            thread=threading.get_ident(),
            name=seen.group.name,
            defined=seen.group.defined,
            seconds=seen.seconds,
            why=seen.explanation.kind,
            causes=[dataclasses.astuple(cause) for cause in seen.explanation.causes],
            stack=_stack(seen.frames[0]),
            recorder_seconds=self.spent_seconds,  # spent on earlier events, not on this event
            **details,
        )
        self.spent_seconds = 0.0

    def noticing(self, clear: Callable[[], None]) -> Callable[[], None]:
        """Wrap `jax.clear_caches` so that each call is also recorded as an event."""

        @functools.wraps(clear)
        def cleared() -> None:
            clear()
            self.write("cleared", stack=_stack(sys._getframe(1)))

        return cleared

    def _program(self, seen: Seen) -> dict[str, Any]:
        """Return the numbers of equations, captured bytes and captured arrays of a lowered program.

        If the program captures many bytes, add the largest captured arrays. If the jaxpr of the
        program is not found, return {}.
        """
        jaxpr = _jaxpr_in(seen.frames)
        if jaxpr is None:
            self._problem(f"programs and captured arrays are not known with JAX {jax.__version__}")
            return {}
        values = captured_values(jaxpr)
        total = sum(description.bytes for _, description in values.values())
        found: dict[str, Any] = {
            "equations": equations_count(jaxpr),
            "captured_bytes": total,
            "captured_count": len(values),
        }
        key = seen.group.name, seen.group.defined, total
        if total >= _LARGE_BYTES and key not in self.searched:
            self.searched.add(key)
            found["captured"] = _captured(seen.call, jaxpr, values)
        return found

    def _problem(self, text: str) -> None:
        if text not in self.problems:
            self.problems.add(text)
            self.write("problem", text=text)


class Slowest:
    """The functions that took longest to trace, lower and compile, without the values of arrays."""

    def __init__(self, count: int) -> None:
        # The profiler is slow to import. It is imported now, because some modules cannot be
        # imported when the process ends, and no thread can start then.
        from jaxmeter._compile.profile import compile_profile
        from jaxmeter._compile.trace_lines import started_requests

        started_requests()
        self._compile_profile = compile_profile
        self._count = count
        self._kept: dict[tuple[str, str], tuple[float, float, Case]] = {}
        """The seconds of all stages of a function so far, the seconds of its slowest compile, and
        the case of this compile."""

    def offer(self, seen: Seen) -> None:
        """Keep a function if it is among the slowest so far.

        JAX's own functions and calls with unknown arguments are ignored.
        """
        call = seen.call
        if call is None or call.signature is None or seen.explanation.kind == "JAX's own":
            return
        key = seen.group.name, seen.group.defined
        _, slowest, case = self._kept.get(key, (0.0, 0.0, None))
        if case is None or seen.seconds > slowest:
            args, kwargs = jax.tree.map(_without_values, (call.args, dict(call.kwargs)))
            numbers, names = call.static
            options = {"static_argnums": tuple(numbers), "static_argnames": tuple(names)}
            options = {name: value for name, value in options.items() if value}
            slowest, case = seen.seconds, Case(call.fn, args, kwargs, jit_options=options)
        self._kept[key] = seen.group.trace_seconds + seen.group.compile_seconds, slowest, case
        if len(self._kept) > self._count:
            del self._kept[min(self._kept, key=lambda key: self._kept[key][0])]

    def forget(self) -> None:
        """Remove all functions. This is called in a forked child, which has no XLA threads and so
        cannot compile."""
        self._kept.clear()

    def profile(self, write: Callable[..., None]) -> None:
        """Stop recording, profile each function that was kept, and write the profiles as events."""
        _until_the_end.close()
        began = time.perf_counter()
        for (name, _), (*_, case) in sorted(self._kept.items(), key=lambda item: -item[1][0]):
            try:
                write("profile", profile=self._compile_profile(case).to_json())
            except Exception as error:
                write("problem", text=f"{name} could not be profiled: {error!r:.200}")
        self._kept.clear()
        write("profiled", seconds=time.perf_counter() - began)


def _without_values(leaf: Any) -> Any:
    """Return an argument with which JAX compiles the same program; keep no array alive."""
    if not isinstance(leaf, (jax.Array, np.ndarray)):
        return leaf
    sharding = leaf.sharding if isinstance(leaf, jax.Array) and leaf.committed else None
    weak_type = jax.typeof(leaf).weak_type
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding, weak_type=weak_type)


def _captured(call: Call | None, jaxpr: Any, values: dict[Hashable, Any]) -> list[dict[str, Any]]:
    """Return the largest captured arrays.

    Each has the path of the variable that holds the array, and the first line that uses the array.
    """
    from jaxmeter._capture.functions import named_arguments
    from jaxmeter._capture.holders import held_arrays  # most programs capture nothing large
    from jaxmeter._capture.uses import uses_of

    largest = sorted(values, key=lambda key: -values[key][1].bytes)[:_ARRAYS_COUNT]
    paths: dict[Hashable, str] = {}
    if call is not None:
        arguments = named_arguments(call.fn, call.args, call.kwargs)
        for holder in held_arrays(call.fn, arguments):
            key = identity(holder.value)
            if key in largest:
                paths.setdefault(key, holder.path)
            if len(paths) == len(largest):
                break
    uses = uses_of(jaxpr, largest)
    described = []
    for key in largest:
        _, array = values[key]
        use = next(iter(uses.get(key, ())), None)
        described.append(
            {
                "shape": list(array.shape),
                "dtype": array.dtype,
                "bytes": array.bytes,
                "path": paths.get(key, ""),
                "line": "" if use is None else f"{use.file}:{use.line}",
            }
        )
    return described


def _jaxpr_in(frames: list[FrameType]) -> Any:
    """Return the variable ``closed_jaxpr`` of the innermost JAX function with this variable.

    Return None if no function of JAX has this variable.
    """
    for frame in frames:
        code = frame.f_code
        if owner(code.co_filename) == "JAX" and "closed_jaxpr" in code.co_varnames:
            return frame.f_locals.get("closed_jaxpr")
    return None


def _stack(frame: FrameType) -> list[tuple[str, int, str, bool]]:
    """Return the lines of the stack to show, each as (file, line, function, is_library).

    The program's lines, at most 40, come in order, the innermost first. If a library called JAX,
    the innermost line of the library comes before the program's lines. If the stack has no line of
    the program, at most three lines of libraries are returned, the innermost first.
    """
    found = places_of_frame(frame)
    places = [(at.file, at.line, at.function, owner(at.file) == "package") for at in found]
    own = [place for place in places if not place[3]]
    libraries = [place for place in places[: 1 if own else 3] if place[3]]
    return [*libraries, *own[:_FRAMES_COUNT]]
