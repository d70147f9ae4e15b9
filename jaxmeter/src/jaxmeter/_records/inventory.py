"""Define the contents of a program, and differences between programs, as immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.plain_data import Result
from jaxmeter._records.record import Constants, Memory, Program


@dataclass(frozen=True)
class Fusion:
    """A group of operations that the compiler fused."""

    kind: str
    shape: str
    """The type and shape of the result."""
    operations: tuple[str, ...]
    """The operations in order. Each operation is an opcode with JAX's name of the operation, such
    as ``multiply layer/mul``. Operations that only move or name data are left out."""


@dataclass(frozen=True)
class SourceLine:
    """A source line, and the equations that it adds to a jaxpr."""

    file: str
    """The path of the file, beginning with its outermost package, such as ``package/module.py``."""
    line: int
    function: str
    text: str
    equations_count: int
    result_bytes: int
    """The total size of the equations' results; the body of a loop counts once."""


@dataclass(frozen=True)
class Inventory(Result):
    """The contents of a program. Contents that are not known are None."""

    name: str
    jax: str
    program: Program = Program()
    memory: Memory = Memory()
    constants: Constants = Constants()
    primitives: dict[str, int] | None = None
    """The number of equations with each primitive, in the jaxpr and its sub-jaxprs."""
    opcodes: dict[str, int] | None = None
    """The number of HLO instructions with each opcode."""
    arrays: dict[str, int] | None = None
    """The number of HLO constants of each type, such as ``f32[64,3]``; scalars are left out."""
    fusions: tuple[Fusion, ...] | None = None
    lines: tuple[SourceLine, ...] | None = None
    """The source lines, in the order of their first equations in the jaxpr."""


@dataclass(frozen=True)
class Change:
    """A number that differs between two programs."""

    name: str
    before: float
    now: float


@dataclass(frozen=True)
class FusionChange:
    """A group of related fusions that differ between two programs.

    Each fusion of the group is in only one of the programs: ``before`` contains fusions of the
    first program, and ``now`` fusions of the second program. Two fusions are related if they share
    an operation, or if both are related to another fusion of the group.
    """

    kind: Literal["appeared", "vanished", "split", "merged", "changed", "regrouped"]
    """``split``: one fusion became several. ``merged``: several fusions became one. ``changed``:
    one fusion became another. ``regrouped``: several fusions became several others."""
    before: tuple[Fusion, ...]
    now: tuple[Fusion, ...]


@dataclass(frozen=True)
class LineChange:
    """A source line for which the number of equations, or the bytes of their results, changed.

    ``before`` is None if only the second program has the line. ``now`` is None if only the first
    program has the line. Lines with the same file, function and text are the same line, even if
    their line numbers differ.
    """

    before: SourceLine | None
    now: SourceLine | None

    @property
    def line(self) -> SourceLine:
        """The line in the second program, or in the first program if the second program does not
        have the line."""
        found = self.now or self.before
        assert found is not None
        return found

    @property
    def equations_change(self) -> int:
        """The change in the number of equations, from the first to the second program."""
        before, now = (one.equations_count if one else 0 for one in (self.before, self.now))
        return now - before

    @property
    def bytes_change(self) -> int:
        """The change in the bytes of the results, from the first to the second program."""
        before, now = (one.result_bytes if one else 0 for one in (self.before, self.now))
        return now - before


@dataclass(frozen=True)
class ProgramDiff(Result):
    """The differences between two programs, in every quantity that is known for both."""

    before: str
    """The name of the first program."""
    now: str
    same: bool | None
    """Whether the programs are the same: the fingerprints of the optimised programs are equal, and
    the values of the captured arrays are equal or not known. None if the fingerprint of a program
    is not known. Values that the compiler has folded into large constants are not compared."""
    values: bool | None = None
    """Whether the captured arrays have the same values; None if the values of either program are
    not known."""
    sizes: tuple[Change, ...] = ()
    """The flops, bytes and counts that differ."""
    primitives: tuple[Change, ...] = ()
    opcodes: tuple[Change, ...] = ()
    arrays: tuple[Change, ...] = ()
    """The types for which the programs have different numbers of HLO constants."""
    fusions: tuple[FusionChange, ...] = ()
    lines: tuple[LineChange, ...] = ()
    """The source lines that differ: first new lines, then removed lines, then lines that both
    programs have. In each of these groups, the line with the largest change in the bytes of results
    comes first. Empty if the fingerprints of the optimised programs are equal."""
    versions: tuple[str, str] | None = None
    """The two versions of JAX; None if they are equal. Two versions of JAX may compile the same
    function to different programs."""
