"""Suites for habits and for kinds of loops; a habit is a common way of using `jax.jit`."""

from __future__ import annotations

from typing import Any

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

HABITS = (
    "side_effect_in_jit",
    "debug_callback",
    "io_callback",
    "shapes",
    "eager_selu",
    "jitted_selu",
    "static_values",
    "static_forms",
    "temporary_function",
    "named_function",
    "temporary_partial",
    "bound_method",
    "loop_around_jit",
    "while_loop",
    "cond",
    "make_jaxpr_first",
)
LOOPS = ("python", "fori_loop", "scan")


def _case(suite: str, point: str, function: str, grid: str, params: dict[str, Any]) -> PlannedCase:
    return PlannedCase(
        name=f"{suite}/{point}",
        target=f"benchmarks.cases.habits:{function}",
        params=params,
        rounds=3 if grid == "full" else 0,
        repeat=5,
    )


class Habits(common.CaseSuite):
    """Number of runs of Python code, number of compiles, and time of the calls, for each habit.

    A habit is a common way of using `jax.jit`. The first three lessons of the workshop state such
    numbers, and asv tracks them over versions of JAX.
    """

    suite = "habits"
    params = (HABITS,)
    param_names = ("habit",)
    quantities = ("executions_count", "compiles_count", "calls_seconds")

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, name: str) -> PlannedCase:
        """Return the planned case for a habit; the case is measured only on the full grid."""
        return _case(self.suite, name, "habit", grid, {"name": name})


class Loops(common.CaseSuite):
    """Program size, compile time and run time of a loop that computes sines.

    The parameters are the kind of the loop and the number of rounds of the loop.
    """

    suite = "loops"
    params = (LOOPS, (10, 100, 1000))
    param_names = ("kind", "rounds")
    quantities = ("equations_count", *common.COMPILE_TIMES, "steady_median_seconds")

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, kind: str, rounds: int) -> PlannedCase:
        """Return the planned case for a loop; the case is measured only on the full grid."""
        params = {"kind": kind, "rounds": rounds}
        return _case(self.suite, f"{kind}-{rounds}", "loop", grid, params)
