"""How much temporary memory do small problems take, by the compiler's own account?"""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase


class MemorySweep(common.CaseSuite):
    """``case_vc_large`` in float64: the external field and its gradient, by tile of the far field.

    The aim is 10 MiB for the field and 20 MiB for the gradient at the automatic sizes.
    """

    suite = "memory_sweep"
    params = (("field", "gradient"), ("auto", 256, 1024), ("auto", 20, 80))
    param_names = ("quantity", "chunk_size", "target_chunk_size")
    quick_budget_seconds = 60.0

    def setup_cache(self):
        """Measure every case once, in worker processes."""
        return self.measured()

    setup_cache.timeout = common.SUITE_TIMEOUT_SECONDS

    def case(self, grid: str, quantity: str, chunk_size, target_chunk_size) -> PlannedCase:
        """One tile shape; the quick grid has the automatic one only."""
        automatic = chunk_size == target_chunk_size == "auto"
        return PlannedCase(
            name=f"{self.suite}/{quantity}-c{chunk_size}-t{target_chunk_size}",
            target="benchmarks.cases.memory:case_vc_large_evaluation",
            params={
                "quantity": quantity,
                "chunk_size": chunk_size,
                "target_chunk_size": target_chunk_size,
            },
            rounds=1 if automatic or grid == "full" else 0,
            repeat=5,
        )

    def track_temp_bytes(self, cache, quantity, chunk_size, target_chunk_size):
        """Scratch memory of the program."""
        return self.number(cache, "temp_bytes", (quantity, chunk_size, target_chunk_size))

    def track_steady_median_seconds(self, cache, quantity, chunk_size, target_chunk_size):
        """Median of the steady-state calls: one sample a process."""
        point = (quantity, chunk_size, target_chunk_size)
        return self.times(cache, "steady_median_seconds", point)

    def track_error_relative(self, cache, quantity, chunk_size, target_chunk_size):
        """Largest error against the known field or gradient; tiles must not change it."""
        return self.number(cache, "error_relative", (quantity, chunk_size, target_chunk_size))

    track_temp_bytes.unit = "bytes"
    track_steady_median_seconds.unit = "seconds"
    track_error_relative.unit = "1"
