"""Define the record of one measurement: immutable plain data that can be stored as JSON.

A record keeps every sample, and no summary of the samples. The record of a failed measurement keeps
the measurements of all earlier phases. A quantity is None if the measurement failed too early, or
if the backend does not report the quantity. The names of times end in ``_seconds``, and the names
of sizes in memory in ``_bytes``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from jaxmeter._records.compile import CompileSummary
from jaxmeter._records.plain_data import FrozenDict, PlainData, Result
from jaxmeter.errors import RecordError

SCHEMA = 2
"""The version of the record's format. It increases when a field is removed or changes its meaning,
type or name."""

PHASES = ("trace_seconds", "lower_seconds", "compile_seconds")
"""The fields with the times of a compile. A recompile has the same three times."""
Scalar = str | int | float | bool | None
Status = Literal["ok", "failed", "timeout", "rejected", "skipped"]


@dataclass(frozen=True)
class Failure:
    """The reason why a measurement did not succeed."""

    phase: str
    """The phase that failed: start, import, setup, trace, lower, compile, program, first_call,
    steady, check, recompile, end, profile. A comparison also has the phases ``answers``,
    ``compile again`` and ``calls``."""
    kind: str
    """The class name of the exception; or Timeout, Signal, Exit, CacheHit or AlreadyCompiled."""
    message: str
    traceback: str = ""
    output: str = ""
    """The last part of the worker's standard output and standard error together."""


@dataclass(frozen=True)
class Phases:
    """The seconds of tracing, lowering, compiling and the first call.

    The seconds of tracing, lowering or compiling are None if JAX used an earlier result.
    """

    trace_seconds: float | None = None
    lower_seconds: float | None = None
    compile_seconds: float | None = None
    first_call_seconds: float | None = None


@dataclass(frozen=True)
class Counts:
    """The numbers of runs, traces and compiles of the measured function.

    Counting ends with the last steady-state run. A comparison also counts during the calls of
    ``--call`` or ``jaxmeter_calls``, which come after the steady-state runs.
    """

    python_executions_count: int | None = None
    """Runs of the Python body; None if the function was already jitted."""
    traces_count: int | None = None
    compiles_count: int | None = None
    cache_hits_count: int | None = None
    """Programs that were read from the persistent compilation cache instead of being compiled."""


@dataclass(frozen=True)
class ConstantArray:
    """A captured array. It is counted once, even if it is used several times."""

    shape: tuple[int, ...]
    dtype: str
    bytes: int
    where: str
    """The path of the first jaxpr that has the array as a constant, such as ``cond/jit(inner)``;
    empty for the jaxpr of the whole program. JAX passes a captured array to a loop or branch as
    an operand. Such an array is a constant of the jaxpr around the loop or branch."""


@dataclass(frozen=True)
class Constants:
    """The arrays in a program except the user's arguments, counted in three ways.

    ``captured`` arrays are closed over: they are the distinct constant arrays in the jaxpr and all
    its sub-jaxprs. ``embedded`` arrays are constants in the StableHLO that the compiler gets. Each
    occurrence is counted, but constants in which all elements are equal are left out.
    ``hidden_argument`` arrays are passed by JAX as additional arguments if
    JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS is set.
    """

    captured_bytes: int | None = None
    captured_count: int | None = None
    captured_fingerprint: str | None = None
    """SHA-256 of the values of the captured arrays. It is computed only for inventories and
    comparisons, because it takes time."""
    embedded_bytes: int | None = None
    embedded_count: int | None = None
    hidden_argument_bytes: int | None = None
    hidden_argument_count: int | None = None
    folding_alarms_count: int | None = None
    """How often XLA warned that constant folding takes more than 1 s. The warnings are counted only
    in worker processes."""
    arrays: tuple[ConstantArray, ...] = ()
    """The captured arrays."""


@dataclass(frozen=True)
class Program:
    """The exact sizes of a program, which are comparable only within one version of JAX."""

    jaxpr_equations_count: int | None = None
    hlo_instructions_count: int | None = None
    fusions_count: int | None = None
    flops: float | None = None
    accessed_bytes: float | None = None
    hlo_fingerprint: str | None = None
    """A digest of the text of the optimised HLO, without names and metadata. The text does not
    contain the values of large constants."""

    def __post_init__(self) -> None:
        # Older versions of jaxmeter wrote digests of 64 digits. These digests depend on the names
        # of instructions, so they are not compared with others.
        if self.hlo_fingerprint is not None and len(self.hlo_fingerprint) == 64:
            object.__setattr__(self, "hlo_fingerprint", None)


