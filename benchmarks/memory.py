"""Temporary memory of a field and its gradient, as reported by the compiler."""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase


class MemorySweep(common.CaseSuite):
    """Temporary memory of the external field and its gradient on ``case_vc_large``, by tile size.

    A tile is a block of sources and targets of the far-field sum. Arrays are float64. With
    automatic tile sizes the aims are at most 10 MiB for the field and at most 20 MiB for the
    gradient. The tile size must not change the error.
    """

    suite = "memory_sweep"
    params = (("field", "gradient"), ("auto", 256, 1024), ("auto", 20, 80))
    param_names = ("quantity", "chunk_size", "target_chunk_size")
    quantities = ("temp_bytes", "steady_median_seconds", "error_relative")
    quick_budget_seconds = 60.0

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, quantity: str, chunk_size, target_chunk_size) -> PlannedCase:
        """Return the planned case for a quantity and a tile size.

        On the quick grid only the automatic tile size is measured.
        """
        automatic = chunk_size == target_chunk_size == "auto"
        sizes = {"chunk_size": chunk_size, "target_chunk_size": target_chunk_size}
        return PlannedCase(
            name=f"{self.suite}/{quantity}-c{chunk_size}-t{target_chunk_size}",
            target="benchmarks.cases.field:case_vc_large",
            params={"quantity": quantity, **sizes},
            rounds=1 if automatic or grid == "full" else 0,
            repeat=5,
        )
