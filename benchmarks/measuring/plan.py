"""What shall be measured: cases, how often each, and in which order.

Imported by every process that asv starts, so: standard library only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

GRIDS = ("small", "quick", "full")
GRID_VARIABLE = "VCJAX_BENCH_GRID"
SCRATCH_VARIABLE = "VCJAX_BENCH_SCRATCH"

# The caller's settings that would change what is measured are set again in every worker: 64-bit
# floats are what 12 digits need, a persistent cache would hide the compiler, flags change programs.
WORKER_ENVIRONMENT = {
    "JAX_ENABLE_X64": "1",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
    "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "0",
    "XLA_FLAGS": "",
}

Scalar = str | int | float | bool | None

# The small grid: cases of the quick one, with their rounds, to follow vcjax over dozens of commits.
SMALL_ROUNDS = {
    "casing_variants/w7x-argument-d3": 3,
    "casing_variants/w7x-argument-d6": 3,
    "casing_variants/w7x-closure-d3": 1,
    "memory_sweep/field-cauto-tauto": 2,
    "memory_sweep/gradient-cauto-tauto": 1,
}


@dataclass(frozen=True, kw_only=True)
class PlannedCase:
    """One point of a suite's grid: a function, its arguments, and how to measure it.

    Parameters
    ----------
    name : str
        ``suite/point``, also the folder of its records in the store.
    target : str
        ``package.module:function``, called in the worker with `params`; makes a ``jaxmeter.Case``.
    params : mapping
        Keyword arguments of the target, JSON scalars.
    rounds : int
        Worker processes to run; their medians are the samples. 0 leaves the case unmeasured.
    repeat : int
        Steady-state calls timed in each process.
    max_seconds : float
        Steady-state calls stop after this time, though not before the third.
    builds : int
        How often each process traces, lowers and compiles.
    timeout_seconds : float
        Limit for one process; beyond it the record's status is ``timeout``.
    env : mapping
        Environment variables on top of `WORKER_ENVIRONMENT`, set before anything is imported.
    one_cpu : bool
        Bind the worker to a single CPU, where the system can.
    preparation : PlannedCase, optional
        Measured in a process of its own before the first process of this case, once a run; leaves
        what it made in the folder that `SCRATCH_VARIABLE` names. So every process of the case
        starts alike, and none spends its time on what all share.
    requires : mapping
        Optional packages by the name of their module; where one is missing the case is skipped.
    """

    name: str
    target: str
    params: Mapping[str, Scalar]
    rounds: int
    repeat: int = 10
    max_seconds: float = 10.0
    builds: int = 1
    timeout_seconds: float = 300.0
    env: Mapping[str, str] = field(default_factory=dict)
    one_cpu: bool = False
    preparation: PlannedCase | None = None
    requires: Mapping[str, str] = field(default_factory=dict)


def grid_from_environment() -> str:
    """The grid that ``VCJAX_BENCH_GRID`` names, "quick" where it is unset.

    Raises
    ------
    ValueError
        Where the variable names no grid.
    """
    grid = os.environ.get(GRID_VARIABLE, "quick")
    if grid not in GRIDS:
        raise ValueError(f"{GRID_VARIABLE}={grid!r} is no grid: set it to one of {GRIDS}")
    return grid


def interleaved(cases: Sequence[PlannedCase]) -> Iterator[tuple[PlannedCase, int]]:
    """Every (case, round) of the plan, ordered in passes over the cases.

    A machine's speed drifts within minutes. Pass by pass every case meets each stretch of it, so
    the drift widens all cases' spread alike instead of favouring some; turning the order round in
    every second pass removes a drift that is linear in time.

    The first pass has the first round of every case. The others of a case with few rounds come in
    the last passes, so that those of the cases that matter most, which have many, are through
    where a budget cuts the plan short.
    """
    passes = max((case.rounds for case in cases), default=0)
    for number in range(passes):
        step = 1 if number % 2 == 0 else -1
        for case in cases[::step]:
            round_index = number - (passes - case.rounds) if number else 0
            if round_index > 0 or (number == 0 and case.rounds > 0):
                yield case, round_index
