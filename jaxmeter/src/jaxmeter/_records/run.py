"""Define the record of all compiles of a program, as immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.compile import CompileProfile
from jaxmeter._records.plain_data import Result
from jaxmeter._records.retraces import Difference

STAGES = ("trace", "lower", "compile")
"""The stages of a compile, in order."""


@dataclass(frozen=True)
class Line:
    """A line of Python on the call stack of a compile."""

    file: str
    line: int
    function: str
    is_library: bool
    """Whether the line belongs to an installed package."""

    @property
    def source(self) -> str:
        """The file and the line, ``/path/file.py:12``."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class RunCapture:
    """An array that a compiled function captured."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    path: str
    """The variable that holds the array, such as ``self.weights[0]``; empty if no such variable was
    found."""
    line: str
    """The first ``file:line`` that uses the array; empty if it is not known."""


@dataclass(frozen=True)
class RunInterval:
    """The interval of a trace, a lowering or a compile, in seconds since the start of the run."""

    stage: Literal["trace", "lower", "compile"]
    start_seconds: float
    end_seconds: float


@dataclass(frozen=True)
class RunCompile:
    """One compile of a function: all stages in `STAGES`, or only some of these stages."""

    id: str
    """An identifier, such as ``step#2`` for the second compile of a function ``step`` in the first
    process. In the third process, the identifier is ``step#2 of process 3``."""
    function: str
    defined: str
    """The ``file:line`` where the function is defined; empty if it is not known."""
    process: int
    """The number of the process, counted from 1."""
    thread: int
    why: Literal["first", "again", "JAX's own", "not known"]
    causes: tuple[Difference, ...]
    """The differences between this call and the most similar earlier call."""
    after_clearing: str
    """The line that last called `jax.clear_caches` before this compile; empty if cleared caches are
    not the reason for the compile."""
    stack: tuple[Line, ...]
    """The lines that led to the compile, the innermost first. If a library called JAX, the first
    line is a line of this library. The other lines are the program's own lines, at most 40. If the
    program has no line on the stack, at most three lines of libraries are given."""
    intervals: tuple[RunInterval, ...]
    own_seconds: float
    """The seconds of all stages, without the seconds of compiles nested inside this compile."""
    cache: Literal["hit", "written", "not written", "off", ""]
    """How the persistent cache handled the compile; empty if the stage ``compile`` is missing."""
    cache_reason: str
    """Why the cache was off, or why the program was not written to the cache; otherwise empty."""
    cache_key: str
    cache_key_parts: dict[str, str]
    """A hash of each part of the cache key; recorded only by `jaxmeter cache`."""
    equations_count: int | None
    captured_bytes: int | None
    captured_count: int | None
    captured: tuple[RunCapture, ...]
    """The largest captured arrays, at most five. They are listed only if all captured arrays
    together have 1 MB or more. Later compiles of the function with the same total size do not list
    them again."""

    @property
    def is_jax(self) -> bool:
        """Whether the function belongs to JAX and no cause of the compile is known. Such a function
        is usually an operation outside any jit."""
        return self.why == "JAX's own"

    @property
    def author(self) -> Line | None:
        """The innermost line of the user's own code, or else of a library; None if no line is
        known."""
        own = (line for line in self.stack if not line.is_library)
        return next(own, self.stack[0] if self.stack else None)

    def stage_seconds(self, stage: str) -> float:
        """Return the total seconds of a stage."""
        return sum(
            one.end_seconds - one.start_seconds for one in self.intervals if one.stage == stage
        )

    @property
    def reason(self) -> str:
        """The cause of the compile in words."""
        if self.after_clearing:
            return f"jax.clear_caches was called at {self.after_clearing}"
        if self.causes:
            return "; ".join(map(str, self.causes))
        return {
            "first": "first call",
            "again": "the same arguments as before: the function's cache was cleared, or no "
            "longer has the program",
            "JAX's own": "an operation of JAX, outside any jit",
            "not known": "not known: called inside another transformation, or ahead of time",
        }[self.why]


@dataclass(frozen=True)
class RunProcess:
    """A Python process in the run of a program."""

    number: int
    pid: int
    parent: int
    """The process id of the parent process."""
    forked: bool
    argv: tuple[str, ...]
    executable: str
    python: str
    jax: str
    """The version of JAX; empty if the process did not import it; ``of its parent`` if a forked
    process compiled with the JAX that its parent had imported."""
    start_seconds: float
    end_seconds: float
    """The end of the process, in seconds since the start of the run. If Python's exit handlers did
    not run, this is the time of the last recorded event of the process."""
    ending: Literal["ended", "without notice"]
    """``without notice``: Python's exit handlers did not run. For example, the process was killed,
    called ``os._exit`` or is still running."""
    recorder_seconds: float
    """The time that the recording itself took."""
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Saving:
    """A way to spend less time on compiling, and the seconds that it would save.

    The persistent cache saves time in later runs only. The other savings are seconds of this run,
    and each compile counts in at most one of these other savings.
    """

    kind: Literal["compiled again", "outside of jit", "persistent cache"]
    what: str
    seconds: float
    compiles_count: int
    suggestion: str


@dataclass(frozen=True)
class WatchedRun(Result):
    """All traces, lowerings and compiles in the run of a whole program."""

    derived = ("compiling_seconds", "compiles_count", "cache_hits_count", "avoidable_seconds")

    command: tuple[str, ...]
    exit_code: int
    """The exit code as in a shell: 128 plus the number of the signal if a signal ended the
    program."""
    started_utc: str
    seconds: float
    """Seconds from the start of the program to its end, without the time that profiling takes."""
    processes: tuple[RunProcess, ...]
    compiles: tuple[RunCompile, ...]
    """The compiles, in the order in which they ended."""
    savings: tuple[Saving, ...]
    """The possible savings, the largest first; the saving by the persistent cache is last."""
    profiles: tuple[CompileProfile, ...]
    """The compile profiles of the slowest functions, if profiles were requested. The functions are
    compiled once more when their process ends."""
    busy_seconds: float
    """The time in which at least one thread of any process traced, lowered or compiled."""

    @property
    def compiling_seconds(self) -> float:
        """The sum of the seconds of traces, lowerings and compiles over all threads and
        processes."""
        return sum(one.own_seconds for one in self.compiles)

    @property
    def compiles_count(self) -> int:
        """The number of programs that were compiled."""
        return sum(one.cache not in ("", "hit") for one in self.compiles)

    @property
    def cache_hits_count(self) -> int:
        """The number of programs that were read from the persistent cache."""
        return sum(one.cache == "hit" for one in self.compiles)

    @property
    def avoidable_seconds(self) -> float:
        """The seconds of repeated compiles. A change of the program would avoid these compiles."""
        return sum(one.seconds for one in self.savings if one.kind == "compiled again")
