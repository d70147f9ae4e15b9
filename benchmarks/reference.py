"""vcjax against the C++ package, one thread each, in the same process, turn by turn."""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

FULL_ROUNDS = 6

# The worker is bound to one CPU; these hold where a system cannot bind.
ONE_THREAD_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "NPROC": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
}


class AgainstReference(common.CaseSuite):
    """Set-up and evaluation of both on the W7-X boundary, half period; compile time beside it."""

    suite = "against_reference"
    target = "benchmarks.cases.reference:external_field"
    quick_rounds = {3: 1, 6: 2, 9: 2, 12: 1}
    error = "error_relative"
    params = ((3, 6, 9, 12),)
    param_names = ("digits",)
    quick_budget_seconds = 230.0

    def setup_cache(self):
        """Measure every case once, in worker processes."""
        return self.measured()

    setup_cache.timeout = common.SUITE_TIMEOUT_SECONDS

    def case(self, grid: str, digits: int) -> PlannedCase:
        """Both programs at one number of digits."""
        return PlannedCase(
            name=f"{self.suite}/w7x-d{digits}",
            target=self.target,
            params={"workload": "w7x", "digits": digits, "half_period": True},
            rounds=self.quick_rounds[digits] if grid == "quick" else FULL_ROUNDS,
            repeat=5,
            timeout_seconds=600.0,
            env=ONE_THREAD_ENVIRONMENT,
            one_cpu=True,
            requires={"virtual_casing": "virtual-casing"},
        )

    def track_evaluation_seconds(self, cache, digits):
        """One steady evaluation of vcjax, between two of the reference."""
        return self.times(cache, "evaluation_seconds", (digits,))

    def track_reference_evaluation_seconds(self, cache, digits):
        """One repeated evaluation of the reference, between two of vcjax."""
        return self.times(cache, "reference_evaluation_seconds", (digits,))

    def track_setup_seconds(self, cache, digits):
        """vcjax: choose, prepare and evaluate for a new surface, compiled before."""
        return self.times(cache, "setup_seconds", (digits,))

    def track_reference_setup_seconds(self, cache, digits):
        """The reference: a new object, its set-up and first evaluation."""
        return self.times(cache, "reference_setup_seconds", (digits,))

    def track_compile_seconds(self, cache, digits):
        """vcjax: trace, lower and compile the evaluation; paid once a process."""
        return self.times(cache, "compile_seconds", (digits,))

    def track_prepare_compile_seconds(self, cache, digits):
        """vcjax: the first `prepare` beyond a steady one; paid once a process."""
        return self.times(cache, "prepare_compile_seconds", (digits,))

    def track_error_relative(self, cache, digits):
        """vcjax: largest error against the known answer, relative to the largest total."""
        return self.number(cache, self.error, (digits,))

    def track_reference_error_relative(self, cache, digits):
        """The reference: largest error against the known answer, relative to the largest total."""
        return self.number(cache, f"reference_{self.error}", (digits,))

    track_evaluation_seconds.unit = "seconds"
    track_reference_evaluation_seconds.unit = "seconds"
    track_setup_seconds.unit = "seconds"
    track_reference_setup_seconds.unit = "seconds"
    track_compile_seconds.unit = "seconds"
    track_prepare_compile_seconds.unit = "seconds"
    track_error_relative.unit = "1"
    track_reference_error_relative.unit = "1"


class GradientAgainstReference(AgainstReference):
    """The same for the gradient of the external field on the surface."""

    suite = "gradient_against_reference"
    target = "benchmarks.cases.reference:external_gradient"
    quick_rounds = {3: 1, 6: 1, 9: 0, 12: 0}
    error = "gradient_error_relative"
    quick_budget_seconds = 60.0

    def setup_cache(self):
        """Measure every case once, in worker processes."""
        return self.measured()

    setup_cache.timeout = common.SUITE_TIMEOUT_SECONDS
