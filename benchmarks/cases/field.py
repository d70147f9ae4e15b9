"""Cases that evaluate a field or its gradient with a prepared casing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import jax

import vcjax
from benchmarks.cases import variants
from benchmarks.cases.preparing import Prepared, prepare, prepared_casing
from benchmarks.cases.quantities import FIELD, GRADIENT, WrongAnswer
from benchmarks.workloads.casing import problem_named
from jaxmeter import Case

# The torus of case_vc_large has few sources. Therefore the relative error is 0.01 for the field and
# 0.05 for the gradient.
LARGEST_ERROR = 0.1

# Two small arrays of a casing: the matrices that interpolate a field to the nodes. The variant
# "cached" closes over these two arrays only.
SMALL_ARRAYS = ("field_phi", "field_theta")


def external_field(
    *,
    workload: str,
    digits: int,
    half_period: bool,
    variant: str = "argument",
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
    device_count: int | None = None,
) -> Case:
    """Return the case that evaluates the external field of a prepared casing.

    `workload` names a problem in ``benchmarks.workloads.casing``. `variant` is one of `VARIANTS`,
    the ways to give the casing to the jitted function. The variant "simplified" closes over the
    casing, in a process that was started with JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1. `chunk_size`
    and `target_chunk_size` are the numbers of sources and targets in a tile of the far-field sum,
    or "auto". The targets are divided over `device_count` devices, which must be all devices of the
    process. If `device_count` is None, the targets are not divided.
    """
    variants.check_variant("external_field", variant, VARIANTS)
    if device_count is None:
        prepared = prepared_casing(workload, digits, half_period)
    else:
        prepared = _divided(workload, digits, half_period, device_count)

    def evaluate(casing, B):
        return vcjax.external_field(
            casing, B, chunk_size=chunk_size, target_chunk_size=target_chunk_size
        )

    def check(field) -> dict[str, float]:
        return {"error_relative": FIELD.checked_error(prepared.problem, field)}

    made = VARIANTS[variant](Case(evaluate, (prepared.casing, prepared.B)))
    return dataclasses.replace(made, check=check, extras=prepared.extras)


def case_vc_large(*, quantity: str, chunk_size: int | str, target_chunk_size: int | str) -> Case:
    """Return the case that evaluates a quantity for ``case_vc_large``, a torus with few points.

    `quantity` is "field" for the external field, or "gradient" for its gradient. `chunk_size` and
    `target_chunk_size` are as in `external_field`.
    """
    computed = {"field": FIELD, "gradient": GRADIENT}[quantity]
    prepared = prepare(problem_named("case_vc_large"), computed)

    def check(result) -> dict[str, float]:
        error = computed.error(prepared.problem, result)
        if not error <= LARGEST_ERROR:
            raise WrongAnswer(
                f"case_vc_large: the error is {error:.2e}; the limit is {LARGEST_ERROR}"
            )
        return {"error_relative": error}

    return Case(
        fn=partial(computed.evaluate, chunk_size=chunk_size, target_chunk_size=target_chunk_size),
        args=(prepared.casing, prepared.B),
        check=check,
        extras=prepared.extras,
    )


def _divided(workload: str, digits: int, half_period: bool, device_count: int) -> Prepared:
    if jax.device_count() != device_count:
        raise ValueError(
            f"external_field got device_count={device_count}, but jax.device_count() is "
            f"{jax.device_count()}; add --xla_force_host_platform_device_count={device_count} to "
            "XLA_FLAGS in the case's env"
        )
    problem = problem_named(workload, digits=digits, half_period=half_period)
    divided = partial(vcjax.prepare, devices=jax.devices())
    return prepare(problem, dataclasses.replace(FIELD, prepare=divided))


def _cached(case: Case) -> Case:
    """Return a case that captures only two small arrays of the casing, `SMALL_ARRAYS`."""
    import equinox as eqx  # the other variants need no equinox

    casing, B = case.args

    def small(casing: vcjax.Casing) -> list:
        return [getattr(casing, name) for name in SMALL_ARRAYS]

    kept = small(casing)

    def evaluate_with_kept(rest: vcjax.Casing, B: jax.Array) -> jax.Array:
        return case.fn(eqx.tree_at(small, rest, kept, is_leaf=lambda leaf: leaf is None), B)

    return Case(evaluate_with_kept, (eqx.tree_at(small, casing, [None] * len(kept)), B))


def _static_callable(case: Case) -> Case:
    """Return a case with a static callable as an argument; the callable captures the casing."""
    casing, B = case.args
    hidden = variants.Hidden(lambda B: case.fn(casing, B))
    return Case(lambda hidden, B: hidden(B), (hidden, B))


VARIANTS: dict[str, Callable[[Case], Case]] = {
    "argument": lambda case: case,
    "closure": variants.closure,
    "simplified": variants.closure,
    "cached": _cached,
    "hoisted": variants.hoisted,
    "static_callable": _static_callable,
}
