"""What does it cost to close over a prepared casing instead of passing it as an argument?"""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

# Simplified constants are read when JAX is imported, so they are a matter of the environment.
SIMPLIFIED_ENVIRONMENT = {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1"}

# Six processes a side are the least that can tell two variants apart at p = 0.0022. The quick grid
# has them at six digits only; elsewhere it shows sizes and orders of magnitude.
QUICK_ROUNDS = {3: 3, 6: 6, 9: 2, 12: 2}
FULL_ROUNDS = 8


class CasingVariants(common.CaseSuite):
    """External field on the W7-X boundary, half period, 800 targets, by variant and digits."""

    suite = "casing_variants"
    params = (("closure", "argument", "simplified"), (3, 6, 9, 12))
    param_names = ("variant", "digits")
    quick_budget_seconds = 330.0

    def setup_cache(self):
        """Measure every case once, in worker processes."""
        return self.measured()

    setup_cache.timeout = common.SUITE_TIMEOUT_SECONDS

    def case(self, grid: str, variant: str, digits: int) -> PlannedCase:
        """One variant at one number of digits."""
        return PlannedCase(
            name=f"{self.suite}/w7x-{variant}-d{digits}",
            target="benchmarks.cases.field:external_field",
            params={"workload": "w7x", "variant": variant, "digits": digits, "half_period": True},
            rounds=QUICK_ROUNDS[digits] if grid == "quick" else FULL_ROUNDS,
            repeat=10,
            preparation=common.casing_preparation("w7x", digits, half_period=True),
            env=SIMPLIFIED_ENVIRONMENT if variant == "simplified" else {},
        )

    def track_compile_seconds(self, cache, variant, digits):
        """Trace, lower and compile: one sample a process."""
        return self.times(cache, "compile_seconds", (variant, digits))

    def track_steady_median_seconds(self, cache, variant, digits):
        """Median of the steady-state calls: one sample a process."""
        return self.times(cache, "steady_median_seconds", (variant, digits))

    def track_steady_std_seconds(self, cache, variant, digits):
        """Standard deviation of the steady-state calls: one sample a process."""
        return self.times(cache, "steady_std_seconds", (variant, digits))

    def track_captured_bytes(self, cache, variant, digits):
        """What the function closes over, nested jits included."""
        return self.number(cache, "captured_bytes", (variant, digits))

    def track_embedded_bytes(self, cache, variant, digits):
        """What the compiler was handed as constants."""
        return self.number(cache, "embedded_bytes", (variant, digits))

    def track_temp_bytes(self, cache, variant, digits):
        """Scratch memory of the program."""
        return self.number(cache, "temp_bytes", (variant, digits))

    def track_error_relative(self, cache, variant, digits):
        """Largest error against the known field, relative to max|B|."""
        return self.number(cache, "error_relative", (variant, digits))

    track_compile_seconds.unit = "seconds"
    track_steady_median_seconds.unit = "seconds"
    track_steady_std_seconds.unit = "seconds"
    track_captured_bytes.unit = "bytes"
    track_embedded_bytes.unit = "bytes"
    track_temp_bytes.unit = "bytes"
    track_error_relative.unit = "1"
