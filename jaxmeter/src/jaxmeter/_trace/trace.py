"""Make traces with JAX's profiler, and read the events of each thread and stream as arrays."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import warnings
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.profiler import ProfileData

from jaxmeter._cli.arguments import with_arrays
from jaxmeter._measure.case import Case, name_of
from jaxmeter._measure.phases import fresh_arguments, no_persistent_cache
from jaxmeter._measure.staging import jitted, prepared
from jaxmeter._records.argument_types import checking_types
from jaxmeter._records.files import file_errors
from jaxmeter._trace.intervals import self_times
from jaxmeter._trace.xspace import check_whole
from jaxmeter.errors import JaxmeterError

# A thread pool marks each task with two events of no duration. Their names begin with these texts.
_MARKS = ("ThreadpoolListener::", "end: ")
# Lines with these names repeat the events of other lines. The names differ between versions of JAX.
_DERIVED = {"Steps", "XLA Modules", "Framework Ops", "Framework Name Scope", "Source code"}
# Since this version of JAX, `ProfileData` raises an error for a file that is not a trace. Older
# versions abort the process.
_RAISES = (0, 8, 3)
# Statistics that `Line.notes` leaves out. Some identify the operation. The others are not used.
_LEFT_OUT = {"hlo_op", "hlo_module", "program_id", "run_id", "device_ordinal"}


@dataclass(frozen=True)
class Line:
    """The n events of one thread or stream.

    Attributes
    ----------
    plane, name : the device or host, and the thread or stream.
    names : (n,) name of each event, as a position in `Trace.names`.
    starts, durations : (n,) start and duration of each event, seconds.
    ops : (n,) positions in `Trace.ops`; -1 for events that are not operations of a program.
    notes : details of events, such as the keywords of an annotation or the grid of a kernel, by the
        position of the event.
    op_self : (n,) self time of each operation, without the operations inside it, seconds; 0 for
        other events. The sum is the time during which at least one operation runs.
    """

    plane: str
    name: str
    names: np.ndarray
    starts: np.ndarray
    durations: np.ndarray
    ops: np.ndarray
    notes: dict[int, dict[str, Any]]
    op_self: np.ndarray

    @property
    def is_device(self) -> bool:
        """Whether the line belongs to a device such as a GPU."""
        return self.plane.startswith("/device:")


@dataclass(frozen=True)
class Trace:
    """The content of one trace file.

    Attributes
    ----------
    path : the file.
    lines : the threads and streams with events.
    names : the distinct names of events.
    ops : a pair for each operation: its program, such as ``jit_f(30)``, and its instruction.
    events_count : number of events that were read. It includes thread-pool marks, which `lines`
        leaves out.
    """

    path: Path
    lines: tuple[Line, ...]
    names: tuple[str, ...]
    ops: tuple[tuple[str, str], ...]
    events_count: int

    @property
    def span_seconds(self) -> float:
        """The seconds from the start of the first event to the end of the last event."""
        first = min((line.starts.min() for line in self.lines), default=0.0)
        last = max(((line.starts + line.durations).max() for line in self.lines), default=0.0)
        return float(last - first)


@checking_types
def runner(case: Case) -> Callable[[], Any]:
    """Return a function that runs a case under `jax.jit` and waits for the result.

    Each `jax.ShapeDtypeStruct` among the case's arguments is replaced by an array of ones or of
    random keys. A function that donates arguments gets copies of the arrays in each run.

    Raises
    ------
    JaxmeterError
        If the case has jit options for a function that is already jitted.
    """
    case = prepared(with_arrays(case))
    run, _ = jitted(case)

    @functools.cache
    def arguments() -> Any:  # the first run uses this trace and this lowering
        lowered = run.trace(*case.args, **case.kwargs).lower()
        return fresh_arguments(lowered, case.args, dict(case.kwargs))

    def run_once() -> Any:
        args, kwargs = arguments()()
        return jax.block_until_ready(run(*args, **kwargs))

    return run_once


@checking_types
@no_persistent_cache()  # the trace of a program from the cache lacks the program's HLO
def capture(case: Case, folder: Path, *, repeat: int = 3, cold: bool = False) -> Path:
    """Trace runs of a case, and write the trace into a folder that TensorBoard can open.

    Each run is marked as a step. If the function donates arguments, each step includes copies of
    the arrays. The persistent cache is not used.

    Parameters
    ----------
    case : Case
        The case. Each `jax.ShapeDtypeStruct` among its arguments is replaced, as in `runner`.
    folder : Path
        The folder for traces. The trace is written inside the subfolder ``plugins/profile``.
    repeat : int
        Number of runs in the trace, at least 1.
    cold : bool
        Whether the trace includes the first run, with tracing, lowering and compiling. Otherwise
        the case runs once before the trace begins.

    Returns
    -------
    Path
        The ``.xplane.pb`` file.

    Raises
    ------
    JaxmeterError
        If `repeat` is below 1, the case cannot be jitted, the folder cannot be made, or JAX wrote
        no trace.
    Exception
        Any exception that the case raises, or that JAX raises if it cannot write the trace.
    """
    if repeat < 1:
        raise JaxmeterError(f"capture: got repeat={repeat}; give at least 1")
    run = runner(case)
    if not cold:
        run()
    with file_errors("capture", folder, "give a folder that can be written"):
        folder.mkdir(parents=True, exist_ok=True)
        before = _times(folder)
    with jax.profiler.trace(str(folder)):
        for step in range(repeat):
            with jax.profiler.StepTraceAnnotation(name_of(case.fn), step_num=step):
                run()
    # Look for files that are new or have another time than before. Names alone are not enough: two
    # traces within one second have the same name. The latest time is not enough either: a trace
    # copied from a machine with another clock may have a later time.
    made = [path for path, time in _times(folder).items() if time != before.get(path)]
    if not made:
        raise JaxmeterError(
            f"capture: JAX wrote no .xplane.pb to {str(folder)!r}; check that the disk is not full"
        )
    return max(made)


@checking_types
def trace_file(place: Path) -> Path:
    """Return a trace file: `place` itself, or the newest trace file in the folder `place`.

    A trace of several hosts has a file for each host; only one of these files is returned.

    Raises
    ------
    JaxmeterError
        If there is no trace file.
    """
    if place.is_file():
        return place
    found = _times(place)
    if not found:
        problem = "contains no *.xplane.pb file" if place.exists() else "does not exist"
        raise JaxmeterError(
            f"trace: got {str(place)!r}, which {problem}; give a folder that jax.profiler.trace "
            "wrote, or an .xplane.pb file"
        )
    return max(found, key=found.__getitem__)


def _times(folder: Path) -> dict[Path, int]:
    """Return the trace files in a folder, each with the time of its last change."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.xplane.pb")}


