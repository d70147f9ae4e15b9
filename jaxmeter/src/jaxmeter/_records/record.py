"""The record of one measurement: immutable plain data that round-trips through JSON exactly.

A record keeps raw samples and never a summary of them. What was not reached, or what a backend
does not tell, is None; so the record of a failure keeps what was measured before it.
Names end in their units: ``_seconds``, ``_bytes``, ``_count``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from jaxmeter._records.codec import decode, encode
from jaxmeter._records.frozen import FrozenDict, freeze_mappings
from jaxmeter.errors import RecordError

SCHEMA = 1
"""Raised when a field changes its meaning, its type or its name, or goes away."""

Scalar = str | int | float | bool | None
Status = Literal["ok", "failed", "timeout", "rejected", "skipped"]


@dataclass(frozen=True)
class Failure:
    """Why a measurement did not succeed."""

    phase: str
    """What was being done: start, import, setup, trace, lower, compile, program, first_call,
    steady, check, rebuild, end."""
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
class ConstantArray:
    """One captured array, counted once however often it is used."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    where: str
    """The sub-programs around its first use, as ``jit(outer)/scan``; empty at the top."""


@dataclass(frozen=True)
class Constants:
    """Arrays that entered the program other than as arguments, counted in three ways.

    ``captured`` is what the author closed over: distinct arrays in the jaxpr and all its
    sub-jaxprs. ``embedded`` is what the compiler was handed: non-splat constants in the
    StableHLO, each occurrence counted. ``hidden_argument`` is what JAX passes behind the author's
    back when JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS is set.
    """

    captured_bytes: int | None = None
    captured_count: int | None = None
    captured_fingerprint: str | None = None
    """SHA-256 of their values; known to comparisons only, for it takes its time."""
    embedded_bytes: int | None = None
    embedded_count: int | None = None
    hidden_argument_bytes: int | None = None
    hidden_argument_count: int | None = None
    folding_alarms_count: int | None = None
    """XLA's complaints that folding a constant takes over 1 s; known to worker benchmarks only."""
    arrays: tuple[ConstantArray, ...] = ()


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
    """The compiler's account (the first five), and the process's and the device's own."""

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
    """Since the process began; None where the backend does not tell, as on CPU."""


@dataclass(frozen=True)
class Environment:
    """Where and with what the measurement was made."""

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

    def __post_init__(self) -> None:
        freeze_mappings(self)


@dataclass(frozen=True)
class Record:
    """One measurement of one program in one process.

    ``phases`` and everything below them may be partly None: see the module's docstring.
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
    rebuilds: tuple[Phases, ...] = ()
    """Tracing, lowering and compiling once more, raw, where that was asked for: after all else, in
    a process that has paid already for what only the first time costs."""
    constants: Constants = Constants()
    counts: Counts = Counts()
    program: Program = Program()
    memory: Memory = Memory()
    checks: dict[str, float] = FrozenDict()
    """What the case's own check of the answer returned."""
    extras: dict[str, float] = FrozenDict()
    """What the case measured by itself."""
    environment: Environment | None = None
    wall_seconds: float | None = None
    """Life of the worker process, from its start to its end; None in-process."""
    schema: int = SCHEMA

    def __post_init__(self) -> None:
        freeze_mappings(self)

    @property
    def builds(self) -> tuple[Phases, ...]:
        """The first, which is cold, and those that came after all else."""
        return (self.phases, *self.rebuilds)

    def least_build(self, count: int | None = None) -> Phases:
        """Tracing, lowering and compiling, of each the least seconds in the first `count` builds.

        The same work takes longer only where something disturbs it, which the documentation of
        Python's `timeit` gives as the reason to take the least. What only the first build pays is
        not seen in it: for that see ``phases``.

        Parameters
        ----------
        count : int, optional
            All builds if it is not given.
        """
        least = {}
        for name in ("trace_seconds", "lower_seconds", "compile_seconds"):
            seconds = [getattr(build, name) for build in self.builds[:count]]
            least[name] = min((one for one in seconds if one is not None), default=None)
        return Phases(**least)

    def to_json(self, *, indent: int | None = None) -> str:
        """The record as strict JSON text; `from_json` gives back an equal record.

        Raises
        ------
        RecordError
            If a field does not hold what it is declared to hold.
        """
        try:
            data = encode(self, Record, "record")
        except RecordError as error:
            raise RecordError(f"Record.to_json: {error}; give it a value of that type") from None
        return json.dumps(data, indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Record:
        """Rebuild a record from `to_json`'s text.

        Raises
        ------
        RecordError
            If the text is truncated, is no record, or has another schema.
        """
        advice = "measure again, or read it with the jaxmeter that wrote it"
        try:
            data = json.loads(text)
        except ValueError as error:
            raise RecordError(
                f"Record.from_json: got {len(text)} characters that are no JSON ({error}); "
                "the file is truncated or foreign: measure again"
            ) from None
        schema = data.get("schema") if isinstance(data, dict) else None
        if schema != SCHEMA:
            raise RecordError(
                f"Record.from_json: got schema {schema!r}, this jaxmeter reads {SCHEMA}; {advice}"
            )
        try:
            return decode(data, cls, "record")
        except RecordError as error:
            raise RecordError(f"Record.from_json: {error}; {advice}") from None
