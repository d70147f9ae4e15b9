"""What the threads of the host were about: compiling, dispatching, transferring, waiting."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd

from jaxmeter._tables.schemas import frame, most
from jaxmeter._tables.self_time import self_times
from jaxmeter._tables.xplane import Trace

# The first that fits an event's name or its thread's; frames of Python begin with $.
_PHASES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (phase, re.compile(pattern))
    for phase, pattern in (
        ("wait", r"block_until_ready|try_to_block|\(wait for|::Await"),
        ("trace", r"^\$\S*pjit\.py:\d+ _trace_for_jit|trace_to_jaxpr"),
        ("lower", r"lower_sharding_computation|lower_jaxpr_to_module|_pjit_lower"),
        ("compile", r"backend_compile|compile_or_get_cached|Client::Compile|Compiler::|^Codegen$"),
        (
            "transfer",
            r"DevicePut|BufferFromHost|CopyTo|TransferTo|TransferFrom|^[HD]2[HD]\b|[Mm]emcpy"
            r"|batched_device_put",
        ),
        ("dispatch", r"^PjitFunction\(|ExecuteHelper|ExecuteSharded|ExecutePrepare"),
    )
)
_COMPILING_THREADS = re.compile(r"codegen|[Cc]ompiler")
_POOL = re.compile(r"/-?\d+$")


def phases(trace: Trace) -> pd.DataFrame:
    """Time of each phase on each thread, pools of threads summed."""
    phase_of = [
        next((k for k, (_, pattern) in enumerate(_PHASES) if pattern.search(name)), -1)
        for name in trace.names
    ]
    names = [phase for phase, _ in _PHASES] + ["execute"]
    compiling, executing = names.index("compile"), names.index("execute")
    seconds: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0])
    for line in trace.lines:
        if line.is_device:
            continue
        which = np.array(phase_of, dtype=np.int64)[line.names]
        if _COMPILING_THREADS.search(line.name):
            which = np.full_like(which, compiling)
        which = np.where(line.ops >= 0, executing, which)
        told = np.flatnonzero(which >= 0)
        own, _ = self_times(line.starts[told], line.durations[told])
        for phase in set(which[told].tolist()):
            into = seconds[names[phase], _POOL.sub("", line.name)]
            into[0] += own[which[told] == phase].sum()
            into[1] += int((which[told] == phase).sum())
    rows: list[dict[str, Any]] = [
        {"phase": phase, "thread": thread, "seconds": total, "events_count": int(count)}
        for (phase, thread), (total, count) in seconds.items()
    ]
    return most(frame("trace_phases", rows), "seconds")
