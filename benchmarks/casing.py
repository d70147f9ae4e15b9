"""The cost of closing over a prepared casing instead of passing it as an argument."""

from __future__ import annotations

from benchmarks import common
from benchmarks.measuring.plan import PlannedCase

# To reach p = 0.0022, a test of two variants needs at least six processes for each variant. The
# quick grid has six processes only at six digits. A single process shows only sizes and orders of
# magnitude.
QUICK_ROUNDS = {3: 1, 6: 6, 9: 1, 12: 1}
FULL_ROUNDS = 8


class CasingVariants(common.CaseSuite):
    """Cost of the external field on half a period of the W7-X boundary, by variant and digits.

    A variant is a way to give the casing to the jitted function. The field is evaluated at 800
    targets.
    """

    suite = "casing_variants"
    params = (("closure", "argument", "simplified"), (3, 6, 9, 12))
    param_names = ("variant", "digits")
    quantities = (
        *common.TIMES,
        "captured_bytes",
        "embedded_bytes",
        "temp_bytes",
        "error_relative",
    )
    quick_budget_seconds = 180.0

    def setup_cache(self):
        return self.measured()

    def case(self, grid: str, variant: str, digits: int) -> PlannedCase:
        # The variant "simplified" has the same program as the variant "argument". Therefore the
        # quick grid has the variant "simplified" only at three and six digits.
        is_known = variant == "simplified" and digits > 6
        quick_rounds = 0 if is_known else QUICK_ROUNDS[digits]
        return PlannedCase(
            name=f"{self.suite}/w7x-{variant}-d{digits}",
            target="benchmarks.cases.field:external_field",
            params={**common.W7X, "variant": variant, "digits": digits},
            rounds=quick_rounds if grid == "quick" else FULL_ROUNDS,
            repeat=5 if grid == "quick" else 10,
            preparation=common.casing_preparation(digits),
            env=common.SIMPLIFIED_ENVIRONMENT if variant == "simplified" else {},
        )
