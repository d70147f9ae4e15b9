"""Traces of JAX as arrays: what happened when on each thread and stream, and the programs' HLO.

The layout is tsl's ``xplane.proto``: a space holds planes (1), a plane a name (2), event metadata
(4) and stat metadata (5); the plane ``/host:metadata`` holds each program's HLO.
"""

from __future__ import annotations

import mmap
import warnings
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jax.profiler import ProfileData

from jaxmeter._tables import wire
from jaxmeter._tables.self_time import self_times
from jaxmeter.errors import JaxmeterError

# What thread pools note about themselves: marks without duration, two for each task.
_MARKS = ("ThreadpoolListener::", "end: ")
# Lines of devices that repeat others, in older and newer converters.
_DERIVED = {"Steps", "XLA Modules", "Framework Ops", "Framework Name Scope", "Source code"}


@dataclass
class Line:
    """One thread or stream.

    Attributes
    ----------
    names : (n,) of the events, as positions in `Trace.names`.
    starts, durations : (n,) seconds.
    ops : (n,) as positions in `Trace.ops`; -1 for what is no operation of a program.
    notes : keywords of annotations and details of kernels, by position.
    """

    plane: str
    name: str
    names: np.ndarray
    starts: np.ndarray
    durations: np.ndarray
    ops: np.ndarray
    notes: dict[int, dict[str, Any]]
    op_self: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """Self time among the operations alone, seconds; zero for others."""
    op_busy: float = 0.0

    @property
    def is_device(self) -> bool:
        """Whether it is of a device such as a GPU."""
        return self.plane.startswith("/device:")


@dataclass(frozen=True)
class Trace:
    """All lines of one file.

    Attributes
    ----------
    path : the file.
    lines : those with events.
    names : of events.
    ops : program, such as ``jit_f(30)``, and instruction of each operation.
    events_count : of all events in the file, also of those that are no more than marks.
    """

    path: Path
    lines: tuple[Line, ...]
    names: tuple[str, ...]
    ops: tuple[tuple[str, str], ...]
    events_count: int


def read_trace(path: Path) -> Trace:
    """Read an ``.xplane.pb`` file.

    Raises
    ------
    JaxmeterError
        If it cannot be read, is cut short, or holds no event.
    """
    names: dict[str, int] = {}
    ops: dict[tuple[str, str], int] = {}
    lines, count = [], 0
    with warnings.catch_warnings():
        # On Python 3.12 jaxlib's classes warn when they are made; as an error that ends Python.
        warnings.simplefilter("ignore", DeprecationWarning)
        for plane in _opened(path).planes:
            for line in _lines(plane):
                read, seen = _read(plane.name, line, names, ops)
                count += seen
                if len(read.starts):
                    lines.append(read)
    if not count:
        raise JaxmeterError(
            f"trace: got {str(path)!r}, which holds no event; trace something that runs, with "
            "jax.block_until_ready inside jax.profiler.trace"
        )
    return Trace(path, tuple(lines), tuple(names), tuple(ops), count)


def _opened(path: Path) -> Any:
    _check_whole(path)
    try:
        return ProfileData.from_file(str(path))
    except Exception as error:  # of no documented kind
        raise JaxmeterError(
            f"trace: got {str(path)!r}, which JAX cannot read ({error}); trace again"
        ) from None


def _check_whole(path: Path) -> None:
    try:
        # Of each plane the outermost fields too: on what is no trace some versions of JAX abort.
        planes = [sum(1 for _ in wire.fields(plane)) for plane in wire.parts(_mapped(path), 1)]
    except OSError as error:
        raise JaxmeterError(f"trace: got {str(path)!r} ({error}); give a trace") from None
    except ValueError as error:
        raise JaxmeterError(
            f"trace: got {str(path)!r}, which is cut short or no trace ({error}); trace again, and "
            "let the program end jax.profiler.trace"
        ) from None
    if not planes:
        raise JaxmeterError(
            f"trace: got {str(path)!r}, which holds nothing; was the program killed?"
        )


def _mapped(path: Path) -> memoryview:
    with open(path, "rb") as stream:
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))


def _lines(plane: Any) -> Iterator[Any]:
    lines = list(plane.lines)
    if not plane.name.startswith("/device:"):
        yield from lines
        return
    streams = [line for line in lines if "Stream" in line.name]
    yield from streams or (line for line in lines if line.name not in _DERIVED)


def _read(plane: str, line: Any, names: dict, ops: dict) -> tuple[Line, int]:
    codes, kinds = array("q"), array("q")
    starts, durations = array("d"), array("d")
    notes: dict[int, dict[str, Any]] = {}
    seen = 0
    for event in line.events:
        seen += 1
        name, duration = event.name, event.duration_ns
        if name.startswith(_MARKS):
            continue
        op = -1
        if not name.startswith("$"):  # frames of Python have no stats
            stats = dict(event.stats)
            if "hlo_op" in stats:
                program = f"{stats.get('hlo_module', '')}({stats.get('program_id', '')})"
                op = ops.setdefault((program, str(stats["hlo_op"])), len(ops))
            told = {k: v for k, v in stats.items() if k not in _OWN and not k.startswith("_")}
            if told:
                notes[len(starts)] = told
        codes.append(names.setdefault(name, len(names)))
        kinds.append(op)
        starts.append(event.start_ns)
        durations.append(duration)
    read = Line(
        plane,
        line.name,
        np.array(codes, dtype=np.int64),
        np.array(starts) * 1e-9,
        np.array(durations) * 1e-9,
        np.array(kinds, dtype=np.int64),
        notes,
    )
    read.op_self = np.zeros(len(read.starts))
    chosen = np.flatnonzero(read.ops >= 0)
    if len(chosen):
        read.op_self[chosen], read.op_busy = self_times(read.starts[chosen], read.durations[chosen])
    return read, seen


_OWN = {"hlo_op", "hlo_module", "program_id", "run_id", "device_ordinal"}


def programs(path: Path, wanted: set[str]) -> dict[str, str]:
    """The HLO text of programs that a trace holds, by name such as ``jit_f(30)``."""
    found: dict[str, str] = {}
    for plane in wire.parts(_mapped(path), 1):
        if wire.text(plane, 2) == "/host:metadata":
            found.update(_programs(plane, wanted))
    return found


def _programs(plane: memoryview, wanted: set[str]) -> Iterator[tuple[str, str]]:
    for entry in wire.parts(plane, 4):
        for metadata in wire.parts(entry, 2):
            name = wire.text(metadata, 2)
            if name not in wanted:
                continue
            for stat in wire.parts(metadata, 5):
                for proto in wire.parts(stat, 6):
                    for module in wire.parts(proto, 1):
                        yield name, hlo_text(bytes(module))


def hlo_text(module: bytes) -> str:
    """The text of a serialized HLO module, empty where this jaxlib cannot tell it."""
    try:
        from jaxlib._hlo import HloModule  # type: ignore[import-not-found]
    except ImportError:  # jaxlib up to 0.8 or so
        try:
            from jaxlib._jax import HloModule  # type: ignore[import-not-found,no-redef]
        except ImportError:
            return ""
    return HloModule.from_serialized_hlo_module_proto(module).to_string()
