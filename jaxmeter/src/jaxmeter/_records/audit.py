"""What an audit says: immutable plain data that round-trips through JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.plain_data import PlainData

DEFAULT_THRESHOLD_BYTES = 1_000_000
"""Containers up to this size are fine to embed into a program.

Tables, masks and quadrature rules stay below it. Baking costs time and memory in proportion to
the size: lowering and compiling copy each constant several times, and operations on constants
alone are carried out by the compiler, slowly.
"""

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
    """``returned``: nothing computes with it, and the line is that of the function."""
    within: str = ""
    """``file:line`` in an installed package that the line calls and that uses the array."""


@dataclass(frozen=True)
class AuditedArray:
    """One captured array, told once however often it is used."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    where: str
    """The sub-programs around its first use, as ``jit(outer)/scan``; empty at the top."""
    path: str
    """How the function reaches it: ``optical_path.coronagraph.cube``; empty if not known."""
    match: Match
    """What is at the path: the ``same`` array; one that this is a ``view`` of; one of ``equal``
    values, converted perhaps. ``unknown``: it was made while the function was traced."""
    argument: str
    """What to pass as an argument instead: the variable at which the path begins."""
    uses: tuple[Use, ...]
    embedded_count: int
    """How often the compiler was handed it as a constant; 0 for one whose elements are all
    equal, and for one that is never used."""
    hidden_count: int
    """How often JAX passes it as a hidden argument; above 0 in simplified mode only."""
    verdict: Verdict
    advice: str
    """What to change; empty if the array is fine."""


@dataclass(frozen=True)
class Folding:
    """An operation on captured arrays alone, which the compiler carries out by itself."""

    operation: str
    """``sort``, ``cumsum``, ``dot_general``."""
    shape: str
    """Of what it is applied to: ``float32[64, 3]``."""
    seconds: float
    """Of every compile, roughly: its order of magnitude is what counts."""
    uses: tuple[Use, ...]
    """The line of the operation, if it is known."""


@dataclass(frozen=True)
class Audit(PlainData):
    """Every array that a function captured, the largest first."""

    derived = ("verdict", "advice")

    name: str
    """The function's."""
    threshold_bytes: int
    arrays: tuple[AuditedArray, ...]
    captured_bytes: int
    embedded_bytes: int
    """Of all occurrences, tables that JAX adds by itself included."""
    embedded_count: int
    hidden_argument_bytes: int | None
    """None if this JAX does not tell."""
    jax: str
    """The version of JAX: it decides what is embedded."""
    embedding_seconds: float | None = None
    """What embedding all this in adds to every compile, foldings aside, by the calibration of this
    machine; None if there is none (`jaxmeter.calibrate`)."""
    foldings: tuple[Folding, ...] = ()
    """The slowest first; those that take a fraction of a second are left out."""

    @property
    def verdict(self) -> Literal["fine", "large", "slow"]:
        """``large`` if any array is; ``slow`` if none is, and the compiler folds for seconds."""
        if any(array.verdict == "large" for array in self.arrays):
            return "large"
        return "slow" if self.foldings else "fine"

    @property
    def advice(self) -> tuple[str, ...]:
        """What to change, each advice once, that on the slowest folding or largest array first."""
        folded = (
            f"compute {folding.operation} of {folding.shape} once, before the call, and pass the "
            "result as an argument: the compiler does it by itself in every compile, in roughly "
            f"{folding.seconds:g} s"
            for folding in self.foldings
        )
        embedded = (array.advice for array in self.arrays if array.advice)
        return tuple(dict.fromkeys((*folded, *embedded)))
