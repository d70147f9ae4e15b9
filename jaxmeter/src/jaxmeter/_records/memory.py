"""The memory of a program, and the tradeoff of memory for time: immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.plain_data import PlainData, Result
from jaxmeter._records.record import Memory, Scalar


@dataclass(frozen=True)
class Buffer:
    """A value that the program holds in memory."""

    kind: Literal["argument", "output", "temporary", "constant"]
    bytes: int
    shape: str
    """``f32[64,3]``."""
    opcode: str
    """The kind of the instruction that computes it: ``dot``, ``fusion``, ``parameter``."""
    scope: str
    """Where it comes from, named scopes included: ``layer/dot_general``; of an argument its
    name."""
    instruction: str
    """Its name in the HLO."""
    offset_bytes: int | None
    """Where it begins within all temporaries; buffers that overlap are never live at once."""


@dataclass(frozen=True)
class Allocator:
    """How JAX allocates memory of the device, by the environment variables."""

    preallocate: bool | None
    """Whether it takes its share when it starts. None where the backend has no such thing."""
    fraction: float | None
    """Its share of the device's memory: XLA_CLIENT_MEM_FRACTION, or with PYTHON_ in it."""
    kind: str | None
    """XLA_PYTHON_CLIENT_ALLOCATOR: ``default``, ``platform``, ``bfc``, ``cuda_async``."""
    limit_bytes: int | None
    """The maximum that the device reports."""
    in_use_bytes: int | None
    """The bytes of all arrays of this process now."""


@dataclass(frozen=True)
class MemoryUse(Result):
    """The memory of one program."""

    name: str
    jax: str
    backend: str
    memory: Memory
    buffers: tuple[Buffer, ...]
    """The largest first."""
    source: Literal["assignment", "instructions"]
    """Whether the buffers come from the compiler's own assignment, or, where it reports none,
    from the results of the instructions."""
    ran: bool
    """Whether it was run, which the peaks need."""
    allocator: Allocator


@dataclass(frozen=True)
class TradeoffPoint(PlainData):
    """One choice of parameters."""

    params: dict[str, Scalar]
    seconds: float | None
    """The median of its steady-state runs."""
    temp_bytes: int | None
    """Memory besides arguments and outputs."""
    is_best: bool
    """Whether no other choice is both faster and smaller."""
    failure: str = ""
    """Why there are no numbers."""


@dataclass(frozen=True)
class Tradeoff(Result):
    """The tradeoff of memory for time over choices of parameters."""

    name: str
    points: tuple[TradeoffPoint, ...]
    """The fastest first, failures last."""
    jax: str

    @property
    def front(self) -> tuple[TradeoffPoint, ...]:
        """The choices that no other beats in both, the fastest first."""
        return tuple(point for point in self.points if point.is_best)

    def best(self, temp_bytes: float) -> TradeoffPoint | None:
        """Return the fastest choice with at most this many bytes of temporaries; None if none."""
        fitting = (point for point in self.front if (point.temp_bytes or 0) <= temp_bytes)
        return next(fitting, None)
