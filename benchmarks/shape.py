"""The cost of the gradient in a surface, relative to its value."""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase


class ShapeGradient(common.CaseSuite):
    """A scalar of the external field on W7-X, half period, from the points of X on; one thread.

    The aims at six digits, 160 000 nodes: at most four times the value's time, a process below
    1 GB, and forward mode equal to reverse mode to 1e-10.
    """

    suite = "shape_gradient"
    params = ((3, 6),)
    param_names = ("digits",)
    quantities = (
        "value_seconds",
        "gradient_seconds",
        *common.COMPILE_TIMES,
        "temp_bytes",
        "process_peak_bytes",
        "modes_error_relative",
    )
    quick_budget_seconds = 40.0

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, digits: int) -> PlannedCase:
        """Return the case of a number of digits; the quick grid has three only."""
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}",
            target="benchmarks.cases.shape:shape_gradient",
            params={"workload": "w7x", "digits": digits},
            rounds=int(digits == 3) if grid == "quick" else 6,
            repeat=3,
            env=common.ONE_THREAD_ENVIRONMENT,
            one_cpu=True,
        )
