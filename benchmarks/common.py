"""The base of the suites: an asv class whose ``track_`` methods read cases measured once.

A suite is a grid (`params`), a list of `quantities`, the `case` that measures a grid point, and

    def setup_cache(self):
        return self.measured()

in its own body, not here: asv keys caches by file and line of ``setup_cache``, and a cache in the
base would be shared by all suites. asv starts a process for every number it reads, so this module
and the suites import no JAX.
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

# asv ends a setup_cache that is silent for this long; each case has its own, shorter limit.
SUITE_TIMEOUT_SECONDS = 1800

W7X = {"workload": "w7x", "half_period": True}

# Simplified constants are read when JAX is imported, so they are set in the environment.
SIMPLIFIED_ENVIRONMENT = {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1"}

# For workers that are bound to one CPU: these hold where a system cannot bind.
ONE_THREAD_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}

COMPILE_TIMES = ("compile_seconds", "trace_lower_compile_seconds")
TIMES = (*COMPILE_TIMES, "steady_median_seconds", "steady_std_seconds")

# Times are one sample a process; errors are the largest of all processes.
MEANINGS = {
    "compile_seconds": "XLA's compile phase.",
    "trace_lower_compile_seconds": "Trace, lower and compile, added up.",
    "steady_median_seconds": "Median of the steady-state calls.",
    "steady_std_seconds": "Standard deviation of the steady-state calls.",
    "prepare_seconds": "Tables and prepare, in the steady state.",
    "prepare_compile_seconds": "The first prepare beyond a steady-state one.",
    "setup_seconds": "A new surface to its first result, in the steady state.",
    "reference_setup_seconds": "The C++ package: a new object, its set-up and first evaluation.",
    "evaluation_seconds": "One evaluation, interleaved with those of the C++ package.",
    "reference_evaluation_seconds": "The C++ package: one evaluation after the first.",
    "value_seconds": "Prepare and evaluate, interleaved with gradients.",
    "gradient_seconds": "The gradient, interleaved with values.",
    "calls_seconds": "All calls of a habit, with their compiles.",
    "executions_count": "Runs of the Python code.",
    "compiles_count": "Programs that were compiled.",
    "equations_count": "Copies of the loop's body in the program.",
    "captured_bytes": "Arrays that the function closes over, nested jits included.",
    "embedded_bytes": "Constants in the program that the compiler was handed.",
    "temp_bytes": "Temporaries of the program, on one device.",
    "process_peak_bytes": "The whole process, from tracing the gradient to its last call.",
    "error_relative": "Largest error against the known answer, relative to the largest total.",
    "reference_error_relative": "The C++ package: its error, as error_relative.",
    "modes_error_relative": "Reverse mode against forward mode, along one direction.",
    "rate_difference_relative": "Rates against the argument variant's, relative to their maximum.",
}
UNITS = {"seconds": "seconds", "bytes": "bytes", "count": "1", "relative": "1"}
# Raised by hand when the meaning of a quantity changes: asv does not hash helper code.
VERSIONS = {"compile_seconds": "2"}


def casing_preparation(digits: int) -> PlannedCase:
    """Return the case that prepares W7-X's casing, for all cases that evaluate it."""
    return PlannedCase(
        name=f"casing_preparation/w7x-d{digits}",
        target="benchmarks.cases.preparing:preparation",
        params={**W7X, "digits": digits},
        rounds=1,
        repeat=3,
    )


class CaseSuite(ABC):
    """Cases over a grid of parameters; asv skips abstract classes when it collects benchmarks."""

    suite: str
    """First part of the cases' names."""
    params: tuple[tuple, ...]
    """The whole grid, the same on every machine; each case's rounds select what is measured."""
    param_names: tuple[str, ...]
    quantities: tuple[str, ...]
    """Each gets a ``track_`` method."""
    timeout = 60
    quick_budget_seconds: float = 240.0
    """On the small and the quick grid, rounds after the first start only within this time."""

    def __init_subclass__(cls) -> None:
        """Add the ``track_`` methods."""
        annotated(cls.setup_cache, timeout=SUITE_TIMEOUT_SECONDS)
        for quantity in cls.quantities:
            setattr(cls, f"track_{quantity}", _track(cls, quantity))

    @abstractmethod
    def setup_cache(self) -> dict[str, Summary]:
        """Return ``self.measured()``."""

    @abstractmethod
    def case(self, *args: Any, **kwargs: Any) -> PlannedCase:
        """Return the case of a grid, "quick" or "full", and a point of it."""

    def plan(self, grid: str) -> list[PlannedCase]:
        """Return all cases of a grid that are measured at least once.

        The small grid is a choice of the quick one's cases, made for all suites in one place.
        """
        of = "quick" if grid == "small" else grid
        cases = [self.case(of, *point) for point in itertools.product(*self.params)]
        if grid == "small":
            chosen = ((c, SMALL_ROUNDS.get(c.name, 0)) for c in cases)
            cases = [dataclasses.replace(c, rounds=n, profile_compile=True) for c, n in chosen]
        return [case for case in cases if case.rounds > 0]

    def budget_seconds(self, grid: str) -> float | None:
        """Return the time within which rounds after the first may start; None for no limit."""
        return None if grid == "full" else self.quick_budget_seconds

    def measured(self) -> dict[str, Summary]:
        """Measure what the store does not hold yet; return a summary for each case's name."""
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
        """Skip what this grid leaves out, and what could not run here."""
        summary = cache.get(self.case("full", *point).name)
        if summary is None:
            raise NotImplementedError("not on this grid: set VCJAX_BENCH_GRID=full")
        if summary["status"] == "skipped":
            raise NotImplementedError(summary["message"])

    def value(self, cache: dict[str, Summary], quantity: str, point: tuple) -> Any:
        """Return a number, or the samples of a time in the form that asv tests and keeps."""
        name = self.case("full", *point).name
        summary = cache[name]
        if summary["status"] != "ok":
            raise RuntimeError(f"{name} {summary['status']}: {summary['message']}")
        if quantity in summary["times"]:
            return {"samples": summary["times"][quantity], "number": 1}
        return summary["numbers"][quantity]


def annotated(function: Callable[..., Any], **attributes: Any) -> Callable[..., Any]:
    """Return the function with the attributes that asv reads from it."""
    vars(function).update(attributes)
    return function


def _track(suite: type[CaseSuite], quantity: str) -> Callable[..., Any]:
    def track(self: CaseSuite, cache: dict[str, Summary], *point: Any) -> Any:
        return self.value(cache, quantity, point)

    def setup(cache: dict[str, Summary], *point: Any) -> None:
        """Skip the time of a single process, which asv would judge by its factor alone."""
        summary = cache.get(suite().case("full", *point).name)
        if summary is not None and len(summary["times"].get(quantity, ())) == 1:
            raise NotImplementedError(
                "the time of one process only, which asv would judge by its factor of 1.1: see the "
                "report, or compare with make review"
            )

    track.__doc__ = MEANINGS[quantity]
    unit = UNITS[quantity.rsplit("_", 1)[1]]
    version = VERSIONS.get(quantity, "1")
    return annotated(track, pretty_source=track.__doc__, unit=unit, version=version, setup=setup)
