"""The contents of a program, and the differences of two programs: immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.plain_data import Result
from jaxmeter._records.record import Constants, Memory, Program


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
    versions: tuple[str, str] | None = None
    """Of JAX, if they differ: then programs differ for that reason alone."""
