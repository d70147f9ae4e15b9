"""What runs in a worker that asks how much temporary memory an evaluation takes."""

from __future__ import annotations

from functools import partial

from benchmarks.cases import preparing
from benchmarks.cases.quantities import FIELD, GRADIENT, WrongAnswer
from benchmarks.workloads.casing import case_vc_large
from jaxmeter import Case

QUANTITIES = {"field": FIELD, "gradient": GRADIENT}

# The grid of this case's field leaves errors of 0.01 and 0.05.
LARGEST_ERROR = 0.1


def case_vc_large_evaluation(
    *, quantity: str, chunk_size: int | str, target_chunk_size: int | str
) -> Case:
    """The external field of ``case_vc_large``, or its gradient, by tile of the far field."""
    problem, what = case_vc_large(), QUANTITIES[quantity]
    prepared = preparing.prepare(problem, what)

    def check(result) -> dict[str, float]:
        error = what.error(problem, result)
        if not error <= LARGEST_ERROR:
            raise WrongAnswer(f"case_vc_large: error {error:.2e}, limit {LARGEST_ERROR}")
        return {"error_relative": error}

    return Case(
        fn=partial(what.evaluate, chunk_size=chunk_size, target_chunk_size=target_chunk_size),
        args=(prepared.casing, prepared.B),
        check=check,
        extras=prepared.extras,
    )
