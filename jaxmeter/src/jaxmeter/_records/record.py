"""The record of one measurement: immutable plain data that round-trips through JSON exactly.

A record keeps raw samples and never a summary of them. A quantity that was not reached, or that a
backend does not report, is None; so the record of a failure keeps everything measured before it.
Names end in their units: ``_seconds``, ``_bytes``, ``_count``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from jaxmeter._records.compile import CompileSummary
from jaxmeter._records.constants import Constants
from jaxmeter._records.plain_data import FrozenDict, PlainData, Result
from jaxmeter.errors import RecordError

SCHEMA = 2
"""Raised when a field changes its meaning, its type or its name, or goes away."""

Scalar = str | int | float | bool | None
Status = Literal["ok", "failed", "timeout", "rejected", "skipped"]


@dataclass(frozen=True)
class Failure:
    """Why a measurement did not succeed."""

    phase: str
    """Where it failed: start, import, setup, trace, lower, compile, program, first_call,
    steady, check, recompile, end, profile."""
    kind: str
    """The exception's class name, or Timeout, Signal, Exit, CacheHit, AlreadyCompiled."""
    message: str
    traceback: str = ""
    output: str = ""
    """The end of what the worker process printed, standard output and error together."""


@dataclass(frozen=True)
class Phases:
    """Seconds of each phase that comes before the steady state."""

    trace_seconds: float | None = None
    lower_seconds: float | None = None
    compile_seconds: float | None = None
    first_call_seconds: float | None = None


@dataclass(frozen=True)
class Counts:
    """How often things happened over all phases, for the measured function alone."""

    python_executions_count: int | None = None
    """Runs of the Python body; None if the function came already jitted."""
    traces_count: int | None = None
    compiles_count: int | None = None
    cache_hits_count: int | None = None
    """Programs taken from the persistent compilation cache instead of being compiled."""


@dataclass(frozen=True)
class Program:
    """Exact sizes of the program; comparable within one JAX version only."""

    jaxpr_equations_count: int | None = None
    hlo_instructions_count: int | None = None
    fusions_count: int | None = None
    flops: float | None = None
    accessed_bytes: float | None = None
    hlo_fingerprint: str | None = None
    """SHA-256 of the optimised HLO's text without its metadata; large constants have no values
    there."""


@dataclass(frozen=True)
class Memory:
    """The compiler's plan (the first five), and peaks of the process and the device."""

    argument_bytes: int | None = None
    output_bytes: int | None = None
    temp_bytes: int | None = None
    alias_bytes: int | None = None
    generated_code_bytes: int | None = None
    baseline_rss_bytes: int | None = None
    """Resident set of the process just before tracing, the arguments included."""
    compile_peak_rss_bytes: int | None = None
    """Its peak from there to the end of compiling."""
    peak_rss_bytes: int | None = None
    """Its peak from there to the last steady-state run."""
    device_peak_bytes: int | None = None
    """Since the process began; None where the backend does not report it, as on CPU."""
    devices_count: int | None = None
    """The devices that the program runs on: the plan, flops and accessed bytes are of each one."""

    @property
    def peak_above_start_bytes(self) -> int | None:
        """The peak of the resident set above the baseline; None if unknown."""
        if self.peak_rss_bytes is None or self.baseline_rss_bytes is None:
            return None
        return self.peak_rss_bytes - self.baseline_rss_bytes


@dataclass(frozen=True)
class Environment(PlainData):
    """The machine and the versions of the measurement."""

    python: str
    jax: str | None
    jaxlib: str | None
    numpy: str | None
    jaxmeter: str
    platform: str
    machine: str
    cpu_model: str | None
    cpus_available: int | None
    ram_bytes: int | None
    backend: str | None
    device_kind: str | None
    device_count: int | None
    xla_flags: str
    started_utc: str
    """ISO 8601, to the second."""
    load_1min_before: float | None = None
    load_1min_after: float | None = None
    jax_options: dict[str, Scalar] = FrozenDict()


@dataclass(frozen=True)
class Record(Result):
    """One measurement of one program in one process.

    ``phases`` and all later sections may be partly None.
    """

    name: str
    status: Status
    target: str = ""
    params: dict[str, Scalar] = FrozenDict()
    failure: Failure | None = None
    phases: Phases = Phases()
    setup_seconds: float | None = None
    """The call of the target that made the case."""
    samples_seconds: tuple[float, ...] = ()
    """Steady-state runs, raw, in the order they were taken."""
    recompiles: tuple[Phases, ...] = ()
    """Tracing, lowering and compiling again, raw, where several compiles were asked for: after
    the steady-state runs, in a process that has JAX and XLA warm already."""
    constants: Constants = Constants()
    counts: Counts = Counts()
    program: Program = Program()
    memory: Memory = Memory()
    checks: dict[str, float] = FrozenDict()
    """The numbers that the case's check of the answer returned."""
    extras: dict[str, float] = FrozenDict()
    """The numbers that the case measured by itself."""
    compile_summary: CompileSummary | None = None
    """Where the time of a further compile went, where that was asked for."""
    environment: Environment | None = None
    wall_seconds: float | None = None
    """Life of the worker process, from its start to its end; None in-process."""
    schema: int = SCHEMA

    unreadable_advice: ClassVar[str] = "measure again, or read it with the jaxmeter that wrote it"

    @property
    def compiles(self) -> tuple[Phases, ...]:
        """The phases of every compile: the first, which is cold, then ``recompiles``."""
        return (self.phases, *self.recompiles)

    def least_compile(self, count: int | None = None) -> Phases:
        """Return the least seconds of tracing, of lowering and of compiling, each taken alone.

        The same work takes longer only where something disturbs it, which the documentation of
        Python's `timeit` gives as the reason to take the least. Costs that the first compile alone
        bears do not show in it: for those see ``phases``.

        Parameters
        ----------
        count : int, optional
            How many compiles to take, from the first one on; by default all.
        """
        names = ("trace_seconds", "lower_seconds", "compile_seconds")
        taken = {name: [getattr(one, name) for one in self.compiles[:count]] for name in names}
        known = {name: [s for s in seconds if s is not None] for name, seconds in taken.items()}
        return Phases(**{name: min(seconds, default=None) for name, seconds in known.items()})

    @classmethod
    def check_version(cls, data: Any) -> None:
        schema = data.get("schema") if isinstance(data, dict) else None
        if schema != SCHEMA:
            raise RecordError(f"got schema {schema!r:.80}, this jaxmeter reads {SCHEMA}")
