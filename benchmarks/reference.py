"""Time and error of vcjax and of the C++ package ``virtual_casing``.

Both packages run in the same process with one thread. Their calls are interleaved.
"""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase


class AgainstReference(common.CaseSuite):
    """Set-up time, evaluation time and error of the external field in both packages.

    The surface is half a period of the W7-X boundary. The compile time of vcjax is measured too.
    """

    suite = "against_reference"
    target = "benchmarks.cases.reference:external_field"
    quick_rounds = {3: 1, 6: 1, 9: 1, 12: 1}
    error = "error_relative"
    params = ((3, 6, 9, 12),)
    param_names = ("digits",)
    quantities = (
        "evaluation_seconds",
        "reference_evaluation_seconds",
        "setup_seconds",
        "reference_setup_seconds",
        *common.COMPILE_TIMES,
        "prepare_compile_seconds",
        "error_relative",
        "reference_error_relative",
    )
    quick_budget_seconds = 120.0

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, digits: int) -> PlannedCase:
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}",
            target=self.target,
            params={**common.W7X, "digits": digits},
            rounds=self.quick_rounds[digits] if grid == "quick" else 6,
            repeat=3 if grid == "quick" else 5,
            # At 12 digits an evaluation of the C++ package takes ten seconds or more.
            timeout_seconds=600.0,
            env=common.ONE_THREAD_ENVIRONMENT,
            one_cpu=True,
            requires={"virtual_casing": "virtual-casing"},
        )

    def value(self, cache, quantity, point):
        """Return the value of a quantity.

        Records use the name `self.error` in place of ``error_relative``, so the name is replaced.
        """
        return super().value(cache, quantity.replace("error_relative", self.error), point)


class GradientAgainstReference(AgainstReference):
    """Set-up time, evaluation time and error of the gradient of the field in both packages."""

    suite = "gradient_against_reference"
    target = "benchmarks.cases.reference:external_gradient"
    quick_rounds = {3: 1, 6: 0, 9: 0, 12: 0}
    error = "gradient_error_relative"
    quick_budget_seconds = 60.0

    def setup_cache(self):
        return self.measured()
