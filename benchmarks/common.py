"""The base of the suites: an asv class whose ``track_`` methods read cases measured once.

A suite names its grid in `params`, says how a grid point is measured (`case`), and defines

    def setup_cache(self):
        return self.measured()

    setup_cache.timeout = common.SUITE_TIMEOUT_SECONDS

in its own body, not here: asv keys caches by file and line of ``setup_cache``, and one in the base
would be shared by all suites. asv starts a process for every number it reads, so this module and
the suites import no JAX.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from benchmarks.measuring.plan import SMALL_ROUNDS, PlannedCase, grid_from_environment

if TYPE_CHECKING:
    from benchmarks.summary import Summary

# asv ends a setup_cache that is silent for this long; each case has its own, shorter limit.
SUITE_TIMEOUT_SECONDS = 1800


def casing_preparation(workload: str, digits: int, half_period: bool) -> PlannedCase:
    """The case that prepares a casing, for all cases that evaluate it."""
    return PlannedCase(
        name=f"casing_preparation/{workload}-d{digits}" + ("" if half_period else "-full"),
        target="benchmarks.cases.preparing:preparation",
        params={"workload": workload, "digits": digits, "half_period": half_period},
        rounds=1,
        repeat=3,
    )


class CaseSuite(ABC):
    """Cases over a grid of parameters; asv skips abstract classes when it collects benchmarks."""

    suite: str
    """First part of the cases' names."""
    params: tuple[tuple, ...]
    """The whole grid; what is measured of it is decided by the rounds of each case."""
    param_names: tuple[str, ...]
    timeout = 60
    version = "1"
    quick_budget_seconds: float = 240.0
    """On the small and the quick grid, rounds after the first start only within this time."""

    @abstractmethod
    def case(self, grid: str, *point: Any) -> PlannedCase:
        """How one point of the grid is measured on the "quick" or the "full" grid."""

    def plan(self, grid: str) -> list[PlannedCase]:
        """All cases of a grid that are measured at least once.

        The small grid is a choice of the quick one's cases, made for all suites in one place.
        """
        of = "quick" if grid == "small" else grid
        cases = [self.case(of, *point) for point in itertools.product(*self.params)]
        if grid == "small":
            cases = [dataclasses.replace(c, rounds=SMALL_ROUNDS.get(c.name, 0)) for c in cases]
        return [case for case in cases if case.rounds > 0]

    def measured(self) -> dict[str, Summary]:
        """Measure what the store does not hold yet; a summary for each case's name."""
        from benchmarks.measuring.runner import measure_plan
        from benchmarks.measuring.store import RecordStore, environment_name, store_root
        from benchmarks.summary import summarise

        grid = grid_from_environment()
        commit = os.environ.get("ASV_COMMIT", "local")
        records = measure_plan(
            self.plan(grid),
            RecordStore(store_root() / commit / environment_name()),
            budget_seconds=self.budget_seconds(grid),
        )
        return {name: summarise(found) for name, found in records.items()}

    def budget_seconds(self, grid: str) -> float | None:
        """Return the time within which rounds after the first may start; None for no limit."""
        return None if grid == "full" else self.quick_budget_seconds

    def setup(self, cache: dict[str, Summary], *point: Any) -> None:
        """Skip what this grid leaves out, and what could not run here."""
        summary = cache.get(self._name(point))
        if summary is None:
            raise NotImplementedError("not on this grid: set VCJAX_BENCH_GRID=full")
        if summary["status"] == "skipped":
            raise NotImplementedError(summary["message"])

    def times(self, cache: dict[str, Summary], quantity: str, point: tuple) -> dict[str, Any]:
        """Samples of a time, one a process, in the form that asv tests and keeps."""
        return {"samples": self._ok(cache, point)["times"][quantity], "number": 1}

    def number(self, cache: dict[str, Summary], quantity: str, point: tuple) -> float:
        """An exact metric or an error."""
        return self._ok(cache, point)["numbers"][quantity]

    def _ok(self, cache: dict[str, Summary], point: tuple) -> Summary:
        summary = cache[self._name(point)]
        if summary["status"] != "ok":
            raise RuntimeError(f"{self._name(point)} {summary['status']}: {summary['message']}")
        return summary

    def _name(self, point: tuple) -> str:
        return self.case("full", *point).name
