"""The closure study's variants for the virtual casing: a field of W7-X, its casing reached in ways.

The same as for the coronagraph, of a program that is used: an optimiser evaluates one casing for
many fields.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax

import jaxmeter
import vcjax
from benchmarks.cases import field
from benchmarks.cases.closure_variants import Hidden
from benchmarks.closure import VARIANTS
from jaxmeter import Case

SMALL_ARRAYS = ("field_phi", "field_theta")
"""Matrices of an interpolation, the smallest of a casing's arrays: what "cached" closes over."""


def external_field(*, workload: str, digits: int, half_period: bool, variant: str) -> Case:
    """The external field with its casing reached by one of `VARIANTS`, as the meter's case.

    Raises
    ------
    ValueError
        For an unknown variant, or "simplified" in a process started without its setting.
    """
    if variant not in VARIANTS:
        raise ValueError(f"external_field got variant={variant!r}; give one of {VARIANTS}")
    made_here = variant not in field.VARIANTS
    case = field.external_field(
        workload=workload,
        digits=digits,
        half_period=half_period,
        variant="argument" if made_here else variant,
    )
    return _MADE[variant](case) if made_here else case


def _cached(case: Case) -> Case:
    """The small arrays are closed over; those that make up the casing's bytes are passed."""
    evaluate, (casing, B) = case.fn, case.args

    def small(casing: vcjax.Casing) -> list[Any]:
        return [getattr(casing, name) for name in SMALL_ARRAYS]

    kept = small(casing)

    def evaluate_with_kept(rest: vcjax.Casing, B: jax.Array) -> jax.Array:
        return evaluate(eqx.tree_at(small, rest, kept, is_leaf=lambda leaf: leaf is None), B)

    rest = eqx.tree_at(small, casing, [None] * len(kept))
    return dataclasses.replace(case, fn=evaluate_with_kept, args=(rest, B))


def _hoisted(case: Case) -> Case:
    """The closure, its arrays made arguments by jaxmeter."""
    evaluate, (casing, B) = case.fn, case.args
    function, constants = jaxmeter.hoist(lambda B: evaluate(casing, B), B)
    return dataclasses.replace(case, fn=function, args=(constants, B))


def _static_callable(case: Case) -> Case:
    """An object that looks like an argument, but holds the casing in a callable of its metadata."""
    evaluate, (casing, B) = case.fn, case.args
    split = Hidden(lambda B: evaluate(casing, B))
    return dataclasses.replace(case, fn=lambda split, B: split(B), args=(split, B))


_MADE = {"cached": _cached, "hoisted": _hoisted, "static_callable": _static_callable}
