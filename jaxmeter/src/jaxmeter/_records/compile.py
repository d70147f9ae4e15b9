"""The compile profile of a program: immutable plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from jaxmeter._records.plain_data import Result, freeze_mappings

Stage = Literal["trace", "lower", "HLO passes", "constant folding", "emit", "LLVM", "other"]
"""``emit``: HLO to LLVM's representation; ``LLVM``: optimising it and making machine code;
``other``: the rest of the compile, such as linking."""
Basis = Literal["measured", "by instructions", "by equations", "by estimate", "unattributed"]


@dataclass(frozen=True)
class CompileRow:
    """Seconds of one stage that belong to one source line and, from ``emit`` on, to one kernel."""

    stage: Stage
    seconds: float
    """Of the elapsed time: where several threads compile at once, each gets its share."""
    basis: Basis
    """``measured`` for this kernel or line. Other stages report only totals, which are divided in
    proportion to the instructions or equations of each line, or to the audit's estimate of each
    folding. ``unattributed``: of no known line."""
    source: str = ""
    """``/path/file.py:12``: the user's line, for code of an installed package the line that calls
    it; empty if it is not known."""
    kernel: str = ""
    """The name of the kernel, that of an instruction in the optimised HLO."""
    scope: str = ""
    """The named scopes, ``layer/attention``."""
    primitive: str = ""


@dataclass(frozen=True)
class CompiledKernel:
    """A kernel: a fusion or single instruction that becomes a function in machine code."""

    name: str
    emit_seconds: float
    llvm_seconds: float
    instructions_count: int
    """HLO instructions inside, without those that only move or name data."""
    operations: dict[str, int]
    """How many of them have each opcode."""
    scope: str
    primitive: str
    source: str
    """The line with most of its instructions; empty if it is not known."""

    def __post_init__(self) -> None:
        freeze_mappings(self)

    @property
    def seconds(self) -> float:
        """The seconds of emitting and of LLVM."""
        return self.emit_seconds + self.llvm_seconds


@dataclass(frozen=True)
class CompiledLine:
    """A source line, with its share of every stage."""

    source: str
    function: str
    text: str
    trace_seconds: float
    lower_seconds: float
    compile_seconds: float
    folding_seconds: float
    """The part of ``compile_seconds`` for constant folding."""
    equations_count: int
    """Equations of the jaxpr that the line made, sub-jaxprs included, a shared one at each use."""
    kernels_count: int
    """Kernels with instructions of this line."""
    instructions_count: int
    """HLO instructions of this line in kernels; a fused copy counts again."""

    @property
    def seconds(self) -> float:
        """The seconds of all stages."""
        return self.trace_seconds + self.lower_seconds + self.compile_seconds


@dataclass(frozen=True)
class CompileSummary:
    """The slowest lines and kernels of a profile, small enough for a record."""

    seconds: float
    """Of the whole profile, all other lines and kernels included."""
    lines: tuple[CompiledLine, ...]
    """The slowest first."""
    kernels: tuple[CompiledKernel, ...]
    """The slowest first."""


@dataclass(frozen=True)
class CompileAdvice:
    """A change that is known to make a compile cheaper, and the time that it concerns."""

    rule: Literal[
        "constant folding",
        "unrolled loop",
        "stacked components",
        "repeated bodies",
        "small kernels",
    ]
    text: str
    source: str
    seconds: float
    """Of the profiled seconds those that the rule concerns: the most that the change can save."""


_Part = TypeVar("_Part", CompiledKernel, CompiledLine)


@dataclass(frozen=True)
class CompileProfile(Result):
    """Where the time of tracing, lowering and compiling went."""

    derived = ("attributed_share", "measured_share")

    name: str
    jax: str
    backend: str
    trace_seconds: float
    lower_seconds: float
    compile_seconds: float
    """Elapsed time of the compile, as a clock around it shows."""
    rows: tuple[CompileRow, ...]
    """The slowest first; their sum is the time of all stages."""
    lines: tuple[CompiledLine, ...]
    """The slowest first."""
    kernels: tuple[CompiledKernel, ...]
    """The slowest first; none on a backend that does not report them."""
    passes: dict[str, float]
    """Seconds of each HLO pass."""
    stacks: dict[str, tuple[str, ...]]
    """The calls that lead to each line, ``function file:line``, the outermost first."""
    advice: tuple[CompileAdvice, ...]
    """The largest effect first."""
    unpaired_kernels_count: int = 0
    """Kernels whose machine code could not be found among the compiler's events."""

    @property
    def seconds(self) -> float:
        """The seconds of all stages, by the clock."""
        return self.trace_seconds + self.lower_seconds + self.compile_seconds

    @property
    def attributed_share(self) -> float:
        """The share of the rows' seconds that have a source line."""
        return self._share({"measured", "by instructions", "by equations", "by estimate"})

    @property
    def measured_share(self) -> float:
        """The share of the rows' seconds that were measured for their line or kernel."""
        return self._share({"measured"})

    def _share(self, bases: set[str]) -> float:
        total = sum(row.seconds for row in self.rows)
        return sum(row.seconds for row in self.rows if row.basis in bases) / total if total else 0.0

    def stage_seconds(self, stage: Stage) -> float:
        """Return the seconds of a stage."""
        return sum(row.seconds for row in self.rows if row.stage == stage)

    def summary(self, folders: Iterable[str] = ()) -> CompileSummary:
        """Return the lines and kernels with at least 0.2 % of the seconds, 100 of each at most.

        Parameters
        ----------
        folders : iterable of str
            Files are named relative to the innermost of these folders, such as ``sys.path``, that
            holds them.
        """
        known = sorted((f"{folder}/" for folder in folders if folder), key=len, reverse=True)

        def slowest(parts: Iterable[_Part]) -> Iterator[_Part]:
            kept = [part for part in parts if part.seconds >= 0.002 * self.seconds]
            for part in kept[:100]:
                folder = next((f for f in known if part.source.startswith(f)), "")
                yield replace(part, source=part.source.removeprefix(folder))

        lines = tuple(replace(line, text=line.text[:200]) for line in slowest(self.lines))
        return CompileSummary(self.seconds, lines, tuple(slowest(self.kernels)))

    def __str__(self) -> str:
        """Return the text of `jaxmeter.table`."""
        from jaxmeter._render.terminal import table

        return table(self)

    def to_flame_graph(self) -> str:
        """Return a page of HTML, without references to other files, that draws the profile."""
        from jaxmeter._render.flame import flame_graph

        return flame_graph(self)

    def to_speedscope(self) -> str:
        """Return the profile as JSON that https://speedscope.app and Perfetto open."""
        from jaxmeter._render.flame import speedscope

        return speedscope(self)
