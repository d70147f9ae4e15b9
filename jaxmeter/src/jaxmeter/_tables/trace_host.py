"""Make the tables of the host threads in a trace: annotations, and the phases of JAX's work."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import numpy as np
import pandas as pd

from jaxmeter._tables.schemas import frame, most
from jaxmeter._trace.intervals import self_times
from jaxmeter._trace.trace import Trace

# An event belongs to the first phase with a pattern that matches its name. The names of Python
# frames begin with $.
_PHASES = {
    "wait": r"block_until_ready|try_to_block|\(wait for|::Await",
    "trace": r"^\$\S*pjit\.py:\d+ _trace_for_jit|trace_to_jaxpr",
    "lower": r"lower_sharding_computation|lower_jaxpr_to_module|_pjit_lower",
    "compile": r"backend_compile|compile_or_get_cached|Client::Compile|Compiler::|^Codegen$",
    "transfer": r"DevicePut|BufferFromHost|CopyTo|TransferTo|TransferFrom|^[HD]2[HD]\b|[Mm]emcpy"
    r"|batched_device_put",
    "dispatch": r"^PjitFunction\(|ExecuteHelper|ExecuteSharded|ExecutePrepare",
}
_NAMES = [*_PHASES, "execute"]
_COMPILING_THREADS = re.compile(r"codegen|[Cc]ompiler")
_POOL = re.compile(r"/-?\d+$")


def annotation_table(trace: Trace) -> pd.DataFrame:
    """Return the table ``trace_annotations``: number and times of events, by name and keywords.

    Events on devices are left out, and so are the operations of programs.
    """
    sums: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for line in trace.lines:
        if line.is_device:
            continue
        chosen = np.flatnonzero(line.ops < 0)
        own = self_times(line.starts[chosen], line.durations[chosen])
        for at, self_seconds in zip(chosen.tolist(), own.tolist(), strict=True):
            note = line.notes.get(at)
            keywords = "" if not note else json.dumps(note, sort_keys=True, default=str)
            of_key = sums[trace.names[line.names[at]], keywords]
            of_key[0] += 1
            of_key[1] += line.durations[at]
            of_key[2] += self_seconds
    rows = [
        {
            "name": name,
            "keywords": keywords,
            "kind": _kind(name, keywords),
            "count": int(count),
            "total_seconds": total,
            "self_seconds": own,
        }
        for (name, keywords), (count, total, own) in sums.items()
    ]
    return most(frame("trace_annotations", rows), "self_seconds")


def _kind(name: str, keywords: str) -> str:
    if name.startswith("$"):
        return "python"
    return "step" if '"step_num"' in keywords else "annotation"


def phase_table(trace: Trace) -> pd.DataFrame:
    """Return the table ``trace_phases``: the time of each phase on each thread or thread pool
    of the host."""
    of_name = np.array([_phase(name) for name in trace.names], dtype=np.int64)
    sums: dict[tuple[str, str], np.ndarray] = defaultdict(lambda: np.zeros(2))
    for line in trace.lines:
        if line.is_device:
            continue
        phase = of_name[line.names]
        if _COMPILING_THREADS.search(line.name):
            phase[:] = _NAMES.index("compile")
        phase[line.ops >= 0] = _NAMES.index("execute")
        shown = np.flatnonzero(phase >= 0)
        own = self_times(line.starts[shown], line.durations[shown])
        for number in set(phase[shown].tolist()):
            chosen = phase[shown] == number
            sums[_NAMES[number], _POOL.sub("", line.name)] += (own[chosen].sum(), chosen.sum())
    rows = [
        {"phase": phase, "thread": thread, "seconds": seconds, "events_count": int(count)}
        for (phase, thread), (seconds, count) in sums.items()
    ]
    return most(frame("trace_phases", rows), "seconds")


def _phase(name: str) -> int:
    """Return the position of an event's phase in `_NAMES`; -1 if the event belongs to no phase."""
    patterns = enumerate(_PHASES.values())
    return next((number for number, pattern in patterns if re.search(pattern, name)), -1)
