"""The plan of a measurement: which cases are measured, how often and in which order.

Every process that asv starts imports this module, so it needs the standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

GRIDS = ("small", "quick", "full")
GRID_VARIABLE = "VCJAX_BENCH_GRID"
RESUME_VARIABLE = "VCJAX_BENCH_RESUME"
"""If it is 1, suites keep records of earlier runs; otherwise they measure every case again."""
SCRATCH_VARIABLE = "VCJAX_BENCH_SCRATCH"

# Workers override settings of the caller that would change a measurement: 12 digits need 64-bit
# floats, a persistent cache would hide compile times, and flags change programs.
WORKER_ENVIRONMENT = {
    "JAX_ENABLE_X64": "1",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
    "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "0",
    "XLA_FLAGS": "",
}

Scalar = str | int | float | bool | None

# The small grid, to measure dozens of commits: cases of the quick grid, with their rounds.
SMALL_ROUNDS = {
    "casing_variants/w7x-argument-d3": 3,
    "casing_variants/w7x-argument-d6": 3,
    "casing_variants/w7x-closure-d3": 1,
    "memory_sweep/field-cauto-tauto": 2,
    "memory_sweep/gradient-cauto-tauto": 1,
}


@dataclass(frozen=True, kw_only=True)
class PlannedCase:
    """A point of a suite's grid: a function, its arguments, and the way to measure it.

    Parameters
    ----------
    name : str
        ``suite/point``, which is also the folder of the case's records in the store.
    target : str
        ``package.module:function``, called in the worker with `params`; returns a ``Case``.
    params : mapping
        Keyword arguments of the target, JSON scalars.
    rounds : int
        Worker processes to run; their medians are the samples. 0 leaves the case unmeasured.
    repeat : int
        Steady-state calls timed in each process.
    max_seconds : float
        Steady-state calls stop after this time, but not before the third.
    compiles : int
        How often each process traces, lowers and compiles.
    profile_compile : bool
        Whether the process of round 0 also makes a compile profile, from which a review names
        source lines.
    builds : int, optional
        Number of rounds that compile. Later rounds take the program from the compilation cache
        and have only steady-state calls. If None, all rounds compile.
    timeout_seconds : float
        Limit for one process; a process that exceeds it gets the status ``timeout``.
    env : mapping
        Environment variables on top of `WORKER_ENVIRONMENT`, set before anything is imported.
    one_cpu : bool
        Bind the worker to a single CPU, where the system can.
    preparation : PlannedCase, optional
        A case that is measured once in a run, in its own process, before the first process of
        this case. Its results go into the folder that `SCRATCH_VARIABLE` names, so that no
        process of this case repeats work that all of them need.
    requires : mapping
        Optional packages by the name of their module; the case is skipped if one is missing.
    """

    name: str
    target: str
    params: Mapping[str, Scalar]
    rounds: int
    repeat: int = 10
    max_seconds: float = 10.0
    compiles: int = 1
    builds: int | None = None
    profile_compile: bool = False
    timeout_seconds: float = 300.0
    env: Mapping[str, str] = field(default_factory=dict)
    one_cpu: bool = False
    preparation: PlannedCase | None = None
    requires: Mapping[str, str] = field(default_factory=dict)

    def is_cached(self, round_index: int) -> bool:
        """Return whether a round takes its program from the compilation cache."""
        return self.builds is not None and round_index >= self.builds


def grid_from_environment() -> str:
    """Return the grid that ``VCJAX_BENCH_GRID`` names, "quick" if it is unset.

    Raises
    ------
    ValueError
        If the variable does not name a grid.
    """
    grid = os.environ.get(GRID_VARIABLE, "quick")
    if grid not in GRIDS:
        raise ValueError(f"{GRID_VARIABLE}={grid!r} is not a grid: set it to one of {GRIDS}")
    return grid


def interleaved(cases: Sequence[PlannedCase]) -> Iterator[tuple[PlannedCase, int]]:
    """Yield every (case, round) of the plan, ordered in passes over the cases.

    A machine's speed drifts within minutes. With passes the drift widens the spread of all cases
    equally and favours none. Every second pass is reversed, which removes a linear drift.

    The first pass has the first round of every case. The other rounds of a case with few rounds
    come in the last passes. If a budget ends the plan early, the most important cases, which have
    many rounds, then have most of their rounds.
    """
    passes = max((case.rounds for case in cases), default=0)
    for number in range(passes):
        step = 1 if number % 2 == 0 else -1
        for case in cases[::step]:
            round_index = number - (passes - case.rounds) if number else 0
            if round_index > 0 or (number == 0 and case.rounds > 0):
                yield case, round_index
