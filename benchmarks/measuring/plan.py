"""Plan what is measured: cases, how often each, and in which order.

Every process that asv starts imports this module, so it needs the standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

GRIDS = ("small", "quick", "full")
GRID_VARIABLE = "VCJAX_BENCH_GRID"
RESUME_VARIABLE = "VCJAX_BENCH_RESUME"
"""With 1, suites keep records of earlier runs; asv itself always measures what it is asked for."""
SCRATCH_VARIABLE = "VCJAX_BENCH_SCRATCH"

# Settings of the caller that would change a measurement are set again in every worker: 12 digits
# need 64-bit floats, a persistent cache would hide compile times, flags change programs.
WORKER_ENVIRONMENT = {
    "JAX_ENABLE_X64": "1",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
    "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "0",
    "XLA_FLAGS": "",
}

Scalar = str | int | float | bool | None

# The small grid: cases of the quick one with their rounds, to measure dozens of commits.
SMALL_ROUNDS = {
    "casing_variants/w7x-argument-d3": 3,
    "casing_variants/w7x-argument-d6": 3,
    "casing_variants/w7x-closure-d3": 1,
    "memory_sweep/field-cauto-tauto": 2,
    "memory_sweep/gradient-cauto-tauto": 1,
}


@dataclass(frozen=True, kw_only=True)
class PlannedCase:
    """A point of a suite's grid: a function, its arguments, and how to measure it.

    Parameters
    ----------
    name : str
        ``suite/point``, also the folder of its records in the store.
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
        Whether the process of round 0 also profiles a compile, for the lines of a review.
    builds : int, optional
        Rounds that compile; later ones take the program from the compilation cache and have only
        steady-state calls. None: all compile.
    timeout_seconds : float
        Limit for one process; a record beyond it has the status ``timeout``.
    env : mapping
        Environment variables on top of `WORKER_ENVIRONMENT`, set before anything is imported.
    one_cpu : bool
        Bind the worker to a single CPU, where the system can.
    preparation : PlannedCase, optional
        Measured once a run, in its own process before the first process of this case; its results
        go into the folder that `SCRATCH_VARIABLE` names, so that no process of the case spends
        time on work that all share.
    requires : mapping
        Optional packages by the name of their module; without them the case is skipped.
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
        If the variable names no grid.
    """
    grid = os.environ.get(GRID_VARIABLE, "quick")
    if grid not in GRIDS:
        raise ValueError(f"{GRID_VARIABLE}={grid!r} is no grid: set it to one of {GRIDS}")
    return grid


def interleaved(cases: Sequence[PlannedCase]) -> Iterator[tuple[PlannedCase, int]]:
    """Yield every (case, round) of the plan, ordered in passes over the cases.

    A machine's speed drifts within minutes. In passes the drift widens the spread of all cases
    alike instead of favouring some; reversing every second pass removes a linear drift.

    The first pass has the first round of every case. Later rounds of a case with few rounds come in
    the last passes, so that the most important cases, which have many rounds, are finished first
    if a budget ends the plan early.
    """
    passes = max((case.rounds for case in cases), default=0)
    for number in range(passes):
        step = 1 if number % 2 == 0 else -1
        for case in cases[::step]:
            round_index = number - (passes - case.rounds) if number else 0
            if round_index > 0 or (number == 0 and case.rounds > 0):
                yield case, round_index
