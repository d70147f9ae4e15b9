"""Turn the events of a recorded compile into seconds by stage and kernel."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from jaxmeter._compile.record import Interval, Recording
from jaxmeter._records.compile import Stage
from jaxmeter._trace.intervals import innermost

TASK = "TaskDispatcher::dispatch"
_EMITTER = "FusionCompiler::Compile"
_MODULE = re.compile(r"^__compute_module_|(?:_elemental)?_kernel_module$")
_IN_BACKEND: dict[str, Stage] = {
    "ThunkEmitter::EmitEntryComputation": "emit",
    "ThunkEmitter::ConsumeKernels": "emit",
    "SplitModule": "LLVM",
    "CpuCompiler::CloneAsThreadSafeModule": "LLVM",
}
_Key = tuple[Any, str]
_REST: _Key = ("other", "")
_INLINE: _Key = ("inline", "")
_CODE_GENERATION = ("Codegen", "JitCompiler::Compile")
_FILE_CLOCK_SECONDS = 5e-3
"""The recorded time of a file may be wrong by up to this many seconds, because the clock for file
times is coarse."""
_LEAST_SECONDS = 1e-3
_NEVER = 1e9


class StageSeconds(NamedTuple):
    """The elapsed time of a compile, split up by stage, kernel and pass."""

    seconds: dict[tuple[Stage, str], float]
    """Seconds by stage and kernel. The name of the kernel is empty for work that does not belong to
    a single kernel."""
    passes: dict[str, float]
    """Seconds of each HLO pass."""
    unpaired_count: int
    """The number of kernels without a known task of the compiler. If there is just one such kernel,
    the number is 0, because the main thread may have compiled this kernel without a task."""


class Work(NamedTuple):
    """A piece of a thread's work from ``start`` to ``end``, in seconds. ``key`` names the work."""

    start: float
    end: float
    key: Any


def kernel_of(module: str) -> str:
    return _MODULE.sub("", module)


def stage_seconds(recording: Recording) -> StageSeconds:
    """Split up the elapsed time of a compile by stage, kernel and pass."""
    tasks = [event for event in recording.events if event.name == TASK]
    paired = pair(tasks, recording.objects)
    owners = {id(tasks[at]): kernel_of(module) for at, module in paired.items()}
    unpaired = [kernel_of(module) for module in recording.objects.keys() - paired.values()]
    by_thread: dict[str, list[Interval]] = defaultdict(list)
    for event in recording.events:
        by_thread[event.thread].append(event)
    main: list[Work] = []
    workers: list[Work] = []
    for events in by_thread.values():
        if any(event.name.startswith(("CpuCompiler::", "HLO passes")) for event in events):
            # Each emitter emits one kernel; the events within its interval belong to this kernel.
            emitters = [event for event in events if event.name == _EMITTER]
            outside = [
                event
                for event in events
                if not any(e.start <= event.start and event.end <= e.end for e in emitters)
            ]
            main += _works([*emitters, *outside], owners)
        else:  # only tasks and emitters are work; other events may be waits for other threads
            parts = [event for event in events if event.name in (TASK, _EMITTER)]
            workers += _works(parts, owners)
    divided = divide(workers, main, recording.seconds)
    # The last kernel may be compiled by the main thread itself, without a task.
    inline = divided.pop(_INLINE, 0.0)
    for key in [("LLVM", kernel) for kernel in unpaired] or [_REST]:
        divided[key] += inline / max(len(unpaired), 1)
    seconds: dict[_Key, float] = defaultdict(float)
    passes: dict[str, float] = defaultdict(float)
    for (stage, name), spent in divided.items():
        if stage in ("HLO passes", "constant folding"):
            passes[name] += spent
            name = ""
        seconds[stage, name] += spent
    unpaired_count = len(unpaired) if len(unpaired) > 1 else 0
    return StageSeconds(dict(seconds), dict(passes), unpaired_count)


def pair(tasks: Sequence[Interval], written: Mapping[str, float]) -> dict[int, str]:
    """Return the kernel of each task, by the position of the task in ``tasks``.

    The tasks have no names. But XLA writes the object file of a kernel at the end of the kernel's
    task. ``written`` gives the time of each kernel's file, in seconds on the clock of the tasks. A
    file can belong only to a task that was running when the file was written, to within 5 ms. Tasks
    without a kernel are left out. The result is the pairing with the smallest sum of waits. A wait
    is the time between the writing of a file and the end of the task paired with this file.
    """
    kernels = list(written)
    if not kernels or not tasks:
        return {}
    at = np.array([written[kernel] for kernel in kernels])[:, None]
    starts, ends = (np.array([getattr(task, end) for task in tasks]) for end in ("start", "end"))
    waits = np.abs(ends[None] - at)
    # Tasks that do not compile a kernel, such as linking, take microseconds.
    shortest = min(_LEAST_SECONDS, np.sort(ends - starts)[::-1][: len(kernels)][-1])
    outside = (at < starts - _FILE_CLOCK_SECONDS) | (at > ends + _FILE_CLOCK_SECONDS)
    outside |= ends - starts < shortest
    costs = np.where(outside, _NEVER, waits)
    rows, columns = linear_sum_assignment(costs)
    return {
        int(column): kernels[row]
        for row, column in zip(rows, columns, strict=True)
        if not outside[row, column]
    }


def _works(events: Sequence[Interval], owners: Mapping[int, str]) -> list[Work]:
    """Return the work of one thread. Each moment belongs to the innermost event of that moment."""
    events = sorted(events, key=lambda event: (event.start, -event.end))
    pieces = innermost([event.start for event in events], [event.end for event in events])
    return [Work(start, end, _key(events[at], owners)) for at, start, end in pieces]


def _key(event: Interval, owners: Mapping[int, str]) -> _Key:
    if event.name == _EMITTER:
        return "emit", kernel_of(event.kernel)
    if event.name == TASK:
        return "LLVM", owners.get(id(event), "")
    if event.name == "constant_folding":
        return "constant folding", event.name
    if event.name in _CODE_GENERATION:
        return _INLINE
    if event.name in _IN_BACKEND:
        return _IN_BACKEND[event.name], ""
    is_call = "::" in event.name or event.name == "CompileCpuExecutable"
    return _REST if is_call else ("HLO passes", event.name.partition(" (")[0])


def divide(
    workers: Sequence[Work], main: Sequence[Work], seconds: float
) -> defaultdict[Any, float]:
    """Return the seconds of work by key. Their sum is ``seconds``, the elapsed time.

    ``workers`` is the work of the threads that compile kernels. A moment in which several threads
    work is divided equally among them. ``main`` is the work of the thread that waits for the
    workers; it counts only while no worker works. The rest of the elapsed time has the key
    ("other", "").
    """
    ends = [(at, 0, work) for work in workers for at in (work.start, work.end)]
    ends += [(at, 1, work) for work in main for at in (work.start, work.end)]
    ends.sort(key=lambda end: end[0])
    active: tuple[dict[int, Work], dict[int, Work]] = {}, {}
    found: defaultdict[Any, float] = defaultdict(float)
    now = 0.0
    for at, kind, work in ends:
        at = min(max(at, 0.0), seconds)
        if at > now:
            working = active[0] or active[1]
            for other in working.values():
                found[other.key] += (at - now) / len(working)
            if not working:
                found[_REST] += at - now
            now = at
        if active[kind].pop(id(work), None) is None:
            active[kind][id(work)] = work
    found[_REST] += max(seconds - now, 0.0)
    return found
