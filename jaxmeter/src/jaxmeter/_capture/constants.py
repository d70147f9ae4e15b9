"""Count the arrays that a function captures, and the constants that its program embeds.

A captured array is not always embedded exactly once. Examples:

- An array that is used both directly and inside a nested jit is captured once and embedded twice.
- An array is captured but not embedded if no result of the function depends on the array.
- An array whose elements are all equal is captured, and is embedded as a single element (a
  *splat*). A splat does not count as an embedded constant.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import math
import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import jax
import numpy as np
from jax.interpreters import mlir

from jaxmeter._program.jaxprs import inner, label, sub_jaxprs
from jaxmeter._records.record import ConstantArray, Constants

_PLAIN = re.compile(r"x(f16|f32|f64|i1|u?i(8|16|32|64))>$")
"""Matches the end of an MLIR type if constants of the type are hashed as bytes. All other constants
are hashed as printed text, which takes ten times as long."""
_PRINTED_BYTES = 1_000_000
"""If a program has a single captured array and a single constant of a type that is hashed as text,
a constant above this size is searched for the bytes of the array instead. In a smaller constant,
the bytes could be found by chance."""


def count_constants(closed_jaxpr: Any, lowered: jax.stages.Lowered | None = None) -> Constants:
    """Count the captured arrays of a program. If ``lowered`` is given, also count the embedded
    constants, and the captured arrays that JAX passes to the program instead of embedding them."""
    arrays = tuple(description for _, description in captured_values(closed_jaxpr).values())
    constants = Constants(
        captured_bytes=sum(array.bytes for array in arrays),
        captured_count=len(arrays),
        arrays=arrays,
    )
    if lowered is None:
        return constants
    embedded = embedded_constants(lowered)
    hidden = hidden_arguments(lowered)
    return dataclasses.replace(
        constants,
        embedded_bytes=sum(constant.bytes for constant in embedded),
        embedded_count=len(embedded),
        hidden_argument_bytes=None if hidden is None else sum(map(_array_bytes, hidden)),
        hidden_argument_count=None if hidden is None else len(hidden),
    )


def captured_values(closed_jaxpr: Any) -> dict[Hashable, tuple[Any, ConstantArray]]:
    """Return the arrays that a jaxpr and its sub-jaxprs capture, each with its description. Each
    key of the dictionary is the `identity` of an array.

    The arrays that a jaxpr closes over come first, then the arrays in its equations and their
    sub-jaxprs, then the arrays among its results.
    """
    found: dict[Hashable, tuple[Any, ConstantArray]] = {}
    for array, where in _captured(closed_jaxpr, (), set()):
        key = identity(array)
        if key not in found:
            shape, dtype = tuple(map(int, array.shape)), str(array.dtype)
            found[key] = array, ConstantArray(shape, dtype, _array_bytes(array), "/".join(where))
    return found


def _captured(
    jaxpr: Any, where: tuple[str, ...], seen: set[int]
) -> Iterator[tuple[Any, tuple[str, ...]]]:
    if id(jaxpr) in seen:
        return
    seen.add(id(jaxpr))
    yield from ((array, where) for _, array in closed_over(jaxpr))
    body = inner(jaxpr)
    for equation in body.eqns:
        yield from ((atom.val, where) for atom in equation.invars if _is_captured(atom))
        for sub in sub_jaxprs(equation):
            yield from _captured(sub, (*where, label(equation)), seen)
    yield from ((atom.val, where) for atom in body.outvars if _is_captured(atom))


def closed_over(jaxpr: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each variable of a closed jaxpr that stands for a captured array, with the array."""
    for variable, array in zip(inner(jaxpr).constvars, getattr(jaxpr, "consts", ()), strict=False):
        if hasattr(array, "shape"):
            yield variable, array


def _is_captured(atom: Any) -> bool:
    """Return whether an atom of a jaxpr is a literal that was an array in the user's code.

    JAX also makes literals of Python scalars, such as the 2.0 of ``2.0 * x``. A literal of shape ()
    therefore counts only if it is a `jax.Array`.
    """
    value = getattr(atom, "val", None)  # a variable has no value
    return isinstance(value, jax.Array) or len(getattr(value, "shape", ())) > 0