@dataclass(frozen=True)
class Memory:
    """The memory of a program in bytes.

    The first five fields are the compiler's plan. The other sizes are measured: the memory of the
    process and of the device. Some systems, such as macOS, cannot reset the peak of a process. On
    these systems, the peaks of the resident set size count from the start of the process.
    """

    argument_bytes: int | None = None
    output_bytes: int | None = None
    temp_bytes: int | None = None
    alias_bytes: int | None = None
    generated_code_bytes: int | None = None
    baseline_rss_bytes: int | None = None
    """Resident set size of the process just before tracing, including the arguments."""
    compile_peak_rss_bytes: int | None = None
    """Peak of the resident set size, from just before tracing to the end of compiling."""
    peak_rss_bytes: int | None = None
    """Peak of the resident set size, from just before tracing to the last steady-state run. A
    comparison measures two functions in one process, so both functions affect this peak."""
    device_peak_bytes: int | None = None
    """Peak memory of the first device since the process began; None if the backend, such as CPU,
    does not report it."""
    devices_count: int | None = None
    """The number of devices that the program runs on. The compiler's plan, the flops and the
    accessed bytes are numbers per device."""

    @property
    def peak_above_start_bytes(self) -> int | None:
        """``peak_rss_bytes`` minus ``baseline_rss_bytes``; None if either size is not known.

        The system counts the peak less exactly than the baseline, so a negative difference becomes
        0.
        """
        if self.peak_rss_bytes is None or self.baseline_rss_bytes is None:
            return None
        return max(0, self.peak_rss_bytes - self.baseline_rss_bytes)


@dataclass(frozen=True)
class Environment(PlainData):
    """The machine and the software versions of a measurement."""

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
    """Date and time in ISO 8601, to the second."""
    load_1min_before: float | None = None
    load_1min_after: float | None = None
    jax_options: dict[str, Scalar] = FrozenDict()


@dataclass(frozen=True)
class Record(Result):
    """The measurement of one program in one process.

    A quantity that is not known is None.
    """

    name: str
    status: Status
    target: str = ""
    params: dict[str, Scalar] = FrozenDict()
    failure: Failure | None = None
    phases: Phases = Phases()
    setup_seconds: float | None = None
    """The time that the target took to make the case."""
    samples_seconds: tuple[float, ...] = ()
    """The raw times of the steady-state runs, in the order in which they were taken. In a
    comparison, each sample is the median time of a block of calls."""
    recompiles: tuple[Phases, ...] = ()
    """The raw times of tracing, lowering and compiling again, if several compiles were requested.
    They are taken after the steady-state runs, when JAX and XLA are already warm."""
    constants: Constants = Constants()
    counts: Counts = Counts()
    program: Program = Program()
    memory: Memory = Memory()
    checks: dict[str, float] = FrozenDict()
    """The numbers that the check of the case returned for the answer."""
    extras: dict[str, float] = FrozenDict()
    """The numbers that were measured while the case was made."""
    compile_summary: CompileSummary | None = None
    """The slowest lines and kernels in a profile of a further compile, if a profile was
    requested."""
    environment: Environment | None = None
    wall_seconds: float | None = None
    """Time from the start to the end of the worker process; None if there was no worker process."""
    schema: int = SCHEMA

    unreadable_advice: ClassVar[str] = (
        "measure again, or read the record with the version of jaxmeter that wrote the record"
    )

    @property
    def compiles(self) -> tuple[Phases, ...]:
        """The phases of every compile: first ``phases``, then ``recompiles``."""
        return (self.phases, *self.recompiles)

    def least_compile(self, count: int | None = None) -> Phases:
        """Return the minimum seconds of tracing, of lowering and of compiling, each over the first
        ``count`` compiles.

        The same work takes longer only if something disturbs it. For this reason, the documentation
        of Python's `timeit` recommends the minimum. The minimum does not show costs that only the
        first compile has. See ``phases`` for these costs.

        Parameters
        ----------
        count : int, optional
            How many compiles to use, beginning with the first; by default all.
        """
        taken = {name: [getattr(one, name) for one in self.compiles[:count]] for name in PHASES}
        known = {name: [s for s in seconds if s is not None] for name, seconds in taken.items()}
        return Phases(**{name: min(seconds, default=None) for name, seconds in known.items()})

    @classmethod
    def check_version(cls, data: Any) -> None:
        schema = data.get("schema") if isinstance(data, dict) else None
        if schema != SCHEMA:
            raise RecordError(f"got schema {schema!r:.80}, but this jaxmeter reads schema {SCHEMA}")
