"""The compiles of a whole program: immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.compile import CompileProfile
from jaxmeter._records.plain_data import Result
from jaxmeter._records.retraces import Difference

CacheOutcome = Literal["hit", "written", "not written", "off", ""]
Ending = Literal["ended", "without notice"]


@dataclass(frozen=True)
class Line:
    """A line of Python on the stack of a compile."""

    file: str
    line: int
    function: str
    is_library: bool
    """Whether it is of an installed package."""

    @property
    def source(self) -> str:
        """``/path/file.py:12``"""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class RunCapture:
    """An array that a program captured."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    path: str
    """``self.weights[0]``; empty if no variable that holds it was found."""
    line: str
    """``file:line`` that uses it; empty if it is not known."""


@dataclass(frozen=True)
class RunInterval:
    """A trace, a lowering, or a compile, in seconds since the program began."""

    stage: Literal["trace", "lower", "compile"]
    start_seconds: float
    end_seconds: float


@dataclass(frozen=True)
class RunCompile:
    """A function that was traced, lowered and compiled, or some of these."""

    id: str
    """``step#2``: the second of that name in its process; ``step#2 of process 3``."""
    function: str
    defined: str
    """``file:line``; empty if this JAX does not show it."""
    process: int
    """The number of the process, from 1."""
    thread: int
    why: Literal["first", "again", "JAX's own", "not known"]
    causes: tuple[Difference, ...]
    """The differences from the nearest earlier call."""
    after_clearing: str
    """The line that called `jax.clear_caches` since the function was last compiled; or empty."""
    stack: tuple[Line, ...]
    """The innermost first: a line of a library, if it called JAX, and the program's own lines."""
    intervals: tuple[RunInterval, ...]
    own_seconds: float
    """Of all stages, without other compiles in between."""
    cache: CacheOutcome
    """What the persistent cache did; empty if nothing was compiled."""
    cache_reason: str
    """Why the cache was off, or the program not written."""
    cache_key: str
    cache_key_parts: dict[str, str]
    """A hash of each part of the key; only `jaxmeter cache` has them."""
    equations_count: int | None
    captured_bytes: int | None
    captured_count: int | None
    captured: tuple[RunCapture, ...]
    """The largest captured arrays, if all have 1 MB or more; on the first compile alone."""

    @property
    def is_jax(self) -> bool:
        """Whether it is a function of JAX: an operation outside of any jit, for the most part."""
        return self.why == "JAX's own"

    @property
    def author(self) -> Line | None:
        """The innermost line of the program itself, else of a library; None if none is known."""
        own = (line for line in self.stack if not line.is_library)
        return next(own, self.stack[0] if self.stack else None)

    def stage_seconds(self, stage: str) -> float:
        """Return the seconds of a stage."""
        return sum(
            one.end_seconds - one.start_seconds for one in self.intervals if one.stage == stage
        )

    @property
    def reason(self) -> str:
        """The cause in words."""
        if self.after_clearing:
            return f"jax.clear_caches was called at {self.after_clearing}"
        if self.causes:
            return "; ".join(map(str, self.causes))
        return {
            "first": "first call",
            "again": "the same arguments as before: its cache was cleared, or dropped the entry",
            "JAX's own": "an operation of JAX, outside of any jit",
            "not known": "not known: called under another transformation, or ahead of time",
        }[self.why]


@dataclass(frozen=True)
class RunProcess:
    """A Python process of the program."""

    number: int
    pid: int
    parent: int
    """The process id of its parent."""
    forked: bool
    argv: tuple[str, ...]
    executable: str
    python: str
    jax: str
    """The version of JAX; empty if the process did not import it."""
    start_seconds: float
    end_seconds: float
    """Of its last event, where it ended without notice."""
    ending: Ending
    """``without notice``: killed, crashed in native code, ended by ``os._exit``, or running on."""
    recorder_seconds: float
    """Time spent in recording."""
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Saving:
    """Seconds that a change would save."""

    kind: Literal["compiled again", "outside of jit", "persistent cache"]
    what: str
    seconds: float
    compiles_count: int
    suggestion: str


@dataclass(frozen=True)
class WatchedRun(Result):
    """What a whole program traced, lowered and compiled."""

    derived = ("compiling_seconds", "compiles_count", "cache_hits_count", "avoidable_seconds")

    command: tuple[str, ...]
    exit_code: int
    """As shells give it: 128 + the number of a signal."""
    started_utc: str
    seconds: float
    """From the program's first line to its end, without profiles."""
    processes: tuple[RunProcess, ...]
    compiles: tuple[RunCompile, ...]
    """In the order in which they ended."""
    savings: tuple[Saving, ...]
    """The largest first."""
    profiles: tuple[CompileProfile, ...]
    """Of the slowest functions, compiled once more when their process ended, if asked for."""
    busy_seconds: float
    """Time in which at least one thread of one process traced, lowered or compiled."""

    @property
    def compiling_seconds(self) -> float:
        """Traces, lowerings and compiles of all threads and processes together."""
        return sum(one.own_seconds for one in self.compiles)

    @property
    def compiles_count(self) -> int:
        """Programs that were compiled."""
        return sum(one.cache not in ("", "hit") for one in self.compiles)

    @property
    def cache_hits_count(self) -> int:
        """Programs that came from the persistent cache."""
        return sum(one.cache == "hit" for one in self.compiles)

    @property
    def avoidable_seconds(self) -> float:
        """Compiles that a change of the program would avoid: those of functions that were compiled
        before."""
        return sum(one.seconds for one in self.savings if one.kind == "compiled again")
