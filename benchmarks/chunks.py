"""How large should the tiles of the far field be?"""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

QUICK_ROUNDS = 2
FULL_ROUNDS = 6


class ChunkSweep(common.CaseSuite):
    """External field on the W7-X boundary, half period, by sources and targets in a tile."""

    suite = "chunk_sweep"
    params = (("auto", 256, 1024, 4096), ("auto", 20, 80, 320), (6,))
    param_names = ("chunk_size", "target_chunk_size", "digits")
    quick_budget_seconds = 90.0

    def setup_cache(self):
        """Measure every case once, in worker processes."""
        return self.measured()

    setup_cache.timeout = common.SUITE_TIMEOUT_SECONDS

    def case(self, grid: str, chunk_size, target_chunk_size, digits: int) -> PlannedCase:
        """One tile shape; the quick grid has "auto" for both sizes or for none."""
        half_auto = (chunk_size == "auto") != (target_chunk_size == "auto")
        quick_rounds = 0 if half_auto else QUICK_ROUNDS
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}-c{chunk_size}-t{target_chunk_size}",
            target="benchmarks.cases.field:external_field",
            params={
                "workload": "w7x",
                "digits": digits,
                "half_period": True,
                "chunk_size": chunk_size,
                "target_chunk_size": target_chunk_size,
            },
            rounds=quick_rounds if grid == "quick" else FULL_ROUNDS,
            repeat=5,
            preparation=common.casing_preparation("w7x", digits, half_period=True),
        )

    def track_compile_seconds(self, cache, chunk_size, target_chunk_size, digits):
        """Trace, lower and compile: one sample a process."""
        return self.times(cache, "compile_seconds", (chunk_size, target_chunk_size, digits))

    def track_steady_median_seconds(self, cache, chunk_size, target_chunk_size, digits):
        """Median of the steady-state calls: one sample a process."""
        return self.times(cache, "steady_median_seconds", (chunk_size, target_chunk_size, digits))

    def track_steady_std_seconds(self, cache, chunk_size, target_chunk_size, digits):
        """Standard deviation of the steady-state calls: one sample a process."""
        return self.times(cache, "steady_std_seconds", (chunk_size, target_chunk_size, digits))

    def track_temp_bytes(self, cache, chunk_size, target_chunk_size, digits):
        """Scratch memory of the program: what small tiles save."""
        return self.number(cache, "temp_bytes", (chunk_size, target_chunk_size, digits))

    def track_error_relative(self, cache, chunk_size, target_chunk_size, digits):
        """Largest error against the known field, relative to max|B|; tiles must not change it."""
        return self.number(cache, "error_relative", (chunk_size, target_chunk_size, digits))

    track_compile_seconds.unit = "seconds"
    track_steady_median_seconds.unit = "seconds"
    track_steady_std_seconds.unit = "seconds"
    track_temp_bytes.unit = "bytes"
    track_error_relative.unit = "1"