def identity(array: Any) -> Hashable:
    """Return a key that is the same for every capture of an array while the array exists.

    JAX wraps a numpy array in a new object at each use, so the key of a numpy array is made of its
    memory address, shape, strides and dtype. A view with another shape counts as a different array.
    """
    if isinstance(array, jax.Array):
        return id(array)
    held = getattr(array, "val", array)
    if not isinstance(held, np.ndarray):
        return id(held)
    return (held.__array_interface__["data"][0], held.shape, held.strides, held.dtype.str)


def plain(array: Any) -> Any:
    """Return an array without JAX's wrapper; for random keys, return the keys' data."""
    array = getattr(array, "val", array)  # JAX wraps the numpy arrays in a jaxpr
    if isinstance(array, jax.Array) and jax.numpy.issubdtype(array.dtype, jax.dtypes.extended):
        return jax.random.key_data(array)
    return array


def _array_bytes(array: Any) -> int:
    array = plain(array)
    return math.prod(array.shape) * np.dtype(array.dtype).itemsize


def hidden_arguments(lowered: jax.stages.Lowered) -> list[Any] | None:
    """Return the captured arrays that JAX passes to the program as arguments instead of embedding
    them; None if JAX does not report these arrays. The list is empty unless
    JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS is set."""
    hidden = getattr(getattr(lowered, "_lowering", None), "const_args", None)
    return None if hidden is None else list(hidden)


@dataclasses.dataclass(frozen=True)
class EmbeddedConstant:
    """A ``stablehlo.constant`` in a lowered program, with elements that are not all equal."""

    module: Any
    """The MLIR module of the operation. The module must exist as long as the operation is used."""
    operation: Any
    type: str
    """The type in MLIR's notation, such as ``tensor<64x3xf64>``."""

    @property
    def bytes(self) -> int:
        kind = self.operation.results[0].type
        parts = [kind.element_type]
        if hasattr(parts[0], "element_type"):  # a complex number has two parts of the same type
            parts = 2 * [parts[0].element_type]
        # An element of less than 8 bits is counted as a whole byte, as in numpy.
        return math.prod(kind.shape) * sum(math.ceil(part.width / 8) for part in parts)

    def raw(self) -> np.ndarray:
        """Return the elements as bytes. The type must match `_PLAIN`."""
        return _raw(np.asarray(self.operation.attributes["value"]))

    def bytecode(self) -> bytes:
        """Return the operation in MLIR's binary format. It contains the elements as bytes."""
        stream = io.BytesIO()
        self.operation.write_bytecode(stream)
        return stream.getvalue()

    def digest(self) -> bytes:
        """Return a hash that is equal for equal constants of the same type."""
        if _PLAIN.search(self.type):
            return hashlib.sha256(self.raw().data).digest()
        _, _, value = self.operation.get_asm(use_local_scope=True).partition(" = ")
        return hashlib.sha256(value.encode()).digest()


def embedded_constants(lowered: jax.stages.Lowered) -> list[EmbeddedConstant]:
    """Return the constants in the StableHLO of a program, in order, without constants whose
    elements are all equal."""
    module: Any = lowered.compiler_ir("stablehlo")
    found = _constants(module.operation)
    return [EmbeddedConstant(module, one, str(one.results[0].type)) for one in found]


