"""Compile a program under JAX's profiler, and read when each kernel's object file was written."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

import jax
import numpy as np

from jaxmeter._measure.phases import no_persistent_cache
from jaxmeter._records.files import temporary_folder
from jaxmeter._trace.trace import Trace, read_trace, trace_file

_WINDOW = "jaxmeter_compile"
_OBJECT = re.compile(r"^module_\d+\..+?\.obj-file\.(?!part_\d+\.o$)(?P<kernel>.+)\.o$")
_DETAILS_OF_COMPILERS_LEVEL = 3


@dataclass(frozen=True)
class Interval:
    """An event of the compiler on one thread, from ``start`` to ``end`` in seconds."""

    thread: str
    name: str
    start: float
    end: float
    kernel: str = ""
    """The name of the kernel's module; empty if the event does not name a module."""


@dataclass(frozen=True)
class Recording:
    """The recording of one compile. All times are in seconds since the compile began."""

    compiled: jax.stages.Compiled
    seconds: float
    events: tuple[Interval, ...]
    objects: dict[str, float]
    """The time when each object file was written, by the name of the kernel's module."""
    before: str
    """The program before optimisation, as HLO text; empty if it was not dumped."""


def record_compile(lowered: jax.stages.Lowered) -> Recording:
    """Compile a program without the persistent cache, and record the events of the compiler."""
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = _DETAILS_OF_COMPILERS_LEVEL
    with no_persistent_cache(), temporary_folder() as folder:
        traced, dumped = folder / "trace", folder / "dump"
        with jax.profiler.trace(str(traced), profiler_options=options):
            with jax.profiler.TraceAnnotation(_WINDOW):
                began, clock = time.time_ns(), time.perf_counter()
                compiled = lowered.compile(compiler_options={"xla_dump_to": str(dumped)})
                seconds = time.perf_counter() - clock
        trace = read_trace(trace_file(traced))
        objects = {
            match["kernel"]: (path.stat().st_mtime_ns - began) * 1e-9
            for path in dumped.iterdir()
            if (match := _OBJECT.match(path.name))
        }
        before = [path.read_text() for path in dumped.glob("*.before_optimizations.txt")]
    return Recording(compiled, seconds, tuple(_events(trace)), objects, "".join(before[:1]))


def _events(trace: Trace) -> Iterator[Interval]:
    """Yield the events that began during the compile, with times since the start of the compile.

    The last tasks of the compiler's threads may end a little after the compile.
    """
    window, at = next(
        (line, at)
        for line in trace.lines
        for at, name in enumerate(line.names)
        if trace.names[name] == _WINDOW
    )
    began, ended = window.starts[at], window.starts[at] + window.durations[at]
    for line in trace.lines:
        for at in np.flatnonzero((began <= line.starts) & (line.starts < ended)):
            name = trace.names[line.names[at]]
            if name == _WINDOW:
                continue
            start = float(line.starts[at] - began)
            end = float(line.starts[at] + line.durations[at] - began)
            kernel = str(line.notes.get(int(at), {}).get("module", ""))
            yield Interval(line.name, name, start, end, kernel)
