"""The arrays that entered a program other than as arguments: immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ConstantArray:
    """One captured array, counted once however often it is used."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    where: str
    """The sub-programs around its first use, as ``jit(outer)/scan``; empty at the top."""


@dataclass(frozen=True)
class Constants:
    """Arrays that entered the program other than as arguments, counted in three ways.

    ``captured`` arrays are closed over: distinct arrays in the jaxpr and all its sub-jaxprs.
    ``embedded`` ones are non-splat constants in the StableHLO that the compiler gets, each
    occurrence counted. ``hidden_argument`` are arrays that JAX passes as further arguments when
    JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS is set.
    """

    captured_bytes: int | None = None
    captured_count: int | None = None
    captured_fingerprint: str | None = None
    """SHA-256 of their values; in comparisons only, for it takes time."""
    embedded_bytes: int | None = None
    embedded_count: int | None = None
    hidden_argument_bytes: int | None = None
    hidden_argument_count: int | None = None
    folding_alarms_count: int | None = None
    """XLA's warnings that folding a constant takes over 1 s; measured in worker processes only."""
    arrays: tuple[ConstantArray, ...] = ()
