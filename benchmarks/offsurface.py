"""Time and error of off-surface points against distance."""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

POINT_COUNT = 128


class OffSurface(common.CaseSuite):
    """Cost and error of the external and internal field near the W7-X boundary, by distance.

    The boundary is half a period with a minor radius of 0.5 metres. Points lie on both sides of the
    boundary, at the same distance, given in metres. There are two aims at nine digits: the error is
    at most 1e-8; points at any distance take at most three times as long as the farthest points.
    """

    suite = "off_surface"
    params = ((3e-1, 1e-1, 3e-2, 1e-2, 1e-3, 1e-4), (3, 9))
    param_names = ("distance", "digits")
    quantities = (*common.COMPILE_TIMES, "temp_bytes", "error_relative")
    quick_budget_seconds = 60.0

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, distance: float, digits: int) -> PlannedCase:
        """Return the planned case for a distance and a number of digits.

        The quick grid has the smallest and the largest distance, at nine digits.
        """
        quick = digits == 9 and distance in (3e-1, 1e-4)
        points = {"distance": distance, "point_count": POINT_COUNT}
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}-at{distance:g}",
            target="benchmarks.cases.off_surface:fields_at_distance",
            params={"workload": "w7x", "digits": digits, **points},
            rounds=int(quick) if grid == "quick" else 3,
            repeat=5,
        )

    def track_per_point_seconds(self, cache, distance, digits):
        """Return the median time of steady-state calls, divided by the number of points.

        Each process gives one sample.
        """
        times = self.value(cache, "steady_median_seconds", (distance, digits))
        return {**times, "samples": [seconds / POINT_COUNT for seconds in times["samples"]]}

    vars(track_per_point_seconds).update(unit="seconds", version="1")
