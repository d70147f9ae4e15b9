"""Define records of the arrays in a program that the caller did not pass as arguments."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ConstantArray:
    """A captured array. It is counted once, even if it is used several times."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    where: str
    """The sub-programs around the first jaxpr that has the array as a constant, such as
    ``cond/jit(inner)``; empty at the top level. JAX passes a captured array to a loop or branch as
    an operand. Such an array is a constant of the jaxpr around the loop or branch."""


@dataclass(frozen=True)
class Constants:
    """The arrays in a program that the user did not pass as arguments, counted in three ways.

    ``captured`` arrays are closed over: they are the distinct constant arrays in the jaxpr and all
    its sub-jaxprs. ``embedded`` arrays are constants in the StableHLO that the compiler gets. Each
    occurrence is counted. Constants whose elements are all equal are left out.
    ``hidden_argument`` arrays are passed by JAX as additional arguments if
    JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS is set.
    """

    captured_bytes: int | None = None
    captured_count: int | None = None
    captured_fingerprint: str | None = None
    """SHA-256 of the values of the captured arrays. It is computed only for inventories and
    comparisons, because it takes time."""
    embedded_bytes: int | None = None
    embedded_count: int | None = None
    hidden_argument_bytes: int | None = None
    hidden_argument_count: int | None = None
    folding_alarms_count: int | None = None
    """How often XLA warned that constant folding takes more than 1 s. The warnings are counted only
    in worker processes."""
    arrays: tuple[ConstantArray, ...] = ()
    """The captured arrays."""
