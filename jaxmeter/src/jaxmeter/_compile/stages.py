"""Turn the events of a recorded compile into seconds by stage and kernel."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from jaxmeter._compile.pairing import TASK, pair
from jaxmeter._compile.record import Interval, Recording
from jaxmeter._compile.timeline import Work, divide
from jaxmeter._records.compile import Stage
from jaxmeter._trace.innermost import innermost

_EMITTER = "FusionCompiler::Compile"
_FOLDING = "constant_folding"
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


class StageSeconds(NamedTuple):
    """The elapsed time of a compile, split up by stage, kernel and pass."""

    seconds: dict[tuple[Stage, str], float]
    """Seconds by stage and kernel. The kernel is empty unless the work is for a single kernel."""
    passes: dict[str, float]
    """Seconds of each HLO pass."""
    unpaired_count: int
    """The number of kernels whose task was not found. A single such kernel is not counted: the main
    thread may have compiled it without a task."""


def kernel_of(module: str) -> str:
    """Return the name of the kernel that a module of the compiler contains."""
    return _MODULE.sub("", module)


def stage_seconds(recording: Recording) -> StageSeconds:
    """Split up the elapsed time of a compile by stage, kernel and pass."""
    by_thread: dict[str, list[Interval]] = defaultdict(list)
    for event in recording.events:
        by_thread[event.thread].append(event)
    # The events of a thread that only waits for the compile of another thread are not counted.
    main = [events for events in by_thread.values() if _is_main(events)]
    pools = [
        events
        for events in by_thread.values()
        if not _is_main(events) and any(event.name in (TASK, _EMITTER) for event in events)
    ]
    tasks = [event for events in (*main, *pools) for event in events if event.name == TASK]
    paired = pair(tasks, recording.objects)
    owners = {id(tasks[at]): kernel_of(module) for at, module in paired.items()}
    unpaired = [kernel_of(module) for module in recording.objects.keys() - paired.values()]
    divided: Any = divide(
        [work for events in pools for work in _works(_of_pool(events), owners)],
        [work for events in main for work in _works(_without_emitters_parts(events), owners)],
        recording.seconds,
        _REST,
    )
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


def _is_main(events: Sequence[Interval]) -> bool:
    return any(event.name.startswith(("CpuCompiler::", "HLO passes")) for event in events)


def _of_pool(events: Sequence[Interval]) -> list[Interval]:
    return [event for event in events if event.name in (TASK, _EMITTER)]


def _without_emitters_parts(events: Sequence[Interval]) -> list[Interval]:
    """Return the events of a thread, except those inside an event that emits a kernel."""
    emitters = [event for event in events if event.name == _EMITTER]
    return [
        event
        for event in events
        if event.name == _EMITTER
        or not any(e.start <= event.start and event.end <= e.end for e in emitters)
    ]


def _works(events: Sequence[Interval], owners: Mapping[int, str]) -> list[Work]:
    """Return the work of one thread; each moment belongs to the innermost event."""
    events = sorted(events, key=lambda event: (event.start, -event.end))
    pieces = innermost([event.start for event in events], [event.end for event in events])
    return [Work(start, end, _key(events[at], owners)) for at, start, end in pieces]


def _key(event: Interval, owners: Mapping[int, str]) -> _Key:
    if event.name == _EMITTER:
        return "emit", kernel_of(event.kernel)
    if event.name == TASK:
        return "LLVM", owners.get(id(event), "")
    if event.name == _FOLDING:
        return "constant folding", event.name
    if event.name in _CODE_GENERATION:
        return _INLINE
    if event.name in _IN_BACKEND:
        return _IN_BACKEND[event.name], ""
    is_call = "::" in event.name or event.name == "CompileCpuExecutable"
    return _REST if is_call else ("HLO passes", event.name.partition(" (")[0])
