"""The contents of a program, and the differences of two programs: immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.constants import Constants
from jaxmeter._records.plain_data import Result
from jaxmeter._records.record import Memory, Program


@dataclass(frozen=True)
class Fusion:
    """Operations that the compiler fused."""

    kind: str
    shape: str
    """The shape of the result."""
    operations: tuple[str, ...]
    """``multiply layer/mul``: each operation with where it comes from, in order; those that only
    move or name data are left out."""


@dataclass(frozen=True)
class SourceLine:
    """The equations that a source line adds to a jaxpr."""

    file: str
    """Its path from the folder of its package on: ``package/module.py``."""
    line: int
    function: str
    text: str
    equations_count: int
    result_bytes: int
    """Of all their results; those of a loop's body count once."""


@dataclass(frozen=True)
class Inventory(Result):
    """The contents of a program; None for unknown ones."""

    name: str
    jax: str
    program: Program = Program()
    memory: Memory = Memory()
    constants: Constants = Constants()
    primitives: dict[str, int] | None = None
    """How many equations of the jaxpr, sub-jaxprs included, have each primitive."""
    opcodes: dict[str, int] | None = None
    """How many HLO instructions have each opcode."""
    arrays: dict[str, int] | None = None
    """How many constants of more than one element the HLO holds of each type, ``f32[64,3]``."""
    fusions: tuple[Fusion, ...] | None = None
    lines: tuple[SourceLine, ...] | None = None
    """In the order in which the jaxpr first has them."""


@dataclass(frozen=True)
class Change:
    """A number that differs."""

    name: str
    before: float
    now: float


@dataclass(frozen=True)
class FusionChange:
    """Fusions of one program, and the fusions of the other that share operations with them."""

    kind: Literal["appeared", "vanished", "split", "merged", "changed", "regrouped"]
    before: tuple[Fusion, ...]
    now: tuple[Fusion, ...]


@dataclass(frozen=True)
class LineChange:
    """A source line whose equations differ; None where only one program has it.

    Lines are the same where file, function and text are; their numbers may differ.
    """

    before: SourceLine | None
    now: SourceLine | None

    @property
    def line(self) -> SourceLine:
        """The line, in the second program if it has it."""
        found = self.now or self.before
        assert found is not None
        return found

    @property
    def equations_change(self) -> int:
        """The number of equations more."""
        before, now = (0 if one is None else one.equations_count for one in self._both)
        return now - before

    @property
    def bytes_change(self) -> int:
        """The number of bytes more in results."""
        before, now = (0 if one is None else one.result_bytes for one in self._both)
        return now - before

    @property
    def _both(self) -> tuple[SourceLine | None, SourceLine | None]:
        return self.before, self.now


@dataclass(frozen=True)
class ProgramDiff(Result):
    """The differences of two programs, in everything that is known of both."""

    before: str
    """The name of the first."""
    now: str
    same: bool | None
    """Whether the optimised programs are the same, by their fingerprints, with the same values of
    the captured arrays. Values that the compiler folded to large constants are not compared."""
    values: bool | None = None
    """Whether the captured arrays have the same values; None if that is not known of both."""
    sizes: tuple[Change, ...] = ()
    """Flops, bytes, counts."""
    primitives: tuple[Change, ...] = ()
    opcodes: tuple[Change, ...] = ()
    arrays: tuple[Change, ...] = ()
    """Constants of the HLO."""
    fusions: tuple[FusionChange, ...] = ()
    lines: tuple[LineChange, ...] = ()
    """Source lines: new ones, those that are gone, then those whose results changed most."""
    versions: tuple[str, str] | None = None
    """Of JAX, if they differ: then programs differ for that reason alone."""
