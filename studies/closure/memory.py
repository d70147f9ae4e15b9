"""How much memory a case of the closure study needs, foretold, so that it is skipped in time.

The bytes of a system follow from its size. What a process needs on top of them was measured at 64
to 192 pixels on CPU: the host's copy and the device's while a system is handed over, then, of each
byte that is closed over, the copies that lowering and compiling make.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import jaxmeter

GIGABYTE = 1e9
PROCESS_BYTES = 0.8e9
"""Of a process with JAX that compiles the smallest frame."""
COPIES_OF_ARGUMENT = 2.5
COPIES_OF_CLOSURE = 5.5


def system_bytes(size: int) -> int:
    """Bytes of all large arrays of a coronagraph with `size` pixels a side, single precision."""
    quarter = size // 2 + 1
    maps = quarter * quarter + 324 + 4 * 12 + 4 * 4 + 1
    kepler = 2 * 513 * 2049
    return 4 * (maps * size * size + kepler)


def needed_by(variant: str, array_bytes: float) -> float:
    """The highest resident set to expect of a process whose arrays have so many bytes."""
    copies = COPIES_OF_CLOSURE if variant == "closure" else COPIES_OF_ARGUMENT
    return PROCESS_BYTES + copies * array_bytes


def available_bytes(path: Path = Path("/proc/meminfo")) -> float | None:
    """Memory that can be had without swapping; None where the system does not tell."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return float(found[0]) * 1024 if found else None


def within_memory(
    needs: Mapping[str, float],
    run_case: Callable[[jaxmeter.BenchmarkCase], jaxmeter.Record] = jaxmeter.run_case,
    available: Callable[[], float | None] = available_bytes,
) -> Callable[[jaxmeter.BenchmarkCase], jaxmeter.Record]:
    """A `jaxmeter.run_case` that skips the cases that would not fit.

    Parameters
    ----------
    needs : mapping
        Bytes by the names of cases; those not named are run.
    run_case, available : callables
        Injected by tests.
    """

    def run(case: jaxmeter.BenchmarkCase) -> jaxmeter.Record:
        need, have = needs.get(case.name, 0.0), available()
        if have is None or need <= have:
            return run_case(case)
        message = f"needs {need / GIGABYTE:.1f} GB, {have / GIGABYTE:.1f} GB are available"
        record = jaxmeter.Record(name=case.name, status="skipped", target=case.target)
        return dataclasses.replace(
            record,
            params=dict(case.params),
            failure=jaxmeter.Failure("start", "NotEnoughMemory", message),
        )

    return run
