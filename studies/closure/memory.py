"""Estimate the memory that each case needs, and skip cases that need too much.

The size of a simulated system determines the bytes of its arrays. A process has several copies of
each array in memory. The number of copies was measured on a CPU with systems of 64 to 192 pixels a
side: once for arrays that are passed, and once for arrays that are captured and compiled.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psutil

import jaxmeter
from benchmarks.measuring.plan import PlannedCase
from benchmarks.measuring.runner import RunCase
from studies.harness import ROOT

PROCESS_BYTES = 0.8e9
"""Memory of a process that imports JAX and compiles the program for the smallest image."""
COPIES_OF_ARGUMENT = 2.5
COPIES_OF_CLOSURE = 5.5


def system_bytes(size: int) -> int:
    """Return the bytes of the large arrays of a system with images of `size` pixels a side."""
    quarter = size // 2 + 1
    maps = quarter * quarter + 324 + 4 * 12 + 4 * 4 + 1
    kepler = 2 * 513 * 2049
    return 4 * (maps * size * size + kepler)


def needed_by(variant: str, array_bytes: float) -> float:
    """Return the estimated peak memory, in bytes, of a process for a variant of the program.

    `array_bytes` is the size of the program's arrays.
    """
    copies = COPIES_OF_CLOSURE if variant == "closure" else COPIES_OF_ARGUMENT
    return PROCESS_BYTES + copies * array_bytes


def needs(cases: Sequence[PlannedCase]) -> dict[str, float]:
    """Return the estimated peak memory, in bytes, of each case and of its preparation, by name.

    Cases of the virtual casing have no estimate.
    """
    found = {}
    for case in cases:
        params: Mapping[str, Any] = case.params
        if "size" in params or "array_bytes" in params:
            size = system_bytes(params["size"]) if "size" in params else params["array_bytes"]
            found[case.name] = needed_by(params["variant"], size)
            if case.preparation is not None:
                found[case.preparation.name] = needed_by("preparation", size)
    return found


def within_memory(
    needs: Mapping[str, float],
    run_case: RunCase = jaxmeter.run_case,
    available: Callable[[], float] = lambda: psutil.virtual_memory().available,
) -> RunCase:
    """Return a function that runs a case if enough memory is available, and else skips the case.

    `needs` has the bytes that each case needs, by the case's name. Cases that are not in `needs`
    are always run. This checkout is added to the import path of the worker processes.
    """

    def run(case: jaxmeter.BenchmarkCase) -> jaxmeter.Record:
        need, have = needs.get(case.name, 0.0), available()
        if need <= have:
            return run_case(dataclasses.replace(case, path=(*case.path, str(ROOT))))
        message = (
            f"needs {jaxmeter.bytes_text(need)} of memory, but {jaxmeter.bytes_text(have)} are "
            "available; close other programs, or use a smaller grid"
        )
        failure = jaxmeter.Failure("start", "NotEnoughMemory", message)
        return jaxmeter.Record(case.name, "skipped", case.target, dict(case.params), failure)

    return run
