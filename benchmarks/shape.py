"""What does the gradient in a surface cost, next to the value that it is the gradient of?"""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase
from benchmarks.reference import ONE_THREAD_ENVIRONMENT


class ShapeGradient(common.CaseSuite):
    """A scalar of the external field on W7-X, half period, from the points of X on; one thread.

    The aims at six digits, 160 000 nodes: at most four times the value's time, a process below
    1 GB, and forward mode equal to reverse mode to 1e-10.
    """

    suite = "shape_gradient"
    params = ((3, 6),)
    param_names = ("digits",)
    quick_budget_seconds = 40.0

    def setup_cache(self):
        """Measure every case once, in worker processes."""
        return self.measured()

    setup_cache.timeout = common.SUITE_TIMEOUT_SECONDS

    def case(self, grid: str, digits: int) -> PlannedCase:
        """One number of digits; the quick grid has three only."""
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}",
            target="benchmarks.cases.shape:shape_gradient",
            params={"workload": "w7x", "digits": digits},
            rounds=int(digits == 3) if grid == "quick" else 6,
            repeat=3,
            env=ONE_THREAD_ENVIRONMENT,
            one_cpu=True,
        )

    def track_value_seconds(self, cache, digits):
        """Prepare and evaluate, between two gradients: one sample a process."""
        return self.times(cache, "value_seconds", (digits,))

    def track_gradient_seconds(self, cache, digits):
        """The gradient, between two values: one sample a process."""
        return self.times(cache, "gradient_seconds", (digits,))

    def track_compile_seconds(self, cache, digits):
        """Trace, lower and compile the gradient; paid once a process."""
        return self.times(cache, "compile_seconds", (digits,))

    def track_temp_bytes(self, cache, digits):
        """Scratch memory of the gradient's program."""
        return self.number(cache, "temp_bytes", (digits,))

    def track_process_peak_bytes(self, cache, digits):
        """The whole process, from tracing the gradient to its last call."""
        return self.number(cache, "process_peak_bytes", (digits,))

    def track_modes_error_relative(self, cache, digits):
        """Gradient along a direction, by reverse mode against forward mode."""
        return self.number(cache, "modes_error_relative", (digits,))

    track_value_seconds.unit = "seconds"
    track_gradient_seconds.unit = "seconds"
    track_compile_seconds.unit = "seconds"
    track_temp_bytes.unit = "bytes"
    track_process_peak_bytes.unit = "bytes"
    track_modes_error_relative.unit = "1"
