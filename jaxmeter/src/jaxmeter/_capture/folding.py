"""Estimate the time of constant folding.

If an operation depends only on captured arrays, the compiler may evaluate the operation in every
compile. The compiler then uses an interpreter, which can take thousands of times as long as the
compiled program. The estimates are right to the order of magnitude; README.md gives measured times.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator
from typing import Any

from jaxmeter._capture.constants import closed_over, identity
from jaxmeter._capture.uses import passed_operands, use_at
from jaxmeter._program.jaxprs import inner
from jaxmeter._program.places import Place, places_of_equation
from jaxmeter._records.audit import Folding, Use
from jaxmeter._render.units import type_text

ALARM_SECONDS = 0.5
"""The shortest folding time that an audit reports, in seconds."""

# The time in seconds that the compiler's interpreter takes for one comparison, one element of a
# window, and so on. Measured with JAX 0.10.2 on one CPU core.
_COMPARISON_SECONDS = 4e-5
_WINDOW_STEP_SECONDS = 1e-7
_REDUCTION_SECONDS = 6e-6
_SCATTER_SECONDS = 8e-6
_PRODUCT_SECONDS = 1.2e-7
_CONVOLUTION_SECONDS = 4e-8


def foldings(
    closed_jaxpr: Any, embedded: Collection[Hashable], least_seconds: float = ALARM_SECONDS
) -> tuple[Folding, ...]:
    """Return the operations that the compiler may fold, the slowest first. ``embedded`` contains
    the `identity` of each embedded array. Operations with an estimated folding time below
    ``least_seconds`` are left out."""
    found = {}
    for equation, use in _on_constants(closed_jaxpr, set(), None, [], embedded):
        seconds = _seconds(equation)
        if seconds >= least_seconds:
            found[id(equation)] = Folding(
                operation=equation.primitive.name,
                shape=type_text(equation.invars[0].aval),
                seconds=float(f"{seconds:.1g}"),
                uses=() if use is None else (use,),
            )
    return tuple(sorted(found.values(), key=lambda folding: -folding.seconds))


def _on_constants(
    jaxpr: Any,
    given: set[Any],
    caller: Use | None,
    outer: list[Place],
    embedded: Collection[Hashable],
) -> Iterator[tuple[Any, Use | None]]:
    """Yield the equations that the compiler may fold, because they depend only on embedded arrays.

    Each equation comes with its source line, or with None if the line is not known. ``given``
    contains the inputs of ``jaxpr`` that depend only on embedded arrays. If ``jaxpr`` belongs to a
    jitted function, ``caller`` is the line that calls the function. Every equation of ``jaxpr``
    then comes with this line, because the lines that JAX reports belong to the function's first
    trace, which another call may have caused. ``outer`` contains the places of the equation that
    has ``jaxpr``.
    """
    body = inner(jaxpr)
    captured = {variable for variable, array in closed_over(jaxpr) if identity(array) in embedded}
    known = given | captured
    fixed: set[Any] = set()  # variables that are computed without any array, such as by iota

    def is_known(atom: Any) -> bool:
        if hasattr(atom, "val"):
            return hasattr(atom.val, "shape") and identity(atom.val) in embedded
        return atom in known

    for equation in body.eqns:
        constant = [is_known(atom) for atom in equation.invars]
        name, places = equation.primitive.name, places_of_equation(equation, outer)
        for sub, operands in passed_operands(equation):
            passed = zip(inner(sub).invars, operands, strict=False)
            held = {variable for variable, index in passed if constant[index] and name != "while"}
            line = caller or (use_at(places) if name == "jit" else None)
            yield from _on_constants(sub, held, line, places, embedded)
        alone = all(
            is_constant or hasattr(atom, "val") or atom in fixed
            for is_constant, atom in zip(constant, equation.invars, strict=True)
        )
        # The compiler folds neither loops nor operations that have effects.
        if not alone or name in ("while", "scan") or equation.effects:
            continue
        if not any(constant):
            fixed.update(equation.outvars)
        else:
            known.update(equation.outvars)
            if name != "jit":
                yield equation, caller or use_at(places)


def _seconds(equation: Any) -> float:
    """Return the estimated time of folding an equation, in seconds; 0 for an equation that is
    folded quickly or not at all."""
    name, params = equation.primitive.name, equation.params
    avals = [atom.aval for atom in equation.invars]
    shape: Any = tuple(getattr(avals[0], "shape", ()))
    size = getattr(avals[0], "size", 0)
    if name in ("sort", "top_k", "approx_top_k"):
        axis = shape[params.get("dimension", -1)] if shape else 1
        return _COMPARISON_SECONDS * size * math.log2(max(axis, 2))
    if name.startswith("cum"):
        return _WINDOW_STEP_SECONDS * size * shape[params["axis"]]
    if name.startswith("reduce_window"):
        return _WINDOW_STEP_SECONDS * size * math.prod(params["window_dimensions"])
    if name in ("reduce_max", "reduce_min", "reduce_prod", "argmax", "argmin"):
        return _REDUCTION_SECONDS * size
    if name.startswith("scatter"):
        return _SCATTER_SECONDS * size
    if name == "dot_general":
        return _PRODUCT_SECONDS * _products_count(equation)
    if name == "conv_general_dilated":
        out = math.prod(equation.outvars[0].aval.shape)
        return _CONVOLUTION_SECONDS * out * math.prod(avals[1].shape[1:])
    return 0.0


def _products_count(equation: Any) -> int:
    (left, right), batch = equation.params["dimension_numbers"]
    shape = equation.invars[0].aval.shape
    if batch == ((), ()) and tuple(left) == (len(shape) - 1,) and tuple(right) == (0,):
        return 0  # a plain matrix product, which the compiler folds quickly
    contracted = math.prod(shape[axis] for axis in left)
    return math.prod(equation.outvars[0].aval.shape) * contracted