def _constants(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inside in block.operations:
                found = inside.operation
                if found.name == "stablehlo.constant" and not _is_splat(found):
                    yield found
                yield from _constants(found)


def _is_splat(constant: Any) -> bool:
    """Return whether a ``stablehlo.constant`` has no elements or only equal elements.

    If the attribute ``is_splat`` cannot be read, the operation is converted to text. MLIR shortens
    this text only if the values are not all equal. The conversion of 1000 operations
    takes seconds.
    """
    kind = constant.results[0].type
    if not kind.shape or 0 in kind.shape:
        return True  # a scalar, or an empty array
    # Reading a complex value raises a TypeError; on JAX 0.7, it aborts the process.
    is_complex = "complex" in str(kind)
    splat = None if is_complex else getattr(constant.attributes["value"], "is_splat", None)
    if splat is not None:
        return splat
    return "__elided__" not in constant.get_asm(large_elements_limit=1, use_local_scope=True)


def embedded_counts(
    embedded: list[EmbeddedConstant], arrays: Mapping[Hashable, Any]
) -> dict[Hashable, int]:
    """Return a dictionary from the `identity` of each captured array to the number of times that
    the array is embedded.

    An array whose elements are all equal has the count 0, because it is embedded as a single
    element. If several captured arrays have equal values, the embedded constants with these values
    are divided among the arrays.
    """
    counts = dict.fromkeys(arrays, 0)
    values = {key: _embedded_form(plain(array)) for key, array in arrays.items()}
    alike: dict[str, list[Hashable]] = defaultdict(list)
    for key, array in values.items():
        alike[_tensor_type(array)].append(key)
    found: dict[str, list[EmbeddedConstant]] = defaultdict(list)
    for constant in embedded:
        found[constant.type].append(constant)
    compared, digests = [], {}
    for kind, keys in alike.items():
        if found[kind] and _PLAIN.search(kind):
            raw = {key: _raw(values[key]) for key in keys}
            if len(keys) == 1:  # comparing is faster than hashing
                equal = (np.array_equal(raw[keys[0]], one.raw()) for one in found[kind])
                counts[keys[0]] = sum(equal)
            else:
                digests |= {key: hashlib.sha256(raw[key].data).digest() for key in keys}
        elif len(keys) == len(found[kind]) == 1 and found[kind][0].bytes > _PRINTED_BYTES:
            counts[keys[0]] = int(_raw(values[keys[0]]).tobytes() in found[kind][0].bytecode())
        elif found[kind]:
            compared += keys
    digests |= dict(zip(compared, _jax_digests([values[key] for key in compared]), strict=True))
    for kind, keys in alike.items():
        if keys[0] not in digests:
            continue
        for digest in (constant.digest() for constant in found[kind]):
            equal = [key for key in keys if digests[key] == digest]
            if equal:
                counts[min(equal, key=lambda key: counts[key])] += 1
    return counts


def _embedded_form(array: Any) -> Any:
    """Return an array without the axes that JAX adds only after the constant: the axes of stride 0
    of a numpy array, which `numpy.broadcast_to` and ``table[:, None]`` make."""
    if not isinstance(array, np.ndarray) or not array.size:
        return array
    return array[(*(slice(None) if stride else 0 for stride in array.strides), ...)]


def repeats_count(array: Any) -> int:
    """Return how often the embedded elements of an array are repeated to make the array."""
    array = plain(array)
    return max(array.size, 1) // max(_embedded_form(array).size, 1)


def _raw(values: Any) -> np.ndarray:
    """Return the elements of an array as bytes."""
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)


def _jax_digests(arrays: list[Any]) -> Iterator[bytes | None]:
    """Yield the digest of the constant that JAX embeds for each array; None for an array that JAX
    embeds as a single element, or does not embed as a constant."""
    if not arrays:
        return
    module: Any = jax.jit(lambda: arrays).lower().compiler_ir("stablehlo")
    (main,) = (one for one in module.body.operations if one.operation.name == "func.func")
    *_, returned = main.regions[0].blocks[0].operations
    for operand in returned.operands:
        origin = getattr(operand.owner, "operation", operand.owner)
        is_constant = getattr(origin, "name", "") == "stablehlo.constant"
        made = EmbeddedConstant(module, origin, str(operand.type))
        yield made.digest() if is_constant and not _is_splat(origin) else None


def _tensor_type(array: Any) -> str:
    """Return an array's type in MLIR's notation, such as ``tensor<3xcomplex<f32>>``."""
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}{_element_type(array.dtype)}>"


@functools.cache
def _element_type(dtype: np.dtype) -> str:
    with mlir.make_ir_context():
        return str(mlir.dtype_to_ir_type(dtype))
