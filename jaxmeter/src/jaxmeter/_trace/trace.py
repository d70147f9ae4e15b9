"""Make and read traces of JAX: what ran when on each thread and stream, as arrays."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.profiler import ProfileData

from jaxmeter._cli.arguments import with_arrays
from jaxmeter._measure.case import Case, name_of
from jaxmeter._measure.staging import jitted, prepared
from jaxmeter._trace.intervals import self_times
from jaxmeter._trace.xspace import check_whole
from jaxmeter.errors import JaxmeterError

# Marks of thread pools about themselves, without duration, two for each task.
_MARKS = ("ThreadpoolListener::", "end: ")
# Lines of devices that repeat others, in older and newer converters.
_DERIVED = {"Steps", "XLA Modules", "Framework Ops", "Framework Name Scope", "Source code"}
# Statistics that are read into columns of their own.
_READ = {"hlo_op", "hlo_module", "program_id", "run_id", "device_ordinal"}


@dataclass(frozen=True)
class Line:
    """One thread or stream.

    Attributes
    ----------
    plane, name : the device and the thread or stream.
    names : (n,) of the events, as positions in `Trace.names`.
    starts, durations : (n,) seconds.
    ops : (n,) positions in `Trace.ops`; -1 for events that are no operations of a program.
    notes : keywords of annotations and details of kernels, by position of the event.
    op_self : (n,) self time among the operations alone, seconds; zero for others.
    op_busy : time with an operation under way, seconds.
    """

    plane: str
    name: str
    names: np.ndarray
    starts: np.ndarray
    durations: np.ndarray
    ops: np.ndarray
    notes: dict[int, dict[str, Any]]
    op_self: np.ndarray
    op_busy: float

    @property
    def is_device(self) -> bool:
        """Whether it belongs to a device such as a GPU."""
        return self.plane.startswith("/device:")


@dataclass(frozen=True)
class Trace:
    """All lines of one file.

    Attributes
    ----------
    path : the file.
    lines : the threads and streams with events.
    names : the names of events.
    ops : program, such as ``jit_f(30)``, and instruction of each operation.
    events_count : all events in the file, marks of thread pools included.
    """

    path: Path
    lines: tuple[Line, ...]
    names: tuple[str, ...]
    ops: tuple[tuple[str, str], ...]
    events_count: int

    @property
    def span_seconds(self) -> float:
        """The time from the first event to the end of the last."""
        first = min((line.starts.min() for line in self.lines), default=0.0)
        last = max(((line.starts + line.durations).max() for line in self.lines), default=0.0)
        return float(last - first)


def runner(case: Case) -> Callable[[], Any]:
    """Return a function that runs a case, jitted, until its result is computed.

    Each `jax.ShapeDtypeStruct` among the arguments is replaced by an array of ones.
    """
    case = prepared(with_arrays(case))
    run = jitted(case)
    return lambda: jax.block_until_ready(run(*case.args, **case.kwargs))


def capture(case: Case, folder: Path, *, repeat: int = 3, cold: bool = False) -> Path:
    """Trace runs of a case, each as a step, into a folder that TensorBoard opens.

    Parameters
    ----------
    case : Case
        What to run, by `runner`.
    folder : Path
        For all traces: this trace gets its own folder below ``plugins/profile``.
    repeat : int
        Runs in the trace.
    cold : bool
        Whether to trace the first run too, with tracing, lowering and compiling; otherwise the
        case runs once before the trace begins.

    Returns
    -------
    Path
        The ``.xplane.pb`` file.

    Raises
    ------
    JaxmeterError
        If the folder cannot be written, or JAX left no trace there.
    Exception
        Any exception of the case.
    """
    if repeat < 1:
        raise JaxmeterError(f"capture: got repeat={repeat}; give at least 1")
    run = runner(case)
    if not cold:
        run()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise JaxmeterError(
            f"capture: got folder={str(folder)!r} ({error}); give one that can be written"
        ) from None
    before = {path: path.stat().st_mtime_ns for path in _files(folder)}
    with jax.profiler.trace(str(folder)):
        for step in range(repeat):
            with jax.profiler.StepTraceAnnotation(name_of(case.fn), step_num=step):
                run()
    # JAX names traces by the second: two within one second share a file.
    made = [path for path in _files(folder) if path.stat().st_mtime_ns != before.get(path)]
    if not made:
        raise JaxmeterError(
            f"capture: JAX left no .xplane.pb in {str(folder)!r}; is the disk full?"
        )
    return sorted(made)[-1]


def trace_file(place: Path) -> Path:
    """Return the trace in a place: the file itself, or the newest below a folder, of one host.

    Raises
    ------
    JaxmeterError
        If there is none.
    """
    if place.is_file():
        return place
    found = sorted(_files(place), key=lambda path: path.stat().st_mtime)
    if not found:
        raise JaxmeterError(
            f"trace: got {str(place)!r}, which has no *.xplane.pb in it or below; give a folder "
            "of jax.profiler.trace, or package.module:function to trace"
        )
    return found[-1]


def _files(folder: Path) -> list[Path]:
    return list(folder.rglob("*.xplane.pb")) if folder.is_dir() else []


def read_trace(path: Path) -> Trace:
    """Read an ``.xplane.pb`` file.

    Raises
    ------
    JaxmeterError
        If it cannot be read, is cut short, or contains no event.
    """
    names: dict[str, int] = {}
    ops: dict[tuple[str, str], int] = {}
    lines, count = [], 0
    check_whole(path)
    with warnings.catch_warnings():
        # On Python 3.12 jaxlib's classes warn when they are made; as an error that ends Python.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            planes = ProfileData.from_file(str(path)).planes
        except Exception as error:  # of no documented type
            raise JaxmeterError(
                f"trace: got {str(path)!r}, which JAX cannot read ({error}); trace again"
            ) from None
        for plane in planes:
            for line in _lines(plane):
                read, seen = _read(plane.name, line, names, ops)
                count += seen
                if len(read.starts):
                    lines.append(read)
    if not count:
        raise JaxmeterError(
            f"trace: got {str(path)!r}, which contains no event; trace a function that runs, with "
            "jax.block_until_ready inside jax.profiler.trace"
        )
    return Trace(path, tuple(lines), tuple(names), tuple(ops), count)


def _lines(plane: Any) -> Iterator[Any]:
    lines = list(plane.lines)
    if not plane.name.startswith("/device:"):
        yield from lines
        return
    streams = [line for line in lines if "Stream" in line.name]
    yield from streams or (line for line in lines if line.name not in _DERIVED)


def _read(plane: str, line: Any, names: dict, ops: dict) -> tuple[Line, int]:
    """Return a line and the number of its events, marks included."""
    codes, kinds, starts, durations = array("q"), array("q"), array("d"), array("d")
    notes: dict[int, dict[str, Any]] = {}
    seen = 0
    for event in line.events:
        seen += 1
        name, duration = event.name, event.duration_ns
        if name.startswith(_MARKS):
            continue
        op = -1
        if not name.startswith("$"):  # frames of Python have no statistics
            stats = dict(event.stats)
            if "hlo_op" in stats:
                program = f"{stats.get('hlo_module', '')}({stats.get('program_id', '')})"
                op = ops.setdefault((program, str(stats["hlo_op"])), len(ops))
            note = {k: v for k, v in stats.items() if k not in _READ and not k.startswith("_")}
            if note:
                notes[len(starts)] = note
        codes.append(names.setdefault(name, len(names)))
        kinds.append(op)
        starts.append(event.start_ns)
        durations.append(duration)
    begin, length = np.array(starts) * 1e-9, np.array(durations) * 1e-9
    op_codes = np.array(kinds, dtype=np.int64)
    chosen = np.flatnonzero(op_codes >= 0)
    op_self = np.zeros(len(begin))
    op_self[chosen], busy = self_times(begin[chosen], length[chosen])
    name_codes = np.array(codes, dtype=np.int64)
    return Line(plane, line.name, name_codes, begin, length, op_codes, notes, op_self, busy), seen
