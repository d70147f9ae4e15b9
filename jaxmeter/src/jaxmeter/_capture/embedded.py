"""How often each captured array stands in the program that the compiler is handed."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np

_CONSTANT = "stablehlo.constant"
# Above this, an array that alone has its shape and dtype is told by these, and not by its values.
_COMPARED_BYTES = 1_000_000


def occurrences(module: Any, arrays: Sequence[Any]) -> list[int]:
    """How often each array is a constant of an MLIR module.

    Parameters
    ----------
    module : mlir.ir.Module
        As ``lowered.compiler_ir("stablehlo")``.
    arrays : sequence of array
        The captured arrays, as they stand in the jaxpr.

    Returns
    -------
    list of int
        0 for arrays whose elements are all equal: they are embedded as one element. Of arrays
        with equal values, which cannot be told apart, each gets its share.
    """
    counts = [0] * len(arrays)
    alike: dict[str, list[int]] = defaultdict(list)
    for index, array in enumerate(arrays):
        alike[_tensor_type(_plain(array))].append(index)
    found: dict[str, list[Any]] = defaultdict(list)
    for operation in _constants(module.operation):
        found[str(operation.results[0].type)].append(operation)
    for kind in alike.keys() & found.keys():
        indices, operations = alike[kind], found[kind]
        array = _plain(arrays[indices[0]])
        if len(indices) == 1 and array.size * array.dtype.itemsize > _COMPARED_BYTES:
            counts[indices[0]] = len(operations)
            continue
        digests = {index: _digest_alone(_plain(arrays[index])) for index in indices}
        for operation in operations:
            digest = _digest(operation)
            equal = [index for index in indices if digests[index] == digest]
            if equal:
                counts[min(equal, key=lambda index: counts[index])] += 1
    return counts


def _constants(operation: Any) -> Iterator[Any]:
    """The constants that are longer than one element."""
    for region in operation.regions:
        for block in region.blocks:
            for inside in block.operations:
                found = inside.operation
                # By way of the text: to read a constant of complex numbers is an error.
                if found.name == _CONSTANT and "__elided__" in found.get_asm(
                    large_elements_limit=1
                ):
                    yield found
                yield from _constants(found)


def _digest(operation: Any) -> bytes:
    _, _, value = operation.get_asm().partition(" = ")
    return hashlib.sha256(value.encode()).digest()


def _digest_alone(array: Any) -> bytes | None:
    """That of the constant which JAX makes of an array; None if it makes none."""
    module: Any = jax.jit(lambda: array).lower().compiler_ir("stablehlo")
    return next((_digest(operation) for operation in _constants(module.operation)), None)


def _plain(array: Any) -> Any:
    """The numbers of an array of random keys; a numpy array out of JAX's wrapper."""
    array = getattr(array, "val", array)
    if jax.numpy.issubdtype(array.dtype, jax.dtypes.extended):
        return jax.random.key_data(array)
    return array


def _tensor_type(array: Any) -> str:
    """MLIR's name of a type: ``tensor<64x3xf64>``, ``tensor<3xcomplex<f32>>``, ``tensor<i1>``."""
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}{_element_type(array.dtype)}>"


def _element_type(dtype: np.dtype) -> str:
    name, _, variant = dtype.name.partition("_")  # float8_e4m3fn is f8E4M3FN
    if name == "bool":
        return "i1"
    if name.startswith("complex"):
        return f"complex<f{dtype.itemsize * 4}>"
    for long, short in (("bfloat", "bf"), ("float", "f"), ("uint", "ui"), ("int", "i")):
        name = re.sub(f"^{long}", short, name)
    return name + variant.upper()
