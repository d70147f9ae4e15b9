"""What runs in a worker: build a problem, choose, prepare, and hand one evaluation to the meter."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

import vcjax
from benchmarks.workloads.casing import problem_named
from jaxmeter import Case
from vcjax.problems import Problem

# Beyond these a cell has failed: a fast wrong answer is no result. On the W7-X boundary the errors
# of the C++ reference itself; elsewhere ten times what the digits promise.
W7X_ERROR_LIMITS = {3: 1.9e-4, 6: 2.2e-7, 9: 8.6e-10, 12: 1.5e-11}
SETTLED_SETUPS = 3

VARIANTS = ("argument", "closure", "simplified")

T = TypeVar("T")


class WrongAnswer(ArithmeticError):
    """A measured program gave a field that is off by more than its digits allow."""


@dataclass(frozen=True)
class Prepared:
    """A problem, its casing on the device, and what making it cost."""

    problem: Problem
    rule: vcjax.Rule
    casing: vcjax.Casing
    B: jax.Array
    extras: Mapping[str, float]


def external_field(
    *,
    workload: str,
    digits: int,
    half_period: bool,
    variant: str = "argument",
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
) -> Case:
    """The external field of a prepared casing, as the meter's case.

    Parameters
    ----------
    workload : str
        Name of a case in ``benchmarks.workloads.casing``.
    digits, half_period
        Of the problem.
    variant : {"argument", "closure", "simplified"}
        Whether the casing is an argument of the jitted function or closed over; "simplified" closes
        over it too, in a worker started with JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1.
    chunk_size, target_chunk_size : int or "auto"
        Tile of the far field.

    Raises
    ------
    ValueError
        For an unknown variant, or "simplified" in a process started without its setting.
    """
    if variant not in VARIANTS:
        raise ValueError(f"external_field got variant={variant!r}; give one of {VARIANTS}")
    simplified = bool(getattr(jax.config, "jax_use_simplified_jaxpr_constants", False))
    if (variant == "simplified") != simplified:
        raise ValueError(
            f"external_field got variant={variant!r} in a process where simplified constants are "
            f"{'on' if simplified else 'off'}; set JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS in the "
            "cell's env, which is read when JAX is imported"
        )
    prepared = prepare(problem_named(workload, digits=digits, half_period=half_period))

    def evaluate(casing, B):
        return vcjax.external_field(
            casing, B, chunk_size=chunk_size, target_chunk_size=target_chunk_size
        )

    def check(field) -> dict[str, float]:
        return {"error_relative": checked_error(prepared.problem, field)}

    if variant == "argument":
        return Case(
            fn=evaluate, args=(prepared.casing, prepared.B), check=check, extras=prepared.extras
        )

    def evaluate_closure(B):
        return evaluate(prepared.casing, B)

    return Case(fn=evaluate_closure, args=(prepared.B,), check=check, extras=prepared.extras)


def prepare(problem: Problem) -> Prepared:
    """Choose and prepare, several times: the first `prepare` shows what compiling it takes.

    A rule's tables are kept by vcjax, so their time shows once; a surface with another rule needs
    them anew, therefore ``prepare_seconds`` includes them.
    """
    chosen = [timed(lambda: choose(problem)) for _ in range(SETTLED_SETUPS)]
    rule = chosen[-1][1]
    tables_seconds, _ = timed(lambda: vcjax.tables(rule))
    X = jnp.asarray(problem.X)
    made = [timed(lambda: vcjax.prepare(rule, X)) for _ in range(1 + SETTLED_SETUPS)]
    settled = float(np.median([seconds for seconds, _ in made[1:]]))
    casing = made[-1][1]
    extras = {
        "choose_seconds": float(np.median([seconds for seconds, _ in chosen])),
        "tables_seconds": tables_seconds,
        "prepare_seconds": tables_seconds + settled,
        "prepare_compile_seconds": made[0][0] - settled,
        "casing_bytes": float(sum(leaf.nbytes for leaf in jax.tree.leaves(casing))),
    }
    return Prepared(problem, rule, casing, jnp.asarray(problem.B), extras)


def choose(problem: Problem) -> vcjax.Rule:
    """The rule for a problem and its own target grid."""
    return vcjax.choose(
        problem.X,
        problem.B,
        problem.digits,
        nfp=problem.nfp,
        half_period=problem.half_period,
        trg_nphi=problem.trg_nphi,
        trg_ntheta=problem.trg_ntheta,
    )


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Seconds until everything that the call returns is computed, and what it returns."""
    started = time.perf_counter()
    result = jax.block_until_ready(call())
    return time.perf_counter() - started, result


def checked_error(problem: Problem, field: Any) -> float:
    """The error, refused where it is beyond the limit of the problem's digits.

    Raises
    ------
    WrongAnswer
        Above the limit, or where the field is not finite.
    """
    error = problem.external_error(field)
    limit = 10.0 ** (1 - problem.digits)
    if problem.name == "w7x":
        limit = W7X_ERROR_LIMITS.get(problem.digits, limit)
    if not error <= limit:
        raise WrongAnswer(
            f"{problem.name} at {problem.digits} digits: error {error:.2e} of max|B|, limit {limit:.2e}"
        )
    return error
