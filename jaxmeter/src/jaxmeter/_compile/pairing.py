"""Pair the tasks of the compiler's threads with the kernels that these tasks compiled.

The tasks have no names. XLA writes the object file of a kernel at the end of the kernel's task. The
times of the files therefore show which task belongs to which kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from jaxmeter._compile.record import Interval

TASK = "TaskDispatcher::dispatch"
_FILE_CLOCK_SECONDS = 5e-3
"""The largest error of a file's time. File times come from a coarser clock than task times."""
_LEAST_SECONDS = 1e-3
_NEVER = 1e9


def pair(tasks: Sequence[Interval], written: Mapping[str, float]) -> dict[int, str]:
    """Return the kernel of each task, by the position of the task in ``tasks``.

    ``written`` gives the time when the object file of each kernel was written, in seconds on the
    clock of the tasks. A file can belong only to a task that was running when the file was written,
    to within 5 ms. Tasks without a kernel are left out. The pairing minimises the sum of the times
    between the writing of each file and the end of its task.
    """
    kernels = list(written)
    if not kernels or not tasks:
        return {}
    at = np.array([written[kernel] for kernel in kernels])[:, None]
    starts, ends = (np.array([getattr(task, end) for task in tasks]) for end in ("start", "end"))
    waits = np.abs(ends[None] - at)
    # Other tasks, such as linking, take microseconds.
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
