"""Suites for habits, which are common ways of using `jax.jit`, and for kinds of loops."""

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
    """Runs of Python code, compiles and time of each habit.

    The first three lessons of the workshop state the counts. asv tracks them over versions of JAX.
    """

    suite = "habits"
    params = (HABITS,)
    param_names = ("habit",)
    quantities = ("executions_count", "compiles_count", "calls_seconds")

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, name: str) -> PlannedCase:
        """Return the planned case for a habit; it is measured only on the full grid."""
        return _case(self.suite, name, "habit", grid, {"name": name})


class Loops(common.CaseSuite):
    """Program size, compile time and run time of a loop of sines, by kind and number of rounds."""

    suite = "loops"
    params = (LOOPS, (10, 100, 1000))
    param_names = ("kind", "rounds")
    quantities = ("equations_count", *common.COMPILE_TIMES, "steady_median_seconds")

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, kind: str, rounds: int) -> PlannedCase:
        """Return the planned case for a loop; it is measured only on the full grid."""
        params = {"kind": kind, "rounds": rounds}
        return _case(self.suite, f"{kind}-{rounds}", "loop", grid, params)
