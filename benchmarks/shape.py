"""The cost of a scalar of the external field, and of the scalar's gradient."""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase


class ShapeGradient(common.CaseSuite):
    """Cost of a scalar of the external field on W7-X, and of the scalar's gradient.

    The gradient is with respect to the surface points X. The surface covers half a period. The
    worker uses one thread. There are three aims at six digits (120 000 nodes): the gradient takes
    at most four times as long as the scalar; the process needs less than 1 GB; forward and reverse
    mode agree to 1e-10.
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
        """Return the planned case for a number of digits.

        On the quick grid only the case with 3 digits is measured.
        """
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}",
            target="benchmarks.cases.shape:shape_gradient",
            params={"workload": "w7x", "digits": digits},
            rounds=int(digits == 3) if grid == "quick" else 6,
            repeat=3,
            env=common.ONE_THREAD_ENVIRONMENT,
            one_cpu=True,
        )
