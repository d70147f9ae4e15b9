"""In a worker: from a problem to a casing on the device, and from one worker to the next."""

from __future__ import annotations

import dataclasses
import os
import pickle
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

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
SETTLED_PREPARATIONS = 2

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Prepared:
    """A problem, its casing and total field on the device, and what making them cost."""

    problem: Problem
    casing: vcjax.Casing | vcjax.GradientCasing
    B: jax.Array
    extras: Mapping[str, float]


def preparation(*, workload: str, digits: int, half_period: bool) -> Case:
    """The preparation of a casing as the meter's case; its check hands the casing on."""
    problem = problem_named(workload, digits=digits, half_period=half_period)
    rule, extras = chosen(problem)

    def prepare_casing(X, constants):
        return vcjax.prepare(rule, X, constants=constants)

    def check(casing: vcjax.Casing) -> dict[str, float]:
        path = _handed_on(workload, digits, half_period)
        if path is not None:
            path.write_bytes(pickle.dumps((problem, jax.tree.map(np.asarray, casing))))
        return {"casing_bytes": _casing_bytes(casing)}

    arguments = (jnp.asarray(problem.X), vcjax.tables(rule))
    return Case(fn=prepare_casing, args=arguments, check=check, extras=extras)


def prepared_casing(workload: str, digits: int, half_period: bool) -> Prepared:
    """The casing that an earlier worker handed on; made here where there is none."""
    path = _handed_on(workload, digits, half_period)
    if path is None or not path.exists():
        return prepare(problem_named(workload, digits=digits, half_period=half_period))
    problem, casing = pickle.loads(path.read_bytes())
    casing = jax.tree.map(jnp.asarray, casing)
    extras = {"casing_bytes": _casing_bytes(casing)}
    return Prepared(problem, casing, jnp.asarray(problem.B), extras)


def prepare(problem: Problem, quantity: Quantity = FIELD) -> Prepared:
    """Choose and prepare, several times: the first `prepare` shows what compiling it takes.

    vcjax keeps the tables of a rule, but a surface with another rule needs new ones, therefore
    ``prepare_seconds`` includes them.
    """
    rule, extras = chosen(problem, quantity)
    X = jnp.asarray(problem.X)
    made = [timed(lambda: quantity.prepare(rule, X)) for _ in range(1 + SETTLED_PREPARATIONS)]
    steady = float(np.median([seconds for seconds, _ in made[1:]]))
    casing = made[-1][1]
    extras = {
        **extras,
        "prepare_seconds": extras["tables_seconds"] + steady,
        "prepare_compile_seconds": made[0][0] - steady,
        "casing_bytes": _casing_bytes(casing),
    }
    return Prepared(problem, casing, jnp.asarray(problem.B), extras)


def chosen(problem: Problem, quantity: Quantity = FIELD) -> tuple[vcjax.Rule, dict[str, float]]:
    """The rule of a problem, and the seconds that choosing it and its tables take."""
    choices = [timed(lambda: choose(problem, quantity)) for _ in range(CHOICES)]
    rule = choices[-1][1]
    # A rule that differs by nothing that matters: the first tables of a process also pay for what
    # numpy loads on first use, and those of the very same rule would be kept.
    quantity.tables(dataclasses.replace(rule, cutoff=float(np.nextafter(rule.cutoff, np.inf))))
    tables_seconds, _ = timed(lambda: quantity.tables(rule))
    choose_seconds = float(np.median([seconds for seconds, _ in choices]))
    return rule, {"choose_seconds": choose_seconds, "tables_seconds": tables_seconds}


def choose(problem: Problem, quantity: Quantity = FIELD) -> vcjax.Rule:
    """The rule for a problem and its own target grid."""
    return vcjax.choose(
        problem.X,
        problem.B,
        problem.digits,
        nfp=problem.nfp,
        half_period=problem.half_period,
        trg_nphi=problem.trg_nphi,
        trg_ntheta=problem.trg_ntheta,
        gradient=quantity.gradient,
    )


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Seconds until everything that the call returns is computed, and what it returns."""
    started = time.perf_counter()
    result = jax.block_until_ready(call())
    return time.perf_counter() - started, result


def _casing_bytes(casing: vcjax.Casing | vcjax.GradientCasing) -> float:
    return float(sum(leaf.nbytes for leaf in jax.tree.leaves(casing)))


def _handed_on(workload: str, digits: int, half_period: bool) -> Path | None:
    scratch = os.environ.get(SCRATCH_VARIABLE)
    period = "half" if half_period else "full"
    return Path(scratch) / f"{workload}-d{digits}-{period}.pickle" if scratch else None
