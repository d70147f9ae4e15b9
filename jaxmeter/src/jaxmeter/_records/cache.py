"""What a persistent cache saves a program: immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass

from jaxmeter._records.plain_data import Result


@dataclass(frozen=True)
class CachedProgram:
    """A compile of the first run, or of the second if the first had none like it."""

    id: str
    line: str
    """``file:line`` of the call; empty if it is not known."""
    compile_seconds: float | None
    """In the first run; None if it was not compiled there."""
    again_seconds: float | None
    """In the second run, reading the cache included; None if it was not needed there."""
    is_hit: bool
    """Whether the second run read it from the cache."""
    reason: str
    """Why the second run did not; empty for a hit."""


@dataclass(frozen=True)
class CacheDiagnosis(Result):
    """Two runs of a program with one persistent cache, which was empty at first."""

    derived = ("saved_seconds",)

    command: tuple[str, ...]
    exit_code: int
    """Of the second run, or of the first if that failed."""
    first_seconds: float
    """Of the whole run."""
    second_seconds: float | None
    """None if the first run failed."""
    first_compile_seconds: float
    second_compile_seconds: float
    """Compiles and reads of the cache; traces and lowerings are in neither."""
    stored_bytes: int
    stored_count: int
    programs: tuple[CachedProgram, ...]
    """Those with the longest compile first."""
    is_set: bool
    """Whether the environment has JAX_COMPILATION_CACHE_DIR."""
    sets_options: bool = False
    """Whether the program itself sets options of the cache, which win over the environment."""

    @property
    def saved_seconds(self) -> float:
        """Compile time that the second run did not need, of the programs that it read."""
        return sum(
            max(0.0, (one.compile_seconds or 0.0) - (one.again_seconds or 0.0))
            for one in self.programs
            if one.is_hit
        )