def _check_in_another_process(path: Path) -> None:
    """Read a file in another process; raise an error if that process fails or is aborted."""
    code = "import sys; from jax.profiler import ProfileData; ProfileData.from_file(sys.argv[1])"
    env = os.environ | {"JAXMETER_WATCH_FOLDER": ""}  # the process is not part of a watched program
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, env=env)
    if done.returncode:
        raise JaxmeterError(f"trace: got {str(path)!r}, which JAX cannot read; trace again")


@checking_types
def read_trace(path: Path) -> Trace:
    """Read an ``.xplane.pb`` file.

    Raises
    ------
    JaxmeterError
        If the file cannot be read, is truncated or too large, or has no event or too many events.
    """
    names: dict[str, int] = {}
    ops: dict[tuple[str, str], int] = {}
    lines, count = [], 0
    check_whole(path)
    if jax.__version_info__ < _RAISES:
        _check_in_another_process(path)
    with warnings.catch_warnings():
        # Python 3.12 gives a warning when jaxlib creates its classes. If warnings are errors, this
        # warning would abort Python.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            planes = ProfileData.from_file(str(path)).planes
        except Exception as error:  # the exception's type is not documented
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
            f"trace: got {str(path)!r}, which contains no event; run the function inside the "
            "jax.profiler.trace block, and wait for its result there with jax.block_until_ready"
        )
    return Trace(path, tuple(lines), tuple(names), tuple(ops), count)


def _lines(plane: Any) -> list[Any]:
    lines = list(plane.lines)
    if not plane.name.startswith("/device:"):
        return lines
    streams = [line for line in lines if "Stream" in line.name]
    return streams or [line for line in lines if line.name not in _DERIVED]


def _read(plane: str, line: Any, names: dict, ops: dict) -> tuple[Line, int]:
    """Return a line without thread-pool marks, and the number of its events including the marks."""
    name_codes, op_codes, starts, durations = array("q"), array("q"), array("d"), array("d")
    notes: dict[int, dict[str, Any]] = {}
    seen = 0
    for event in line.events:
        seen += 1
        name = event.name
        if name.startswith(_MARKS):
            continue
        op = -1
        if not name.startswith("$"):  # frames of Python have no statistics
            stats = dict(event.stats)
            if "hlo_op" in stats:
                program = f"{stats.get('hlo_module', '')}({stats.get('program_id', '')})"
                op = ops.setdefault((program, str(stats["hlo_op"])), len(ops))
            note = {k: v for k, v in stats.items() if k not in _LEFT_OUT and not k.startswith("_")}
            if note:
                notes[len(starts)] = note
        name_codes.append(names.setdefault(name, len(names)))
        op_codes.append(op)
        starts.append(event.start_ns)
        durations.append(event.duration_ns)
    begin, length = np.array(starts) * 1e-9, np.array(durations) * 1e-9
    event_names, event_ops = np.array(name_codes), np.array(op_codes)
    chosen = np.flatnonzero(event_ops >= 0)
    op_self = np.zeros(len(begin))
    op_self[chosen] = self_times(begin[chosen], length[chosen])
    return Line(plane, line.name, event_names, begin, length, event_ops, notes, op_self), seen
