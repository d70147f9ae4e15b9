"""Define the memory of a program, and tradeoffs of memory and time, as immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.plain_data import PlainData, Result
from jaxmeter._records.record import Memory, Scalar


@dataclass(frozen=True)
class Buffer:
    """A value that a program keeps in memory."""

    kind: Literal["argument", "output", "temporary", "constant"]
    bytes: int
    shape: str
    """The type and shape, such as ``f32[64,3]``."""
    opcode: str
    """The kind of instruction that computes the value, such as ``dot`` or ``fusion``."""
    scope: str
    """The operation that computes the value, with its named scopes: ``layer/dot_general``. For an
    argument, this is the name of the argument."""
    instruction: str
    """The name of the instruction in the HLO."""
    offset_bytes: int | None
    """The position of a temporary within the memory of all temporaries. Temporaries that overlap
    are never in use at the same time. None for other buffers, or if the position is not known."""


@dataclass(frozen=True)
class Allocator:
    """How JAX allocates the memory of a device, according to the environment variables."""

    preallocate: bool | None
    """Whether JAX allocates its whole share of the memory at the start. None if the backend has no
    such option."""
    fraction: float | None
    """JAX's share of the device's memory, as set by XLA_CLIENT_MEM_FRACTION or
    XLA_PYTHON_CLIENT_MEM_FRACTION; 0.75 by default. None if the backend has no such option."""
    kind: str | None
    """The value of XLA_PYTHON_CLIENT_ALLOCATOR: ``default``, ``platform``, ``bfc`` or
    ``cuda_async``. None if the backend has no such option."""
    limit_bytes: int | None
    """The memory limit that the device reports, in bytes; None if the device reports no limit."""


@dataclass(frozen=True)
class MemoryUse(Result):
    """The memory of one program."""

    name: str
    jax: str
    backend: str
    memory: Memory
    buffers: tuple[Buffer, ...]
    """The largest buffers, at most 100, the largest first."""
    source: Literal["assignment", "instructions"]
    """The source of the buffers: the compiler's buffer assignment, or the results of the
    instructions if the compiler reports no assignment."""
    ran: bool
    """Whether the function was run. If it was not run, its peak memory is not known."""
    allocator: Allocator


@dataclass(frozen=True)
class TradeoffPoint(PlainData):
    """A choice of parameters, with its time and memory."""

    params: dict[str, Scalar]
    seconds: float | None
    """The median time of the steady-state runs."""
    temp_bytes: int | None
    """The size of the temporaries."""
    is_best: bool
    """Whether every faster choice has larger temporaries; False if the measurement failed."""
    failure: str = ""
    """Why the measurement failed; empty if it succeeded."""


@dataclass(frozen=True)
class Tradeoff(Result):
    """The tradeoff between memory and time over several choices of parameters."""

    name: str
    points: tuple[TradeoffPoint, ...]
    """The choices, the fastest first and failures last."""
    jax: str

    @property
    def front(self) -> tuple[TradeoffPoint, ...]:
        """The choices for which ``is_best`` is true, the fastest first."""
        return tuple(point for point in self.points if point.is_best)

    def best(self, temp_bytes: float) -> TradeoffPoint | None:
        """Return the fastest choice with at most ``temp_bytes`` of temporaries, or None.

        If the size of the temporaries is not known for the fastest of all choices, this choice is
        returned.
        """
        fitting = (point for point in self.front if (point.temp_bytes or 0) <= temp_bytes)
        return next(fitting, None)
