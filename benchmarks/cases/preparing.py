"""Prepare a problem's casing in a worker, store it for later workers, and time calls."""

from __future__ import annotations

import dataclasses
import os
import pickle
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

import vcjax
from benchmarks.cases.quantities import FIELD, Quantity
from benchmarks.measuring.plan import SCRATCH_VARIABLE
from benchmarks.workloads.casing import problem_named
from jaxmeter import Case
from vcjax.problems import Problem

CHOICES = 3
STEADY_PREPARATIONS = 2
# A comparison of two calls stops after this time: the ratio of their times is then precise enough.
ENOUGH_SECONDS = 5.0

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A problem, its casing and its total field `B`, with the cost of the casing.

    `B` has the shape (src_nphi, src_ntheta, 3). The casing and `B` are on the device. `extras` has
    the bytes of the casing. If this process prepared the casing, `extras` also has the times to
    choose the rule, make its tables and prepare the surface.
    """

    problem: Problem
    casing: vcjax.Casing | vcjax.GradientCasing
    B: jax.Array
    extras: Mapping[str, float]


def preparation(*, workload: str, digits: int, half_period: bool) -> Case:
    """Return the case that prepares a casing; the check stores the casing for later workers."""
    problem = problem_named(workload, digits=digits, half_period=half_period)
    rule, extras = chosen(problem)

    def prepare_casing(X, constants):
        return vcjax.prepare(rule, X, constants=constants)

    def check(casing: vcjax.Casing) -> dict[str, float]:
        path = _casing_file(workload, digits, half_period)
        if path is not None:
            path.write_bytes(pickle.dumps((problem, jax.tree.map(np.asarray, casing))))
        return {"casing_bytes": array_bytes(casing)}

    arguments = (jnp.asarray(problem.X), vcjax.tables(rule))
    return Case(fn=prepare_casing, args=arguments, check=check, extras=extras)


def prepared_casing(workload: str, digits: int, half_period: bool) -> Prepared:
    """Return the casing that an earlier worker stored; if no casing is stored, prepare it."""
    path = _casing_file(workload, digits, half_period)
    if path is None or not path.exists():
        return prepare(problem_named(workload, digits=digits, half_period=half_period))
    problem, casing = pickle.loads(path.read_bytes())
    casing = jax.tree.map(jnp.asarray, casing)
    extras = {"casing_bytes": array_bytes(casing)}
    return Prepared(problem, casing, jnp.asarray(problem.B), extras)


def prepare(problem: Problem, quantity: Quantity = FIELD) -> Prepared:
    """Choose a rule, prepare the surface several times, and return the last result with times.

    The first preparation compiles. ``prepare_seconds`` is the sum of two times: the time to make
    the tables of the rule, and the median time of the later preparations. vcjax keeps these tables,
    but a surface with another rule needs new tables.
    """
    rule, extras = chosen(problem, quantity)
    X = jnp.asarray(problem.X)
    made = [timed(lambda: quantity.prepare(rule, X)) for _ in range(1 + STEADY_PREPARATIONS)]
    steady = float(np.median([seconds for seconds, _ in made[1:]]))
    casing = made[-1][1]
    extras = {
        **extras,
        "prepare_seconds": extras["tables_seconds"] + steady,
        "prepare_compile_seconds": made[0][0] - steady,
        "casing_bytes": array_bytes(casing),
    }
    return Prepared(problem, casing, jnp.asarray(problem.B), extras)


def chosen(problem: Problem, quantity: Quantity = FIELD) -> tuple[vcjax.Rule, dict[str, float]]:
    """Return the rule of a problem, with the seconds to choose the rule and to make its tables."""
    choices = [timed(lambda: choose(problem, quantity)) for _ in range(CHOICES)]
    rule = choices[-1][1]
    # Warm-up: making the first tables of a process loads parts of numpy. The warm-up uses another
    # rule, because vcjax keeps the tables of a rule and would not make them a second time.
    quantity.tables(dataclasses.replace(rule, cutoff=float(np.nextafter(rule.cutoff, np.inf))))
    tables_seconds, _ = timed(lambda: quantity.tables(rule))
    choose_seconds = float(np.median([seconds for seconds, _ in choices]))
    return rule, {"choose_seconds": choose_seconds, "tables_seconds": tables_seconds}


def choose(problem: Problem, quantity: Quantity = FIELD) -> vcjax.Rule:
    """Return the rule that vcjax chooses for a problem and the problem's target grid."""
    return vcjax.choose(
        problem.X,
        problem.B,
        problem.digits,
        **symmetry(problem),
        trg_nphi=problem.trg_nphi,
        trg_ntheta=problem.trg_ntheta,
        gradient=quantity.gradient,
    )


def choose_off_surface(problem: Problem, **options: Any) -> vcjax.Rule:
    """Return the rule for points off the surface, with options of `vcjax.choose_off_surface`."""
    given = problem.X, problem.B, problem.digits
    return vcjax.choose_off_surface(*given, **symmetry(problem), **options)


def symmetry(problem: Problem) -> dict[str, Any]:
    """Return the keyword arguments of vcjax that describe the symmetry of a problem."""
    return {"nfp": problem.nfp, "half_period": problem.half_period}


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Call a function, wait for its results, and return the elapsed seconds and the results."""
    started = time.perf_counter()
    result = jax.block_until_ready(call())
    return time.perf_counter() - started, result


@dataclasses.dataclass(frozen=True)
class Timing:
    """Median time of a call, and the processor time of all calls divided by their elapsed time."""

    wall_seconds: float
    cpu_per_wall: float


def timed_interleaved(first: Callable, second: Callable, count: int) -> tuple[Timing, Timing]:
    """Time two calls alternately, up to `count` times each; stop after `ENOUGH_SECONDS`."""
    times: tuple[list, list] = ([], [])
    started = time.perf_counter()
    for _ in range(count):
        for side, call in zip(times, (first, second), strict=True):
            cpu = time.process_time()
            wall_seconds, _ = timed(call)
            side.append((wall_seconds, time.process_time() - cpu))
        if time.perf_counter() - started > ENOUGH_SECONDS:
            break
    one, other = (
        Timing(
            wall_seconds=float(np.median([wall for wall, _ in side])),
            cpu_per_wall=sum(cpu for _, cpu in side) / sum(wall for wall, _ in side),
        )
        for side in times
    )
    return one, other


def array_bytes(tree: Any) -> float:
    """Return the total size of a pytree's arrays, in bytes."""
    return float(sum(leaf.nbytes for leaf in jax.tree.leaves(tree)))


def scratch_file(name: str) -> Path | None:
    """Return the path of a temporary file that the workers of a run share; None outside a run."""
    scratch = os.environ.get(SCRATCH_VARIABLE)
    return Path(scratch) / name if scratch else None


def _casing_file(workload: str, digits: int, half_period: bool) -> Path | None:
    period = "half" if half_period else "full"
    return scratch_file(f"{workload}-d{digits}-{period}.pickle")
