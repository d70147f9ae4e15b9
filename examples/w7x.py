"""Split the field on the boundary of Wendelstein 7-X, and compare the errors with the estimate.

The currents of this test problem are known, so the exact B_ext and B_int are known too.
Run: pip install .; python examples/w7x.py
"""

from typing import Any

import jax

import vcjax
from vcjax import problems

SYMMETRY: dict[str, Any] = dict(nfp=5, half_period=True)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    # The source grid of this problem resolves the field to four digits.
    problem = problems.w7x(4)
    print(f"spectral tail of B  {vcjax.spectral_tail(problem.B, **SYMMETRY):.1e}")
    for digits in (2, 4):
        # Choose the sizes of the quadrature once, on the host.
        rule = vcjax.choose(problem.X, problem.B, digits, **SYMMETRY, trg_nphi=20, trg_ntheta=40)
        # Prepare the surface once for any number of fields.
        casing = vcjax.prepare(rule, problem.X)
        external = vcjax.external_field(casing, problem.B)
        internal = vcjax.internal_field(casing, problem.B)
        print(
            f"{digits} digits on {rule.quad_nphi} x {rule.quad_ntheta} nodes:"
            f"  error {problem.external_error(external):.1e} external,"
            f" {problem.internal_error(internal):.1e} internal,"
            f" estimate {vcjax.error_estimate(casing, problem.B):.1e}"
        )


if __name__ == "__main__":
    main()
