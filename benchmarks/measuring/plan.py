"""The plan of a measurement: which cases are measured, how often and in which order.

Every process that asv starts imports this module, so the module imports only the standard library.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

GRIDS = ("small", "quick", "full")
GRID_VARIABLE = "VCJAX_BENCH_GRID"
RESUME_VARIABLE = "VCJAX_BENCH_RESUME"
"""If this variable is 1, suites keep successful records; otherwise they measure all cases again."""
SCRATCH_VARIABLE = "VCJAX_BENCH_SCRATCH"

TILED = ("B", "BOFF", "GRADB")  # operators of vcjax with variables for their tile sizes
# These variables override settings of the caller that would change a measurement. Many digits need
# 64-bit floats. A persistent cache would hide compile times. Flags of XLA, and other tile sizes of
# vcjax, would change programs.
WORKER_ENVIRONMENT = {
    "JAX_ENABLE_X64": "1",
    "JAX_ENABLE_COMPILATION_CACHE": "false",
    "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "0",
    "XLA_FLAGS": "",
    **{f"VCJAX_CHUNK_{name}{side}": "" for name in TILED for side in ("", "_SRC", "_TRG")},
}

Scalar = str | int | float | bool | None

# The small grid is for measuring dozens of commits. It has these cases of the quick grid, with
# these numbers of rounds.
SMALL_ROUNDS = {
    "casing_variants/w7x-argument-d3": 3,
    "casing_variants/w7x-argument-d6": 3,
    "casing_variants/w7x-closure-d3": 1,
    "memory_sweep/field-cauto-tauto": 2,
    "memory_sweep/gradient-cauto-tauto": 1,
}


@dataclass(frozen=True, kw_only=True)
class PlannedCase:
    """A case that a suite plans to measure: a function, its arguments, and how to measure it."""

    name: str
    """``suite/point``, such as ``chunk_sweep/w7x-d6-c256-t20``; also the folder in the store."""
    target: str
    """``package.module:function``; the worker calls it with `params` to get a `jaxmeter.Case`."""
    params: Mapping[str, Scalar]
    rounds: int
    """Number of processes; the median time of each process is one sample. 0 = not measured."""
    repeat: int = 10
    """Number of steady-state calls that each process times."""
    max_seconds: float = 10.0
    """Steady-state calls stop after this time, but not before the third call."""
    compiles: int = 1
    """Number of times that a process traces, lowers and compiles, in rounds that compile."""
    builds: int | None = None
    """Rounds 0 to ``builds - 1`` compile; None means that all rounds compile.

    Later rounds take the program from the compilation cache and measure only steady-state calls.
    """
    profile_compile: bool = False
    """Whether round 0 also makes a compile profile, which shows the cost of source lines."""
    timeout_seconds: float = 300.0
    """Limit for one process; the record of a process above this limit has the status "timeout"."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of the worker, in addition to `WORKER_ENVIRONMENT`."""
    one_cpu: bool = False
    """Whether to bind the worker to a single CPU, if the system can do so."""
    preparation: PlannedCase | None = None
    """Another case, which computes data for all processes of this case.

    The preparation is measured once in a run, before the first process of this case. It stores the
    data in the folder that the environment variable `SCRATCH_VARIABLE` names.
    """
    requires: Mapping[str, str] = field(default_factory=dict)
    """Optional packages by module name; the case is skipped if a module cannot be found."""

    def is_cached(self, round_index: int) -> bool:
        """Return whether a round, given by its number, takes its program from the cache."""
        return self.builds is not None and round_index >= self.builds


def grid_from_environment() -> str:
    """Return the grid that ``VCJAX_BENCH_GRID`` names, or "quick" if the variable is not set."""
    grid = os.environ.get(GRID_VARIABLE, "quick")
    if grid not in GRIDS:
        raise ValueError(
            f"{GRID_VARIABLE}={grid!r} names no grid; set the variable to one of {', '.join(GRIDS)}"
        )
    return grid


def interleaved(cases: Sequence[PlannedCase]) -> Iterator[tuple[PlannedCase, int]]:
    """Yield every pair of a case and a round number, ordered in passes over the cases.

    A machine's speed drifts within minutes. With passes over all cases, the drift affects the times
    of every case in a similar way. Every second pass is reversed, so that a linear drift nearly
    cancels.

    The first pass has the first round of every case. The other rounds of a case with few rounds
    come in the last passes. If a budget ends the plan early, the cases with many rounds, which are
    the most important cases, have most of their rounds.
    """
    passes = max((case.rounds for case in cases), default=0)
    for number in range(passes):
        step = 1 if number % 2 == 0 else -1
        for case in cases[::step]:
            round_index = number - (passes - case.rounds) if number else 0
            if round_index > 0 or (number == 0 and case.rounds > 0):
                yield case, round_index
