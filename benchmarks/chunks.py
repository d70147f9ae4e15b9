"""Time and temporary memory of the external field against the tile size of the far-field sum."""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

# The quick grid has automatic, small, medium and large tiles, which show the trend. The full grid
# has all tile sizes.
QUICK_TILES = (("auto", "auto"), (256, 20), (1024, 80), (4096, 320))
QUICK_ROUNDS = 2
FULL_ROUNDS = 6


class ChunkSweep(common.CaseSuite):
    """Cost of the external field on half a period of the W7-X boundary, by tile size.

    A tile is a block of sources and targets of the far-field sum. The size of a tile must not
    change the error.
    """

    suite = "chunk_sweep"
    params = (("auto", 256, 1024, 4096), ("auto", 20, 80, 320), (6,))
    param_names = ("chunk_size", "target_chunk_size", "digits")
    quantities = (*common.TIMES, "temp_bytes", "error_relative")
    quick_budget_seconds = 40.0

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, chunk_size, target_chunk_size, digits: int) -> PlannedCase:
        """Return the planned case for the numbers of sources and targets in a tile."""
        quick_rounds = QUICK_ROUNDS if (chunk_size, target_chunk_size) in QUICK_TILES else 0
        sizes = {"chunk_size": chunk_size, "target_chunk_size": target_chunk_size}
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}-c{chunk_size}-t{target_chunk_size}",
            target="benchmarks.cases.field:external_field",
            params={**common.W7X, "digits": digits, **sizes},
            rounds=quick_rounds if grid == "quick" else FULL_ROUNDS,
            repeat=5,
            preparation=common.casing_preparation(digits),
        )
