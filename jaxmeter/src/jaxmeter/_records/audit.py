"""Audits, and the calibration of what embedding costs: immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.plain_data import Result

DEFAULT_THRESHOLD_BYTES = 1_000_000
"""Variables up to this size are fine to embed into a program.

Tables, masks and quadrature rules stay below it. Embedding costs time and memory in proportion to
the size: lowering and compiling copy each constant several times, and operations on constants
alone are carried out by the compiler, slowly.
"""

MEGABYTE_BYTES = 1_000_000

Match = Literal["same", "view", "equal", "unknown"]
Verdict = Literal["fine", "large"]


@dataclass(frozen=True)
class Use:
    """A source line that uses a captured array."""

    file: str
    line: int
    function: str
    text: str
    """The line itself, stripped."""
    how: Literal["used", "returned"] = "used"
    """``returned``: nothing computes with it, and the line is the function's."""
    within: str = ""
    """``file:line`` in an installed package that the line calls and that uses the array."""


@dataclass(frozen=True)
class AuditedArray:
    """One captured array, listed once however often it is used."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    where: str
    """The sub-programs around its first use, as ``jit(outer)/scan``; empty at the top."""
    path: str
    """How the function reaches it: ``optical_path.coronagraph.cube``; empty if not known."""
    match: Match
    """The relation to the array at the path: the ``same`` array; a ``view`` of it; an array with
    ``equal`` values, converted perhaps. ``unknown``: made while the function was traced."""
    argument: str
    """The variable to pass as an argument instead, with which the path begins."""
    uses: tuple[Use, ...]
    embedded_count: int
    """How often it is a constant of the program; 0 if its elements are all equal, or if it is never
    used."""
    hidden_count: int
    """How often JAX passes it as a hidden argument; above 0 in simplified mode only."""
    verdict: Verdict
    suggestion: str
    """The suggested change; empty if the array is fine."""


@dataclass(frozen=True)
class Folding:
    """An operation on captured arrays alone, which the compiler computes (constant folding)."""

    operation: str
    """``sort``, ``cumsum``, ``dot_general``."""
    shape: str
    """The type of the first operand: ``float32[64, 3]``."""
    seconds: float
    """Added to every compile; right to the order of magnitude."""
    uses: tuple[Use, ...]
    """The line of the operation, if it is known."""


@dataclass(frozen=True)
class Audit(Result):
    """Every array that a function captured, the largest first."""

    derived = ("verdict", "suggestions")

    name: str
    """The name of the function."""
    threshold_bytes: int
    arrays: tuple[AuditedArray, ...]
    captured_bytes: int
    embedded_bytes: int
    """The bytes of all occurrences, tables that JAX adds by itself included."""
    embedded_count: int
    hidden_argument_bytes: int | None
    """None if this JAX does not report it."""
    jax: str
    """The version of JAX, on which embedding depends."""
    embedding_seconds: float | None = None
    """Seconds that the embedded bytes add to every compile, without foldings, by the calibration of
    this machine; None if there is no calibration (`jaxmeter.calibrate`)."""
    foldings: tuple[Folding, ...] = ()
    """The slowest first; those that take a fraction of a second are left out."""

    @property
    def verdict(self) -> Literal["fine", "large", "slow"]:
        """``large`` if any array is; ``slow`` if none is, and the compiler folds for seconds."""
        if any(array.verdict == "large" for array in self.arrays):
            return "large"
        return "slow" if self.foldings else "fine"

    @property
    def suggestions(self) -> tuple[str, ...]:
        """The suggested changes, each once; slow foldings first, then large arrays."""
        folded = (
            f"compute {folding.operation} of {folding.shape} once, before the call, and pass the "
            "result as an argument: the compiler folds it in every compile, in roughly "
            f"{folding.seconds:g} s"
            for folding in self.foldings
        )
        embedded = (array.suggestion for array in self.arrays if array.suggestion)
        return tuple(dict.fromkeys((*folded, *embedded)))


@dataclass(frozen=True)
class Calibration(Result):
    """Seconds of lowering and compiling for each megabyte (1e6 bytes) that is embedded."""

    seconds_per_megabyte: float
    jax: str
    backend: str
    device_kind: str
    cpu_model: str
    measured_utc: str
    samples_seconds_per_megabyte: tuple[float, ...] = ()
    """The value of each round, in order; ``seconds_per_megabyte`` is their median."""

    def seconds(self, size_bytes: float) -> float:
        """Return the seconds that embedding so many bytes adds to every compile."""
        return self.seconds_per_megabyte * size_bytes / MEGABYTE_BYTES
