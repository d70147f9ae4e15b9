"""The answers of two functions compared: immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Answers:
    """The difference of the answers of two functions, of one call each in one process."""

    a_fingerprint: str
    """SHA-256 of all arrays of the first one's answer with their dtypes, shapes and places."""
    b_fingerprint: str
    max_difference: float | None
    """The largest of all numbers of the answers that are finite in both; None if their trees,
    shapes or dtypes differ."""
    largest: float
    """The largest finite number of the first, without its sign."""
    a_not_finite_count: int
    """How many numbers of the first are NaN or infinite."""
    b_not_finite_count: int
    numbers_count: int
    """In the first."""
