"""What runs in a worker that compares vcjax with the C++ package ``virtual_casing``."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import vcjax
from benchmarks import preparing
from benchmarks.cells import checked_error
from benchmarks.workloads.casing import problem_named
from jaxmeter import Case
from vcjax.problems import Problem

EVALUATIONS = 4
SETUPS = 2
# A comparison that takes longer than this stops repeating itself: the ratio is then plain enough.
ENOUGH_SECONDS = 15.0


def external_field(*, workload: str, digits: int, half_period: bool) -> Case:
    """The external field by vcjax as the measured function; the reference's turns in its check.

    The check runs when vcjax has been compiled and measured. It adds, in seconds,

    - ``setup_seconds`` and ``reference_setup_seconds``: a new surface up to its first field. For
      vcjax: choose, tables, prepare, evaluate, all compiled before; for the reference: a new
      object, its set-up and its first evaluation, in which it builds its quadrature;
    - ``evaluation_seconds`` and ``reference_evaluation_seconds``: a further field;

    medians over turns taken one after the other, so that both meet the same machine; and
    ``cpu_per_wall`` and ``reference_cpu_per_wall``, which are 1 where one thread did the work.
    """
    problem = problem_named(workload, digits=digits, half_period=half_period)
    prepared = preparing.prepare(problem)
    evaluate = jax.jit(vcjax.external_field)

    def check(field) -> dict[str, float]:
        return {
            "error_relative": checked_error(problem, field),
            **compare(prepared, evaluate),
        }

    return Case(
        fn=evaluate, args=(prepared.casing, prepared.B), check=check, extras=prepared.extras
    )


def compare(prepared: preparing.Prepared, evaluate: Callable[..., jax.Array]) -> dict[str, float]:
    """Both programs turn by turn: new surface to first field, then a further field."""
    problem = prepared.problem
    reference = Reference(problem)

    def set_up():
        casing = vcjax.prepare(preparing.choose(problem), jnp.asarray(problem.X))
        return evaluate(casing, prepared.B)

    jax.block_until_ready(set_up())  # all programs are compiled from here on
    ours, theirs = _turns(set_up, reference.set_up, SETUPS)
    again, theirs_again = _turns(
        lambda: evaluate(prepared.casing, prepared.B), reference.evaluate, EVALUATIONS
    )
    return {
        "setup_seconds": ours.wall_seconds + prepared.extras["tables_seconds"],
        "reference_setup_seconds": theirs.wall_seconds,
        "evaluation_seconds": again.wall_seconds,
        "reference_evaluation_seconds": theirs_again.wall_seconds,
        "cpu_per_wall": again.cpu_per_wall,
        "reference_cpu_per_wall": theirs_again.cpu_per_wall,
        "reference_error_relative": problem.external_error(reference.field),
    }


class Reference:
    """The C++ package on a problem: flat lists, components first, as it wants them."""

    def __init__(self, problem: Problem) -> None:
        self._surface = _flat(problem.X)
        self._field = _flat(problem.B)
        self._problem = problem
        self._casing: Any = None
        self.field = np.empty(0)
        """The last one evaluated, (trg_nphi, trg_ntheta, 3)."""

    def _new(self) -> Any:
        import virtual_casing

        problem = self._problem
        casing = virtual_casing.VirtualCasing()
        casing.setup(
            problem.digits,
            problem.nfp,
            problem.half_period,
            problem.X.shape[0],
            problem.X.shape[1],
            self._surface,
            problem.B.shape[0],
            problem.B.shape[1],
            problem.trg_nphi,
            problem.trg_ntheta,
        )
        return casing

    def set_up(self) -> None:
        """A new object and its first field."""
        self._casing = self._new()
        self.evaluate()

    def evaluate(self) -> None:
        """A further field."""
        values = np.asarray(self._casing.compute_external_B(self._field))
        shape = (3, self._problem.trg_nphi, self._problem.trg_ntheta)
        self.field = np.moveaxis(values.reshape(shape), 0, -1)


@dataclass(frozen=True)
class Spent:
    """Median time of one side's turns."""

    wall_seconds: float
    cpu_per_wall: float


def _turns(ours: Callable, theirs: Callable, count: int) -> tuple[Spent, Spent]:
    """Let both take turns, `count` times or until `ENOUGH_SECONDS` have passed."""
    spent: tuple[list, list] = ([], [])
    started = time.perf_counter()
    for _ in range(count):
        for side, call in zip(spent, (ours, theirs), strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            jax.block_until_ready(call())
            side.append((time.perf_counter() - wall, time.process_time() - cpu))
        if time.perf_counter() - started > ENOUGH_SECONDS:
            break
    first, second = (
        Spent(
            wall_seconds=float(np.median([wall for wall, _ in side])),
            cpu_per_wall=sum(cpu for _, cpu in side) / sum(wall for wall, _ in side),
        )
        for side in spent
    )
    return first, second


def _flat(vectors: np.ndarray) -> list[float]:
    return np.moveaxis(vectors, -1, 0).ravel().tolist()
