"""Define the compile profile of a program as immutable plain data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from jaxmeter._records.plain_data import PlainData, Result

Stage = Literal["trace", "lower", "HLO passes", "constant folding", "emit", "LLVM", "other"]
"""The stages of a compile. ``emit`` translates HLO to LLVM's representation. ``LLVM`` optimises
that representation and makes machine code. ``other`` is all other compile time, such as linking."""
Basis = Literal["measured", "by instructions", "by equations", "by estimate", "unattributed"]


@dataclass(frozen=True)
class CompileRow:
    """The time of one stage for one source line, named scope and primitive.

    On CPU, most rows of the stages ``emit`` and ``LLVM`` also belong to one kernel.
    """

    stage: Stage
    seconds: float
    """Elapsed seconds. If several threads compile at once, the time is divided among them."""
    basis: Basis
    """How the seconds were found. ``measured``: this kernel or line was measured. The time of a
    kernel with several lines is divided in proportion to the instructions of each line. ``by ...``:
    only the total of several rows was measured. The total was divided in proportion to the
    instructions or equations of each line, or to the estimated time of each constant folding.
    ``unattributed``: the line is not known."""
    source: str = ""
    """The user's line, such as ``/path/file.py:12``; empty if the line is not known. For code of an
    installed package, this is the user's line that calls the package."""
    kernel: str = ""
    """The name of the kernel, which is the name of an instruction in the optimised HLO. For a small
    loop, the suffix ``_computation`` is added. Empty if the seconds do not belong to one kernel."""
    scope: str = ""
    """The named scopes, such as ``layer/attention``."""
    primitive: str = ""


@dataclass(frozen=True)
class CompiledKernel(PlainData):
    """A kernel: a fusion or single instruction that becomes a function in machine code."""

    name: str
    emit_seconds: float
    llvm_seconds: float
    instructions_count: int
    """The number of HLO instructions in the kernel. Instructions that only name data are left out.
    Instructions that only move data are also left out, except in a kernel that only moves data.
    For a loop, the number is 1."""
    operations: dict[str, int]
    """The number of instructions with each opcode; the sum is `instructions_count`."""
    scope: str
    primitive: str
    source: str
    """The source line; empty if it is not known. A kernel may have instructions of several lines,
    scopes and primitives. The most frequent combination is given here."""

    @property
    def seconds(self) -> float:
        """The seconds of the stages ``emit`` and ``LLVM``."""
        return self.emit_seconds + self.llvm_seconds


@dataclass(frozen=True)
class CompiledLine:
    """A source line, with the seconds that it takes in every stage."""

    source: str
    function: str
    text: str
    trace_seconds: float
    lower_seconds: float
    compile_seconds: float
    folding_seconds: float
    """The part of ``compile_seconds`` that constant folding takes."""
    equations_count: int
    """The number of equations that the line adds to the jaxpr and its sub-jaxprs. A shared
    sub-jaxpr counts at each use."""
    kernels_count: int
    """The number of kernels with instructions of this line."""
    instructions_count: int
    """The number of this line's HLO instructions in all kernels. An instruction that was copied
    into several kernels counts once in each of them. Instructions without a line are divided among
    the lines of their kernel."""

    @property
    def seconds(self) -> float:
        """The seconds of all stages."""
        return self.trace_seconds + self.lower_seconds + self.compile_seconds


@dataclass(frozen=True)
class CompileSummary:
    """The slowest lines and kernels of a profile, small enough for a record."""

    seconds: float
    """The seconds of the whole profile, including all lines and kernels that are not listed."""
    lines: tuple[CompiledLine, ...]
    """The listed lines, the slowest first."""
    kernels: tuple[CompiledKernel, ...]
    """The listed kernels, the slowest first."""


@dataclass(frozen=True)
class CompileAdvice:
    """A change that makes a compile faster, and the maximum time that the change can save."""

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
    """The change can save at most these seconds. They are estimated from the profiled seconds of
    the lines or kernels that the change affects."""


@dataclass(frozen=True)
class CompileProfile(Result):
    """The times of tracing, lowering and compiling a program, by stage, source line and kernel."""

    derived = ("attributed_share", "measured_share")

    name: str
    jax: str
    backend: str
    trace_seconds: float
    lower_seconds: float
    compile_seconds: float
    """Elapsed time of the compile, measured by a clock around the whole compile."""
    rows: tuple[CompileRow, ...]
    """The parts of the profiled time, the longest first. They add up to the time of all stages."""
    lines: tuple[CompiledLine, ...]
    """The source lines, the slowest first."""
    kernels: tuple[CompiledKernel, ...]
    """The kernels, the slowest first; empty on a backend that does not report kernels."""
    passes: dict[str, float]
    """Seconds of each HLO pass."""
    stacks: dict[str, tuple[str, ...]]
    """The calls that lead to each line, the outermost first. A call is written
    ``function file:line``."""
    advice: tuple[CompileAdvice, ...]
    """The suggested changes, the largest possible saving first."""
    unpaired_kernels_count: int = 0
    """The number of kernels for which the recorded events contain no task of a compiler thread. If
    there is only one such kernel, the number is 0, because the main thread may have compiled this
    kernel without a task."""

    @property
    def seconds(self) -> float:
        """The elapsed seconds of tracing, lowering and compiling together."""
        return self.trace_seconds + self.lower_seconds + self.compile_seconds

    @property
    def attributed_share(self) -> float:
        """The share of the profiled time that is attributed to source lines."""
        return self._share({"measured", "by instructions", "by equations", "by estimate"})

    @property
    def measured_share(self) -> float:
        """The share of the profiled time in the rows for which `CompileRow.basis` is
        ``measured``."""
        return self._share({"measured"})

    def _share(self, bases: set[str]) -> float:
        total = sum(row.seconds for row in self.rows)
        return sum(row.seconds for row in self.rows if row.basis in bases) / total if total else 0.0

    def stage_seconds(self, stage: Stage) -> float:
        """Return the total seconds of a stage."""
        return sum(row.seconds for row in self.rows if row.stage == stage)

    def summary(self, folders: Iterable[str] = ()) -> CompileSummary:
        """Return the lines and kernels with at least 0.2 % of the total time, at most 100 of each.

        Parameters
        ----------
        folders : iterable of str
            Folders, such as the entries of ``sys.path``. If a file is in one of these folders, its
            path is given relative to the folder. Of nested folders, the innermost is used.
        """
        known = sorted((f"{folder}/" for folder in folders if folder), key=len, reverse=True)

        def shown(source: str) -> str:
            return source.removeprefix(next((f for f in known if source.startswith(f)), ""))

        least = 0.002 * self.seconds
        lines = [line for line in self.lines if line.seconds >= least][:100]
        kernels = [kernel for kernel in self.kernels if kernel.seconds >= least][:100]
        return CompileSummary(
            self.seconds,
            tuple(replace(line, source=shown(line.source), text=line.text[:200]) for line in lines),
            tuple(replace(kernel, source=shown(kernel.source)) for kernel in kernels),
        )

    def to_flame_graph(self) -> str:
        """Return the profile as an HTML page that needs no other files."""
        from jaxmeter._render.flame import flame_graph

        return flame_graph(self)

    def to_speedscope(self) -> str:
        """Return the profile as JSON text for https://speedscope.app or Perfetto."""
        from jaxmeter._render.flame import speedscope

        return speedscope(self)
