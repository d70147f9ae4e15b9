"""Cases that compare vcjax with the C++ package ``virtual_casing``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.cases import preparing
from benchmarks.cases.quantities import FIELD, GRADIENT, Quantity
from benchmarks.workloads.casing import problem_named
from jaxmeter import Case
from vcjax.problems import Problem

EVALUATIONS = 4
SETUPS = 2


def external_field(*, workload: str, digits: int, half_period: bool) -> Case:
    """Return the case that evaluates the external field; the check runs the C++ package too."""
    return _against_reference(FIELD, workload, digits, half_period)


def external_gradient(*, workload: str, digits: int, half_period: bool) -> Case:
    """Return the case that evaluates the gradient of the external field.

    The case's check runs the C++ package too.
    """
    return _against_reference(GRADIENT, workload, digits, half_period)


def _against_reference(quantity: Quantity, workload: str, digits: int, half_period: bool) -> Case:
    problem = problem_named(workload, digits=digits, half_period=half_period)
    prepared = preparing.prepare(problem, quantity)
    evaluate = jax.jit(quantity.evaluate)

    def check(result) -> dict[str, float]:
        return {
            quantity.error_name: quantity.checked_error(problem, result),
            **compare(prepared, evaluate, quantity),
        }

    return Case(
        fn=evaluate, args=(prepared.casing, prepared.B), check=check, extras=prepared.extras
    )


def compare(
    prepared: preparing.Prepared, evaluate: Callable[..., jax.Array], quantity: Quantity
) -> dict[str, float]:
    """Return times of vcjax and of the C++ package, and the error of the C++ package.

    The programs of vcjax are compiled first. Then calls of both packages are interleaved. Times are
    medians in seconds:

    - ``setup_seconds`` and ``reference_setup_seconds``: the time from a new surface to its first
      result. vcjax chooses a rule, makes the tables (timed once, in advance), prepares the surface
      and evaluates. The C++ package makes and sets up an object, and evaluates for the first time;
    - ``evaluation_seconds`` and ``reference_evaluation_seconds``: the time of one more evaluation.

    ``cpu_per_wall`` and ``reference_cpu_per_wall`` are the processor time of the evaluations,
    divided by the elapsed time. Such a ratio is about 1 if one thread did all the work.
    """
    problem = prepared.problem
    reference = Reference(problem, quantity)

    def set_up():
        casing = quantity.prepare(preparing.choose(problem, quantity), jnp.asarray(problem.X))
        return evaluate(casing, prepared.B)

    jax.block_until_ready(set_up())
    ours, theirs = preparing.timed_interleaved(set_up, reference.set_up, SETUPS)
    again, theirs_again = preparing.timed_interleaved(
        lambda: evaluate(prepared.casing, prepared.B), reference.evaluate, EVALUATIONS
    )
    return {
        "setup_seconds": ours.wall_seconds + prepared.extras["tables_seconds"],
        "reference_setup_seconds": theirs.wall_seconds,
        "evaluation_seconds": again.wall_seconds,
        "reference_evaluation_seconds": theirs_again.wall_seconds,
        "cpu_per_wall": again.cpu_per_wall,
        "reference_cpu_per_wall": theirs_again.cpu_per_wall,
        f"reference_{quantity.error_name}": quantity.error(problem, reference.result),
    }


class Reference:
    """The C++ package with the inputs of a problem.

    The C++ package takes flat lists: all x components, then all y, then all z.
    """

    def __init__(self, problem: Problem, quantity: Quantity) -> None:
        self._problem, self._quantity = problem, quantity
        self._surface, self._field = _flat(problem.X), _flat(problem.B)
        self._casing: Any = None
        self.result = np.empty(0)
        """Last result, shape (trg_nphi, trg_ntheta, 3) or (trg_nphi, trg_ntheta, 3, 3)."""

    def set_up(self) -> None:
        """Make and set up a new object of the C++ class, and evaluate the quantity once."""
        import virtual_casing

        problem = self._problem
        self._casing = virtual_casing.VirtualCasing()
        self._casing.setup(
            problem.digits,
            problem.nfp,
            problem.half_period,
            *problem.X.shape[:2],
            self._surface,
            *problem.B.shape[:2],
            problem.trg_nphi,
            problem.trg_ntheta,
        )
        self.evaluate()

    def evaluate(self) -> None:
        """Evaluate the quantity, and keep it in `result`."""
        values = np.asarray(getattr(self._casing, self._quantity.reference_method)(self._field))
        axes = (3, 3) if self._quantity.gradient else (3,)
        grid = self._problem.trg_nphi, self._problem.trg_ntheta
        # In the C++ result, the components come first. A gradient has two component axes. Their
        # order does not matter, because the gradient of a field without curl is symmetric.
        values = values.reshape(-1, *grid)
        self.result = np.moveaxis(values, 0, -1).reshape(*grid, *axes)


def _flat(vectors: np.ndarray) -> list[float]:
    return np.moveaxis(vectors, -1, 0).ravel().tolist()
