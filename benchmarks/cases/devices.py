"""What runs in a worker with several devices."""

from __future__ import annotations

import dataclasses
from functools import partial

import jax

import vcjax
from benchmarks.cases.preparing import prepare
from benchmarks.cases.quantities import FIELD
from benchmarks.workloads.casing import problem_named
from jaxmeter import Case


def external_field(*, workload: str, digits: int, half_period: bool, device_count: int) -> Case:
    """The external field, its targets divided over all devices, as the meter's case.

    Raises
    ------
    ValueError
        In a process with another number of devices.
    """
    if jax.device_count() != device_count:
        raise ValueError(
            f"external_field got device_count={device_count} in a process with "
            f"{jax.device_count()} devices; set XLA_FLAGS in the case's env"
        )
    problem = problem_named(workload, digits=digits, half_period=half_period)
    divided = partial(vcjax.prepare, devices=jax.devices())
    prepared = prepare(problem, dataclasses.replace(FIELD, prepare=divided))

    def check(field) -> dict[str, float]:
        return {"error_relative": FIELD.checked_error(problem, field)}

    return Case(
        fn=vcjax.external_field,
        args=(prepared.casing, prepared.B),
        check=check,
        extras=prepared.extras,
    )
