"""What does a point off the surface cost, and what does it err, by its distance?"""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

POINT_COUNT = 128


class OffSurface(common.CaseSuite):
    """Both fields beside the W7-X boundary, half period, on either side, by distance in metres.

    The minor radius is 0.5. The aims at nine digits: errors of 1e-8 at most, and at no distance
    more than three times the time of the farthest points.
    """

    suite = "off_surface"
    params = ((3e-1, 1e-1, 3e-2, 1e-2, 1e-3, 1e-4), (3, 9))
    param_names = ("distance", "digits")
    quick_budget_seconds = 60.0

    def setup_cache(self):
        """Measure every case once, in worker processes."""
        return self.measured()

    setup_cache.timeout = common.SUITE_TIMEOUT_SECONDS

    def case(self, grid: str, distance: float, digits: int) -> PlannedCase:
        """One distance; the quick grid has three of them, at nine digits."""
        quick = digits == 9 and distance in (3e-1, 1e-2, 1e-4)
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}-at{distance:g}",
            target="benchmarks.cases.off_surface:fields_beside",
            params={
                "workload": "w7x",
                "digits": digits,
                "distance": distance,
                "point_count": POINT_COUNT,
            },
            rounds=int(quick) if grid == "quick" else 3,
            repeat=5,
        )

    def track_compile_seconds(self, cache, distance, digits):
        """Trace, lower and compile: one sample a process."""
        return self.times(cache, "compile_seconds", (distance, digits))

    def track_per_point_seconds(self, cache, distance, digits):
        """Median of the steady-state calls over the number of points: one sample a process."""
        times = self.times(cache, "steady_median_seconds", (distance, digits))
        return {**times, "samples": [seconds / POINT_COUNT for seconds in times["samples"]]}

    def track_temp_bytes(self, cache, distance, digits):
        """Scratch memory of the program."""
        return self.number(cache, "temp_bytes", (distance, digits))

    def track_error_relative(self, cache, distance, digits):
        """Largest error against the known fields, relative to max |B|."""
        return self.number(cache, "error_relative", (distance, digits))

    track_compile_seconds.unit = "seconds"
    track_per_point_seconds.unit = "seconds"
    track_temp_bytes.unit = "bytes"
    track_error_relative.unit = "1"
