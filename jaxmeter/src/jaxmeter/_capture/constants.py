"""Arrays that enter a program other than as arguments.

Captured and embedded are different numbers. An array that is used both directly and inside a
nested jit is captured once and embedded twice; one that is used only by code whose result is
dropped is captured and not embedded at all; and one whose elements are all equal is captured, and
embedded as a single element (a *splat*), which counts as nothing.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Hashable, Iterator
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal

from jaxmeter._compare.answers import values_fingerprint
from jaxmeter._program.jaxprs import inner, label, sub_jaxprs
from jaxmeter._records.record import ConstantArray, Constants

# One line of MLIR: %cst = stablehlo.constant dense_resource<__elided__> : tensor<64x3xf64>
_ELIDED_CONSTANT = re.compile(
    r"^ *%\w+ = stablehlo\.constant (?:\{.*\} )?dense_resource<[^>]*> : "
    r"tensor<((?:\d+x)+)([^,\n]+?)(?:, .*)?>$",
    re.MULTILINE,
)


def count_constants(closed_jaxpr: Any, lowered: jax.stages.Lowered | None = None) -> Constants:
    """Count the constants of a program.

    Parameters
    ----------
    closed_jaxpr : jax.extend.core.ClosedJaxpr
        The traced program, as ``jax.jit(f).trace(*args).jaxpr``.
    lowered : jax.stages.Lowered, optional
        The same program lowered. Without it the embedded and hidden counts are None.
    """
    arrays = captured_arrays(closed_jaxpr)
    constants = Constants(
        captured_bytes=sum(array.bytes for array in arrays),
        captured_count=len(arrays),
        arrays=arrays,
    )
    if lowered is None:
        return constants
    embedded = embedded_sizes(lowered.compiler_ir("stablehlo"))
    hidden = hidden_argument_sizes(lowered)
    return dataclasses.replace(
        constants,
        embedded_bytes=sum(embedded),
        embedded_count=len(embedded),
        hidden_argument_bytes=None if hidden is None else sum(hidden),
        hidden_argument_count=None if hidden is None else len(hidden),
    )


def captured_arrays(closed_jaxpr: Any) -> tuple[ConstantArray, ...]:
    """Distinct arrays in a jaxpr and all its sub-jaxprs, in the order of their first use."""
    return tuple(description for _, description in captured_values(closed_jaxpr).values())


def captured_fingerprint(closed_jaxpr: Any) -> str:
    """What tells apart captures of other values: the SHA-256 of all, in the order of first use."""
    return values_fingerprint(array for array, _ in captured_values(closed_jaxpr).values())


def captured_values(closed_jaxpr: Any) -> dict[Hashable, tuple[Any, ConstantArray]]:
    """The distinct arrays themselves, each with its description, by their `identity`."""
    found: dict[Hashable, tuple[Any, ConstantArray]] = {}
    for array, where in _captured(closed_jaxpr, (), set()):
        key = identity(array)
        if key not in found:
            description = ConstantArray(
                shape=tuple(int(n) for n in array.shape),
                dtype=str(array.dtype),
                bytes=_array_bytes(array),
                where="/".join(where),
            )
            found[key] = array, description
    return found


def _captured(
    jaxpr: Any, where: tuple[str, ...], seen: set[int]
) -> Iterator[tuple[Any, tuple[str, ...]]]:
    if id(jaxpr) in seen:
        return
    seen.add(id(jaxpr))
    for array in getattr(jaxpr, "consts", ()):
        if hasattr(array, "shape"):
            yield array, where
    body = inner(jaxpr)
    for equation in body.eqns:
        for variable in equation.invars:
            if isinstance(variable, Literal) and is_captured(variable.val):
                yield variable.val, where
        for sub in sub_jaxprs(equation):
            yield from _captured(sub, (*where, label(equation)), seen)
    for variable in body.outvars:
        if isinstance(variable, Literal) and is_captured(variable.val):
            yield variable.val, where


def is_captured(value: Any) -> bool:
    """Whether the value of a literal in a jaxpr was an array to its author.

    Scalars such as the 2.0 of ``2.0 * x`` are literals too; only a jax.Array of shape () is an
    array.
    """
    return isinstance(value, jax.Array) or (hasattr(value, "shape") and len(value.shape) > 0)


def identity(array: Any) -> Hashable:
    """What two captures of one array share, while it lives.

    JAX wraps a numpy array again at each use (in ``TypedNdArray``, up to 0.7 ``LiteralArray``), so
    numpy arrays are told by their memory; a view of another shape is another array.
    """
    if isinstance(array, jax.Array):
        return id(array)
    held = getattr(array, "val", array)
    if not isinstance(held, np.ndarray):
        return id(held)
    return (held.__array_interface__["data"][0], held.shape, held.strides, held.dtype.str)


def _array_bytes(array: Any) -> int:
    if jax.numpy.issubdtype(array.dtype, jax.dtypes.extended):
        # A random key's own dtype has no size that numpy knows.
        array = jax.random.key_data(array)
    return math.prod(array.shape) * np.dtype(array.dtype).itemsize


def embedded_sizes(module: Any) -> list[int]:
    """Bytes of each non-splat ``stablehlo.constant`` in an MLIR module, in order.

    Parameters
    ----------
    module : mlir.ir.Module
        As ``lowered.compiler_ir("stablehlo")``.
    """
    # By way of the text, since the values cannot all be asked: reading one of complex numbers
    # raises a TypeError, and aborts the process on JAX 0.7. The printer elides what is longer
    # than its limit and no splat, so the text is short however large the constants are.
    text = module.operation.get_asm(large_elements_limit=1)
    return [
        _tensor_bytes(dimensions, element) for dimensions, element in _ELIDED_CONSTANT.findall(text)
    ]


def _tensor_bytes(dimensions: str, element: str) -> int:
    # The width is the first number in the name: f64, bf16, i1, ui8, f8E4M3FN, complex<f32>. What
    # is narrower than a byte takes one, as it does in the array.
    width = re.search(r"\d+", element)
    if width is None:
        raise ValueError(f"embedded_sizes: got a constant of the unknown type {element}")
    item_bytes = math.ceil(int(width.group()) / 8) * (2 if element.startswith("complex") else 1)
    return math.prod(int(n) for n in dimensions.split("x") if n) * item_bytes


def hidden_argument_sizes(lowered: jax.stages.Lowered) -> list[int] | None:
    """Bytes of each array that JAX passes as a hidden argument.

    There are none unless the process began with JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS=1. None if
    this JAX does not tell: the list is private to it.
    """
    hidden = hidden_arguments(lowered)
    return None if hidden is None else [_array_bytes(array) for array in hidden]


def hidden_arguments(lowered: jax.stages.Lowered) -> list[Any] | None:
    """The arrays themselves; None if this JAX does not tell."""
    hidden = getattr(getattr(lowered, "_lowering", None), "const_args", None)
    return None if hidden is None else list(hidden)
