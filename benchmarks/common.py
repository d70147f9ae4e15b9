"""The base class of the suites: an asv class that measures once for all its ``track_`` methods.

A suite defines a grid (`params`), a list of `quantities`, a method `case` that returns the planned
case of a grid point, and

    def setup_cache(self):
        return self.measured()

Each suite needs this method in its own body. asv identifies a cache by the file and line of
``setup_cache``, so all suites would share one cache if the base class defined the method. asv
starts a process for every number that it reads, so importing a suite must not import JAX.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchmarks.measuring.plan import (
    RESUME_VARIABLE,
    SMALL_ROUNDS,
    PlannedCase,
    grid_from_environment,
)

if TYPE_CHECKING:
    from benchmarks.summary import Summary

# asv stops a `setup_cache` that prints nothing for this long. Every worker process has a shorter
# limit, and every round prints a line when it ends.
SUITE_TIMEOUT_SECONDS = 1800

W7X = {"workload": "w7x", "half_period": True}

# Some modules of JAX read the option for simplified constants when JAX is imported. Therefore the
# environment sets this option.
SIMPLIFIED_ENVIRONMENT = {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1"}

# A worker with this environment uses one thread, even if the system cannot bind workers to CPUs.
ONE_THREAD_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}

COMPILE_TIMES = ("compile_seconds", "trace_lower_compile_seconds")
TIMES = (*COMPILE_TIMES, "steady_median_seconds", "steady_std_seconds")

# A time has one sample for each process. Any other number is the maximum over all processes.
MEANINGS = {
    "compile_seconds": "Time of XLA's compile phase.",
    "trace_lower_compile_seconds": "Sum of the times to trace, lower and compile.",
    "steady_median_seconds": "Median of the steady-state calls.",
    "steady_std_seconds": "Standard deviation of the steady-state calls.",
    "prepare_seconds": "Time to make the tables and prepare the surface, in the steady state.",
    "prepare_compile_seconds": "Time of the first preparation minus the median time of later ones.",
    "setup_seconds": "Time from a new surface to its first result, in the steady state.",
    "reference_setup_seconds": "Time of the C++ package for set-up and first evaluation.",
    "evaluation_seconds": "Time of one evaluation, interleaved with calls of the C++ package.",
    "reference_evaluation_seconds": "Time of the C++ package for one evaluation after the first.",
    "value_seconds": (
        "Time to prepare the surface and compute the scalar, interleaved with gradients."
    ),
    "gradient_seconds": "Time to compute the gradient, interleaved with calls of the scalar.",
    "calls_seconds": "Time of all calls of a habit, with their compiles.",
    "executions_count": "Number of runs of the habit's Python code.",
    "compiles_count": "Number of programs that the habit compiles.",
    "equations_count": "Number of copies of the loop's body in the traced program.",
    "captured_bytes": "Bytes of the arrays that the function and its nested jits close over.",
    "embedded_bytes": "Bytes of the constants in the program that the compiler receives.",
    "temp_bytes": "Bytes of the program's temporaries on one device.",
    "process_peak_bytes": "Peak memory of the process that traces and calls the gradient.",
    "error_relative": (
        "Largest error, divided by the largest component of the total field or total gradient."
    ),
    "reference_error_relative": "Error of the C++ package, defined like error_relative.",
    "modes_error_relative": (
        "Relative difference between the derivatives by reverse and forward mode in one direction."
    ),
    "rate_difference_relative": (
        "Largest difference between a rate and the expected rate, divided by the largest expected "
        "rate."
    ),
}
UNITS = {"seconds": "seconds", "bytes": "bytes", "count": "1", "relative": "1"}
# If the meaning of a quantity changes, increase its version by hand. asv itself would compute the
# version from the source of the suites only, and would miss such a change.
VERSIONS = {"compile_seconds": "2"}


def casing_preparation(digits: int) -> PlannedCase:
    """Return the planned case that prepares the casing of W7-X; two suites share this case."""
    return PlannedCase(
        name=f"casing_preparation/w7x-d{digits}",
        target="benchmarks.cases.preparing:preparation",
        params={**W7X, "digits": digits},
        rounds=1,
        repeat=3,
    )


class CaseSuite(ABC):
    """An asv suite: cases over a grid of parameters.

    The class is abstract, so asv does not collect the class itself as a benchmark.
    """

    suite: str
    """First part of the name of each case."""
    params: tuple[tuple, ...]
    """Values of each parameter, the same on every machine; some of the cases may have 0 rounds."""
    param_names: tuple[str, ...]
    quantities: tuple[str, ...]
    """Names of the measured quantities; each gets a ``track_`` method."""
    timeout = 60
    quick_budget_seconds: float = 240.0
    """Time limit on the small and quick grids; after the limit, only first rounds may start."""

    def __init_subclass__(cls) -> None:
        """Set the time limit of ``setup_cache``, and add a ``track_`` method for each quantity."""
        vars(cls.setup_cache)["timeout"] = SUITE_TIMEOUT_SECONDS
        for quantity in cls.quantities:
            setattr(cls, f"track_{quantity}", _track(cls, quantity))

    @abstractmethod
    def setup_cache(self) -> dict[str, Summary]:
        """Return ``self.measured()``; each suite must define this method in its own body."""

    @abstractmethod
    def case(self, *args: Any, **kwargs: Any) -> PlannedCase:
        """Return the planned case of a grid point; the first argument is "quick" or "full"."""

    def plan(self, grid: str) -> list[PlannedCase]:
        """Return the cases of a grid, without the cases that have 0 rounds.

        Of the cases of the quick grid, the small grid has only those that `SMALL_ROUNDS` lists.
        """
        of = "quick" if grid == "small" else grid
        cases = [self.case(of, *point) for point in itertools.product(*self.params)]
        if grid == "small":
            chosen = ((c, SMALL_ROUNDS.get(c.name, 0)) for c in cases)
            cases = [dataclasses.replace(c, rounds=n, profile_compile=True) for c, n in chosen]
        return [case for case in cases if case.rounds > 0]

    def budget_seconds(self, grid: str) -> float | None:
        """Return the seconds within which rounds after the first may start; None means no limit."""
        return None if grid == "full" else self.quick_budget_seconds

    def measured(self) -> dict[str, Summary]:
        """Measure the cases, and return a dictionary from each case's name to its summary."""
        from benchmarks.measuring.runner import measure_plan
        from benchmarks.measuring.store import RecordStore, environment_name, store_root
        from benchmarks.summary import summarise

        grid = grid_from_environment()
        commit = os.environ.get("ASV_COMMIT", "local")
        records = measure_plan(
            self.plan(grid),
            RecordStore(store_root() / commit / environment_name()),
            budget_seconds=self.budget_seconds(grid),
            resume=os.environ.get(RESUME_VARIABLE) == "1",
        )
        return {name: summarise(found) for name, found in records.items()}

    def setup(self, cache: dict[str, Summary], *point: Any) -> None:
        """Raise NotImplementedError for a case that was not measured, so that asv skips it."""
        summary = cache.get(self.case("full", *point).name)
        if summary is None:
            raise NotImplementedError(
                f"case {self.case('full', *point).name} is not on the chosen grid; set "
                "VCJAX_BENCH_GRID=full to measure most cases"
            )
        if summary["status"] == "skipped":
            raise NotImplementedError(summary["message"])

    def value(self, cache: dict[str, Summary], quantity: str, point: tuple) -> Any:
        """Return the value of a quantity: a number, or the samples of a time in asv's form."""
        name = self.case("full", *point).name
        summary = cache[name]
        if summary["status"] != "ok":
            raise RuntimeError(
                f"case {name} has the status {summary['status']!r} ({summary['message']}); "
                "correct the cause, then measure again"
            )
        if quantity in summary["times"]:
            return {"samples": summary["times"][quantity], "number": 1}
        return summary["numbers"][quantity]


def _track(suite: type[CaseSuite], quantity: str) -> Callable[..., Any]:
    def track(self: CaseSuite, cache: dict[str, Summary], *point: Any) -> Any:
        return self.value(cache, quantity, point)

    def setup(cache: dict[str, Summary], *point: Any) -> None:
        """Raise NotImplementedError for a time that only one process measured."""
        summary = cache.get(suite().case("full", *point).name)
        if summary is not None and len(summary["times"].get(quantity, ())) == 1:
            raise NotImplementedError(
                f"skipped: only one process measured {quantity}. asv cannot test a single sample "
                "and would report every change by a factor above 1.1. Read the time in the report, "
                "or compare commits with make review"
            )

    # asv reads these attributes.
    track.__doc__ = MEANINGS[quantity]
    unit = UNITS[quantity.rsplit("_", 1)[1]]
    version = VERSIONS.get(quantity, "1")
    vars(track).update(pretty_source=track.__doc__, unit=unit, version=version, setup=setup)
    return track
