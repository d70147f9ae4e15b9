"""What runs in a worker: one evaluation of a prepared casing, handed to the meter."""

from __future__ import annotations

import jax

import vcjax
from benchmarks.cases.preparing import prepared_casing
from benchmarks.cases.quantities import FIELD
from jaxmeter import Case

VARIANTS = ("argument", "closure", "simplified")


def external_field(
    *,
    workload: str,
    digits: int,
    half_period: bool,
    variant: str = "argument",
    chunk_size: int | str = "auto",
    target_chunk_size: int | str = "auto",
    far_dtype: str | None = None,
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
    far_dtype : str, optional
        In which it is summed, where vcjax knows such a choice; older ones do not.

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
            "case's env, which is read when JAX is imported"
        )
    prepared = prepared_casing(workload, digits, half_period)
    chosen = {} if far_dtype is None else {"far_dtype": far_dtype}

    def evaluate(casing, B):
        return vcjax.external_field(
            casing, B, chunk_size=chunk_size, target_chunk_size=target_chunk_size, **chosen
        )

    def check(field) -> dict[str, float]:
        return {"error_relative": FIELD.checked_error(prepared.problem, field)}

    if variant == "argument":
        return Case(
            fn=evaluate, args=(prepared.casing, prepared.B), check=check, extras=prepared.extras
        )

    def evaluate_closure(B):
        return evaluate(prepared.casing, B)

    return Case(fn=evaluate_closure, args=(prepared.B,), check=check, extras=prepared.extras)
