"""Define the results of the command ``jaxmeter cache`` as immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass

from jaxmeter._records.plain_data import Result


@dataclass(frozen=True)
class CachedProgram:
    """A program that the first or the second run compiled or read from the cache."""

    id: str
    line: str
    """``file:line`` of the call; empty if the line is not known."""
    compile_seconds: float | None
    """Compile time in the first run, including the time to read the cache; None if the first run
    did not need the program."""
    again_seconds: float | None
    """Compile time in the second run, including the time to read the cache; None if the second run
    did not need the program."""
    is_hit: bool
    """Whether the second run read the program from the cache."""
    reason: str
    """Why the second run did not read the program from the cache; empty for a hit."""


@dataclass(frozen=True)
class CacheDiagnosis(Result):
    """The results of two runs of a command with one persistent cache.

    The cache is empty before the first run.
    """

    derived = ("saved_seconds",)

    command: tuple[str, ...]
    exit_code: int
    """The exit code of the second run; the exit code of the first run if the first run failed."""
    first_seconds: float
    """The time of the whole first run."""
    second_seconds: float | None
    """The time of the whole second run; None if the first run failed."""
    first_compile_seconds: float
    second_compile_seconds: float
    """The time of compiles and cache reads in the second run, without traces and lowerings; 0 if
    there was no second run. ``first_compile_seconds`` is the same time in the first run."""
    stored_bytes: int
    stored_count: int
    programs: tuple[CachedProgram, ...]
    """The programs, sorted by the longer of their two compile times, the longest time first; empty
    if there was no second run."""
    is_set: bool
    """Whether the environment sets JAX_COMPILATION_CACHE_DIR."""
    sets_options: bool = False
    """Whether the code of the command sets cache options to values that differ from the environment
    variables. The values in the code override the environment variables."""

    @property
    def saved_seconds(self) -> float:
        """The compile time that the second run saved by reading programs from the cache."""
        return sum(
            max(0.0, (program.compile_seconds or 0.0) - (program.again_seconds or 0.0))
            for program in self.programs
            if program.is_hit
        )
