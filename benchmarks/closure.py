"""What does it cost to close over a coronagraph's arrays instead of passing them as arguments?

The study's grids; ``studies.closure`` measures them and more. Under asv they run on the
full grid only, at the two smaller sizes.
"""

from __future__ import annotations

from benchmarks import common
from benchmarks.casing import SIMPLIFIED_ENVIRONMENT
from benchmarks.measuring.plan import PlannedCase

VARIANTS = ("closure", "argument", "cached", "simplified", "hoisted", "static_callable")
SIZES = (64, 128, 192, 256)
ROUNDS = 6
"""Processes a side, the least that can tell two variants apart at p < 0.002."""
REPEAT = 20
REQUIRES = {"equinox": "equinox"}
# The program that is published computes in single precision; products of matrices on the host
# would wait for each other's threads where other work goes on.
ENVIRONMENT = {"JAX_ENABLE_X64": "0", "OPENBLAS_NUM_THREADS": "1"}


def environment(variant: str) -> dict[str, str]:
    """The environment variables of a variant's worker."""
    return ENVIRONMENT | (SIMPLIFIED_ENVIRONMENT if variant == "simplified" else {})


def preparation(size: int) -> PlannedCase:
    """The case that builds a system, for all cases of that size."""
    return PlannedCase(
        name=f"coronagraph_preparation/n{size}",
        target="benchmarks.cases.closure:preparation",
        params={"size": size},
        rounds=1,
        repeat=3,
        timeout_seconds=900.0,
        env=ENVIRONMENT,
        requires=REQUIRES,
    )


def frame_case(variant: str, size: int, *, rounds: int) -> PlannedCase:
    """One variant at one size, in fresh processes."""
    return PlannedCase(
        name=f"coronagraph_variants/n{size}-{variant}",
        target="benchmarks.cases.closure:frame",
        params={"size": size, "variant": variant},
        rounds=rounds,
        repeat=REPEAT,
        # Twenty frames of the largest size are the work of a minute.
        max_seconds=120.0,
        timeout_seconds=900.0,
        env=environment(variant),
        preparation=preparation(size),
        requires=REQUIRES,
    )


def change_case(variant: str, size: int, *, rounds: int) -> PlannedCase:
    """What a change of the cube takes, in one variant."""
    return PlannedCase(
        name=f"coronagraph_change/n{size}-{variant}",
        target="benchmarks.cases.closure:changed",
        params={"size": size, "variant": variant},
        rounds=rounds,
        repeat=3,
        timeout_seconds=900.0,
        env=environment(variant),
        preparation=preparation(size),
        requires=REQUIRES,
    )


def casing_case(variant: str, *, rounds: int) -> PlannedCase:
    """The virtual casing's external field by the same variants, W7-X at six digits."""
    params = {"workload": "w7x", "digits": 6, "half_period": True, "variant": variant}
    return PlannedCase(
        name=f"casing_variants/w7x-{variant}-d6",
        target="benchmarks.cases.closure_casing:external_field",
        params=params,
        rounds=rounds,
        preparation=common.casing_preparation("w7x", 6, half_period=True),
        env=SIMPLIFIED_ENVIRONMENT if variant == "simplified" else {},
        requires=REQUIRES,
    )


class CoronagraphVariants(common.CaseSuite):
    """A frame of the coronagraph by variant and pixels a side."""

    suite = "coronagraph_variants"
    params = (VARIANTS, SIZES)
    param_names = ("variant", "size")

    def setup_cache(self):
        """Measure every case once, in worker processes."""
        return self.measured()

    setup_cache.timeout = common.SUITE_TIMEOUT_SECONDS

    def case(self, grid: str, variant: str, size: int) -> PlannedCase:
        """One variant at one size; the larger sizes are the study's alone."""
        rounds = ROUNDS if grid == "full" and size <= 128 else 0
        return frame_case(variant, size, rounds=rounds)

    def track_compile_seconds(self, cache, variant, size):
        """Trace, lower and compile: one sample a process."""
        return self.times(cache, "compile_seconds", (variant, size))

    def track_steady_median_seconds(self, cache, variant, size):
        """Median of the steady-state calls: one sample a process."""
        return self.times(cache, "steady_median_seconds", (variant, size))

    def track_steady_std_seconds(self, cache, variant, size):
        """Standard deviation of the steady-state calls: one sample a process."""
        return self.times(cache, "steady_std_seconds", (variant, size))

    def track_captured_bytes(self, cache, variant, size):
        """What the function closes over, nested jits included."""
        return self.number(cache, "captured_bytes", (variant, size))

    def track_embedded_bytes(self, cache, variant, size):
        """What the compiler was handed as constants."""
        return self.number(cache, "embedded_bytes", (variant, size))

    def track_rate_difference_relative(self, cache, variant, size):
        """Largest difference to the argument variant's rates, relative to their maximum."""
        return self.number(cache, "rate_difference_relative", (variant, size))

    track_compile_seconds.unit = "seconds"
    track_steady_median_seconds.unit = "seconds"
    track_steady_std_seconds.unit = "seconds"
    track_captured_bytes.unit = "bytes"
    track_embedded_bytes.unit = "bytes"
    track_rate_difference_relative.unit = "1"
