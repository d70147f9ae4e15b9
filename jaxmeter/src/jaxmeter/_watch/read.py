"""Read the events of all processes of a program, and combine the events of each compile."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
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
    WatchedRun,
)
from jaxmeter._render.units import place_text
from jaxmeter._trace.intervals import innermost
from jaxmeter._watch.savings import savings
from jaxmeter.errors import FileError

Event = dict[str, Any]


def read_run(
    folder: Path, command: Iterable[str], exit_code: int, began: float, ended: float
) -> WatchedRun:
    """Return the record of a run from the events that its processes wrote into files in `folder`.

    `began` and `ended` are the times of the program's start and end, in seconds since 1970.
    """
    processes: list[RunProcess] = []
    compiles: list[RunCompile] = []
    profiles: list[CompileProfile] = []
    profiled = 0.0
    histories = sorted(_histories(folder), key=lambda events: events[0]["time"])
    for number, events in enumerate(histories, 1):
        processes.append(_process(number, events, began))
        compiles += _compiles(number, events, began)
        for event in events:
            if event["event"] == "profile":
                profiles.append(CompileProfile.from_json(event["profile"]))
            elif event["event"] == "profiled":
                profiled = max(profiled, event["seconds"])  # processes may profile at once
    compiles.sort(key=lambda one: one.intervals[-1].end_seconds)
    return WatchedRun(
        command=tuple(command),
        exit_code=exit_code,
        started_utc=datetime.fromtimestamp(began, UTC).isoformat(timespec="seconds"),
        seconds=ended - began - profiled,
        processes=tuple(processes),
        compiles=tuple(compiles),
        savings=savings(compiles),
        profiles=tuple(profiles),
        busy_seconds=_busy_seconds(compiles),
    )


def _histories(folder: Path) -> Iterator[list[Event]]:
    """Yield the events of each process, without truncated lines."""
    for file in folder.glob("*.jsonl"):
        events, problem = [], ""
        try:
            text = read_file(file, TEXT_BYTES).decode(errors="replace")
        except (OSError, FileError) as error:
            text, problem = "", f"the events of a process cannot be read: {error}"
        for line in text.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                problem = "an event was cut off"
                continue
            if isinstance(event, dict) and {"event", "time"} <= event.keys():
                events.append(event)
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


@dataclasses.dataclass
class _Draft:
    """The events of one compile that have been read so far."""

    events: list[Event]
    cleared: str

    def takes(self, event: Event) -> bool:
        """Return whether an event is a later stage of this compile."""
        last = STAGES.index(self.events[-1]["event"])
        return self.events[0]["name"] == event["name"] and last < STAGES.index(event["event"])


def _compiles(process: int, events: list[Event], began: float) -> Iterator[RunCompile]:
    """Yield the compiles of a process, each combined from the events of its stages."""
    drafts: list[_Draft] = []
    known: dict[tuple[str, str], int] = {}  # number of clearings before a function's last compile
    clearings: list[str] = []
    for event in events:
        if event["event"] == "cleared":
            clearings.append(_line_of(event["stack"]))
        if event["event"] not in STAGES:
            continue
        draft = None
        if event["event"] != "trace":
            same = (one for one in reversed(drafts) if one.events[0]["thread"] == event["thread"])
            draft = next((one for one in same if one.takes(event)), None)
        if draft is None:
            key = event["name"], event["defined"]
            cleared = clearings[-1] if known.get(key, len(clearings)) < len(clearings) else ""
            known[key] = len(clearings)
            drafts.append(_Draft([event], cleared))
        else:
            draft.events.append(event)
    own = _own_seconds(drafts)
    counted: Counter[str] = Counter()
    for draft, seconds in zip(drafts, own, strict=True):
        name = draft.events[0]["name"]
        counted[name] += 1
        yield _compile(draft, process, f"{name}#{counted[name]}", seconds, began)


def _compile(draft: _Draft, process: int, id: str, own: float, began: float) -> RunCompile:
    first = draft.events[0]
    merged = {name: value for event in draft.events for name, value in event.items()}
    cache = merged.get("cache", {})
    causes = [Difference(*cause) for event in draft.events for cause in event["causes"]]
    why: Any = next((e["why"] for e in draft.events if e["why"] != "not known"), "not known")
    if causes:
        why = "again"  # compiled again without a trace, such as for other devices
    intervals = (
        RunInterval(e["event"], e["time"] - e["seconds"] - began, e["time"] - began)
        for e in draft.events
    )
    return RunCompile(
        id=id if process == 1 else f"{id} of process {process}",
        function=first["name"],
        defined=first["defined"],
        process=process,
        thread=first["thread"],
        why=why,
        causes=tuple(dict.fromkeys(causes)),
        after_clearing=draft.cleared if why == "again" and not causes else "",
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


def _own_seconds(drafts: list[_Draft]) -> list[float]:
    """Return the seconds of each compile, without other compiles that ran during this compile."""
    stages: dict[int, list[tuple[float, float, int]]] = defaultdict(list)
    for number, draft in enumerate(drafts):
        for event in draft.events:
            start = event["time"] - event["seconds"]
            stages[event["thread"]].append((start, event["time"], number))
    own = [0.0] * len(drafts)
    for of_thread in stages.values():
        of_thread.sort(key=lambda stage: (stage[0], -stage[1]))
        starts, ends, numbers = zip(*of_thread, strict=True)
        for at, start, end in innermost(starts, ends):
            own[numbers[at]] += end - start
    return own


def _busy_seconds(compiles: list[RunCompile]) -> float:
    parts = [part for one in compiles for part in one.intervals]
    parts.sort(key=lambda part: part.start_seconds)
    pieces = innermost([p.start_seconds for p in parts], [p.end_seconds for p in parts])
    return sum(end - start for _, start, end in pieces)


def _line_of(stack: list[Any]) -> str:
    return place_text(f"{stack[0][0]}:{stack[0][1]}") if stack else "a line that is not known"
