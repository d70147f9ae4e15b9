"""The cost of closing over a coronagraph's arrays instead of passing them as arguments.

A frame is an exposure of a simulated coronagraph. The study ``studies.closure`` measures the cases
of this module and further cases. The suite measures frames only on the full grid, at the two
smallest sizes.
"""

from __future__ import annotations

from typing import Any

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

VARIANTS = ("closure", "argument", "cached", "simplified", "hoisted", "static_callable")
SIZES = (64, 128, 192, 256)
ROUNDS = 6
"""Processes for each variant; with six, a test of two variants can reach p = 0.0022."""
# The published program, the simulator coronagraphoto (docs/closure.md), computes in single
# precision. OpenBLAS gets one thread, because several threads would wait for each other on a busy
# machine.
ENVIRONMENT = {"JAX_ENABLE_X64": "0", "OPENBLAS_NUM_THREADS": "1"}
TIMEOUT_SECONDS = 900.0


def preparation(size: int) -> PlannedCase:
    """Return the planned case that makes the system for all other cases of the same size.

    `size` is the number of pixels along a side of the images.
    """
    return PlannedCase(
        name=f"coronagraph_preparation/n{size}",
        target="benchmarks.cases.closure:preparation",
        params={"size": size},
        rounds=1,
        repeat=3,
        timeout_seconds=TIMEOUT_SECONDS,
        env=ENVIRONMENT,
    )


def frame_case(variant: str, size: int, *, rounds: int) -> PlannedCase:
    """Return the planned case that computes a frame with one variant."""
    options = {"repeat": 20, "max_seconds": 120.0}  # 20 frames of the largest size take a minute
    return _case("coronagraph_variants", "frame", variant, size, rounds=rounds, **options)


def change_case(variant: str, size: int) -> PlannedCase:
    """Return the planned case that computes a frame before and after an array changes.

    The array is the cube of the coronagraph's images. The change doubles all its values.
    """
    return _case("coronagraph_change", "changed", variant, size, rounds=1, repeat=3)


def _case(suite: str, function: str, variant: str, size: int, **options: Any) -> PlannedCase:
    simplified = common.SIMPLIFIED_ENVIRONMENT if variant == "simplified" else {}
    return PlannedCase(
        name=f"{suite}/n{size}-{variant}",
        target=f"benchmarks.cases.closure:{function}",
        params={"size": size, "variant": variant},
        timeout_seconds=TIMEOUT_SECONDS,
        env=ENVIRONMENT | simplified,
        preparation=preparation(size),
        **options,
    )


class CoronagraphVariants(common.CaseSuite):
    """Cost of a frame of the coronagraph, by variant and number of pixels along a side."""

    suite = "coronagraph_variants"
    params = (VARIANTS, SIZES)
    param_names = ("variant", "size")
    quantities = (*common.TIMES, "captured_bytes", "embedded_bytes", "rate_difference_relative")

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, variant: str, size: int) -> PlannedCase:
        rounds = ROUNDS if grid == "full" and size <= 128 else 0
        return frame_case(variant, size, rounds=rounds)
