"""Read the events of all processes of a program, and combine the events of each compile.

Also compute the time that the program could save by compiling less.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jaxmeter._records.compile import CompileProfile
from jaxmeter._records.files import TEXT_BYTES, read_file
from jaxmeter._records.retraces import Difference
from jaxmeter._records.run import (
    STAGES,
    Line,
    RunCapture,
    RunCompile,
    RunInterval,
    RunProcess,
    Saving,
    WatchedRun,
)
from jaxmeter._render.units import place_text
from jaxmeter._trace.intervals import innermost, union
from jaxmeter.errors import FileError

Event = dict[str, Any]
Draft = list[Event]
"""The events of one compile that have been read so far."""

_JIT_SUGGESTION = (
    "put the operations that run outside of jit into one jitted function; then only this function "
    "is compiled"
)
_CACHE_SUGGESTION = (
    "set JAX_COMPILATION_CACHE_DIR, and set JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS to less "
    "than its default of 1; measure the saving with jaxmeter cache"
)


def read_run(
    folder: Path, command: Iterable[str], exit_code: int, began: float, ended: float
) -> WatchedRun:
    """Return the record of a run from the events that its processes wrote into files in ``folder``.

    ``began`` and ``ended`` are in seconds since 1970.
    """
    processes: list[RunProcess] = []
    compiles: list[RunCompile] = []
    profiles: list[CompileProfile] = []
    profiling: list[tuple[float, float]] = []  # the interval in which each process profiles
    histories = sorted(_histories(folder), key=lambda events: events[0]["time"])
    for number, events in enumerate(histories, 1):
        processes.append(_process(number, events, began))
        compiles += _compiles(number, events, began)
        for event in events:
            if event["event"] == "profile":
                profiles.append(CompileProfile.from_json(event["profile"]))
            elif event["event"] == "profiled":
                profiling.append((event["time"] - event["seconds"], event["time"]))
    compiles.sort(key=lambda one: one.intervals[-1].end_seconds)
    return WatchedRun(
        command=tuple(command),
        exit_code=exit_code,
        started_utc=datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
        seconds=ended - began - union(profiling),
        processes=tuple(processes),
        compiles=tuple(compiles),
        savings=_savings(compiles),
        profiles=tuple(profiles),
        busy_seconds=union(
            (part.start_seconds, part.end_seconds) for one in compiles for part in one.intervals
        ),
    )


def _histories(folder: Path) -> Iterator[list[Event]]:
    """Yield the events of each process, without truncated lines.

    If the file of a process cannot be read, a start event is made from the file's name.
    """
    for file in folder.glob("*.jsonl"):
        events, problem = [], ""
        try:
            text = read_file(file, TEXT_BYTES).decode(errors="replace")
        except (OSError, FileError) as error:
            text, problem = "", f"the events of a process cannot be read: {error}"
            pid, _, nanoseconds = file.stem.partition("-")
            unknown = {"parent": 0, "forked": False, "argv": [], "executable": "", "python": ""}
            start = {"event": "start", "pid": int(pid), "time": int(nanoseconds) / 1e9}
            events.append(start | unknown)
        for line in text.splitlines():
            try:
                events.append(json.loads(line))
            except ValueError:
                problem = "an event was cut off"
        if not events or events[0]["event"] != "start":
            continue
        if problem:
            events.append({"event": "problem", "time": events[-1]["time"], "text": problem})
        yield events


def _process(number: int, events: list[Event], began: float) -> RunProcess:
    start, last = events[0], events[-1]
    # A forked process inherits JAX, so the event of the import is in the parent's file.
    jax = next((event["version"] for event in events if event["event"] == "jax"), "")
    if not jax and start["forked"] and any(event["event"] in STAGES for event in events):
        jax = "of its parent"
    is_ended = any(event["event"] == "end" for event in events)
    return RunProcess(
        number=number,
        pid=start["pid"],
        parent=start["parent"],
        forked=start["forked"],
        argv=tuple(start["argv"]),
        executable=start["executable"],
        python=start["python"],
        jax=jax,
        start_seconds=start["time"] - began,
        end_seconds=last["time"] - began,
        ending="ended" if is_ended else "without notice",
        recorder_seconds=sum(event.get("recorder_seconds", 0.0) for event in events),
        problems=tuple(event["text"] for event in events if event["event"] == "problem"),
    )


def _continues(event: Event, draft: Draft) -> bool:
    """Return whether an event can be a later stage of the compile that a draft describes."""
    is_later = STAGES.index(draft[-1]["event"]) < STAGES.index(event["event"])
    return draft[0]["name"] == event["name"] and is_later


def _compiles(process: int, events: list[Event], began: float) -> Iterator[RunCompile]:
    """Yield the compiles of a process, each combined from the events of its stages."""
    drafts: list[Draft] = []
    known: dict[tuple[str, str], int] = {}  # number of clearings before a function's last compile
    clearings: list[str] = []
    for event in events:
        if event["event"] == "cleared":
            clearings.append(_line_of(event["stack"]))
        if event["event"] not in STAGES:
            continue
        draft = None
        if event["event"] != "trace":
            same = (one for one in reversed(drafts) if one[0]["thread"] == event["thread"])
            draft = next((one for one in same if _continues(event, one)), None)
        if draft is None:
            key = event["name"], event["defined"]
            was_cleared = known.get(key, len(clearings)) < len(clearings)
            event["cleared"] = clearings[-1] if was_cleared else ""
            known[key] = len(clearings)
            drafts.append([event])
        else:
            draft.append(event)
    own = _own_seconds(drafts)
    counted: Counter[str] = Counter()
    for draft, seconds in zip(drafts, own, strict=True):
        name = draft[0]["name"]
        counted[name] += 1
        yield _compile(draft, process, f"{name}#{counted[name]}", seconds, began)


def _compile(draft: Draft, process: int, id: str, own: float, began: float) -> RunCompile:
    first = draft[0]
    merged = {name: value for event in draft for name, value in event.items()}
    cache = merged.get("cache", {})
    causes = [Difference(*cause) for event in draft for cause in event["causes"]]
    why: Any = next((e["why"] for e in draft if e["why"] != "not known"), "not known")
    if causes:
        why = "again"  # compiled again without a trace, such as for other devices
    intervals = (
        RunInterval(e["event"], e["time"] - e["seconds"] - began, e["time"] - began) for e in draft
    )
    return RunCompile(
        id=id if process == 1 else f"{id} of process {process}",
        function=first["name"],
        defined=first["defined"],
        process=process,
        thread=first["thread"],
        why=why,
        causes=tuple(dict.fromkeys(causes)),
        after_clearing=first["cleared"] if why == "again" and not causes else "",
        stack=tuple(Line(*line) for line in first["stack"]),
        intervals=tuple(intervals),
        own_seconds=own,
        cache=cache.get("outcome", ""),
        cache_reason=cache.get("reason", ""),
        cache_key=cache.get("key", ""),
        cache_key_parts=cache.get("parts", {}),
        equations_count=merged.get("equations"),
        captured_bytes=merged.get("captured_bytes"),
        captured_count=merged.get("captured_count"),
        captured=tuple(
            RunCapture(**array | {"shape": tuple(array["shape"])})
            for array in merged.get("captured", ())
        ),
    )


def _own_seconds(drafts: list[Draft]) -> list[float]:
    """Return the seconds of each compile, without the seconds of compiles nested inside it."""
    stages: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    for number, draft in enumerate(drafts):
        for event in draft:
            start = event["time"] - event["seconds"]
            stages[event["thread"]].append((start, event["time"], number))
    own = [0.0] * len(drafts)
    for of_thread in stages.values():
        of_thread.sort(key=lambda stage: (stage[0], -stage[1]))
        starts, ends, numbers = zip(*of_thread, strict=True)
        for at, start, end in innermost(starts, ends):
            own[numbers[at]] += end - start
    return own


def _line_of(stack: list[Any]) -> str:
    return place_text(f"{stack[0][0]}:{stack[0][1]}") if stack else "a line that is not known"


def _savings(compiles: Sequence[RunCompile]) -> tuple[Saving, ...]:
    """Return the changes that would save time, the largest saving first.

    If the persistent cache can save time in later runs, this saving is the last entry. The other
    entries give seconds of this run, and each compile counts in at most one of these entries.
    """
    again: dict[tuple[str, ...], list[RunCompile]] = defaultdict(list)
    outside: dict[str, list[RunCompile]] = defaultdict(list)
    for one in compiles:
        if one.why == "again":
            again[_kind(one)].append(one)
        elif one.is_jax:
            author = one.author
            place = place_text(author.source) if author else "lines that are not known"
            outside[place].append(one)
    found = [
        _saving("compiled again", f"{name}: {what}", group, suggestion)
        for (name, _, what, suggestion), group in again.items()
    ]
    found += [
        _saving("outside of jit", f"operations outside of jit at {place}", group, _JIT_SUGGESTION)
        for place, group in outside.items()
    ]
    found.sort(key=lambda one: -one.seconds)
    missed = [one for one in compiles if one.cache in ("off", "not written")]
    if missed:
        seconds = sum(one.stage_seconds("compile") for one in missed)
        what = "compiles that a later run could read from the persistent cache"
        found.append(Saving("persistent cache", what, seconds, len(missed), _CACHE_SUGGESTION))
    return tuple(found)


def _kind(one: RunCompile) -> tuple[str, ...]:
    if one.after_clearing:
        suggestion = "do not clear JAX's caches between calls of the same functions"
        return "functions called again", "", one.reason, suggestion
    if not one.causes:
        suggestion = (
            "look for caches that are cleared, and for static values that do not equal themselves"
        )
        return one.function, one.defined, one.reason, suggestion
    cause = one.causes[0]
    what = f"{cause.kind} of {cause.argument}" if cause.argument != one.function else cause.kind
    if cause.kind == "option":
        what = f"option {cause.argument}"
    return one.function, one.defined, what, cause.suggestion


def _saving(kind: Any, what: str, group: list[RunCompile], suggestion: str) -> Saving:
    seconds = sum(one.own_seconds for one in group)
    count = sum(bool(one.cache) for one in group)  # without traces that led to no compile
    return Saving(kind, what, seconds, count, suggestion)
