"""A comparison of two functions: immutable plain data, the raw samples included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from jaxmeter._records.plain_data import PlainData, Result, check_fields
from jaxmeter._records.record import Phases, Record, Scalar

PHASES = ("trace_seconds", "lower_seconds", "compile_seconds")
TIMES = ("steady_seconds", *PHASES)
"""The times that a comparison judges."""
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Verdict = Literal["same", "different", "inconclusive"]


@dataclass(frozen=True)
class Criteria:
    """When two functions are called different."""

    minimum_effect: Annotated[float, Meta(ge=0, le=1e9)] = 0.03
    """Times that differ by less, as a share, are never called different: 0.03 for 3 %."""
    significance: Annotated[float, Meta(gt=0, lt=1)] = 0.005
    """Probability that two equal functions are called different in any of their times. Each of
    the four times of a comparison is tested at a quarter of it."""
    trimmed_share: Annotated[float, Meta(ge=0, le=0.25)] = 0.0
    """Share of the rounds, rounded down, that is left out of the mean at either end: with 0.125
    and eight rounds a single disturbed process is harmless."""
    tolerance: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    """Answers that differ by no more, as a share of the largest number of the first, are the same:
    0 asks for equal bits."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Effort:
    """How long to measure in each process."""

    turns: Annotated[int, Meta(ge=1)] = 200
    """Maximum number of turns; a turn has a block of steady-state calls of each function."""
    turn_seconds: Seconds = 3e-4
    """A block has as many calls as take this long, at least one. With short blocks machine noise
    affects both functions alike."""
    steady_seconds: Seconds = 1.0
    """No turn begins after this time, but at least five are taken."""
    compiles: Annotated[int, Meta(ge=0)] = 3
    """Maximum number of timed compiles of each function."""
    compile_seconds: Seconds = 10.0
    """No compile begins after this time."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Side:
    """A function and its arguments, as a command line names them; a fresh process makes them."""

    target: str
    """``package.module:function`` or ``file.py:function``."""
    arg: tuple[str, ...] = ()
    """Arguments as types and shapes, ``f32[64,3]``, which are filled with ones, numbers, texts or
    tuples."""
    npz: str | None = None
    """A file that holds the arguments, as saved by numpy."""
    pickle: str | None = None
    """A file with a pickled tuple of arguments, or a pair (args, kwargs)."""
    param: tuple[str, ...] = ()
    """``name=value`` for what makes the case."""
    static: tuple[str, ...] = ()
    """Names of static arguments, of a function that is not jitted."""
    no_args: bool = False
    """Whether it is called without arguments, and does not make its case."""
    call: tuple[str, ...] = ()
    """Calls to make after the measurement, as ``f32[64,3] n=3``, to count their retraces."""


@dataclass(frozen=True)
class Exact:
    """An exact quantity of both functions."""

    quantity: str
    """``constants.captured_bytes``: the section and the field of the record."""
    a: tuple[Scalar, ...]
    """The distinct values over the processes: one, unless it varies."""
    b: tuple[Scalar, ...]
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Timing:
    """A time of both functions, compared process by process."""

    quantity: str
    """``steady_seconds``, or the ``trace_seconds``, ``lower_seconds``, ``compile_seconds`` of
    the phases."""
    ratio: float
    """Second over first: the geometric mean over the processes, weighted by their errors."""
    low: float
    """``low`` to ``high`` holds the true ratio with a confidence of 1 - significance: for all times
    of a comparison together, for each time alone of `compare_times`."""
    high: float
    p_value: float
    """Probability that equal functions give a ratio as far from 1, corrected for the number of
    times that are compared."""
    ratios: tuple[float, ...]
    """The ratio of each process."""
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Answers:
    """The difference of the answers of two functions, of one call each in one process."""

    a_fingerprint: str
    """SHA-256 of all arrays of the first answer with their dtypes, shapes and places."""
    b_fingerprint: str
    max_difference: float | None
    """The largest over all numbers that are finite in both answers; None if their trees, shapes or
    dtypes differ."""
    largest: float
    """The largest finite absolute value in the first answer."""
    a_not_finite_count: int
    """The number of values in the first answer that are NaN or infinite."""
    b_not_finite_count: int
    numbers_count: int
    """The number of values in the first answer."""


@dataclass(frozen=True)
class Task(PlainData):
    """The measurement that one process makes."""

    a: Side
    b: Side
    effort: Effort
    swapped: bool
    """Whether the second goes first."""
    path: tuple[str, ...]
    """Entries in front of ``sys.path``."""


@dataclass(frozen=True)
class ComparedProcess(PlainData):
    """The measurements of both functions in one process."""

    a: Record
    """Its ``samples_seconds`` are seconds per call, one for each turn."""
    b: Record
    a_compiles: tuple[Phases, ...] = ()
    """Recompiles, interleaved with those of the other function."""
    b_compiles: tuple[Phases, ...] = ()
    swapped: bool = False
    """Whether the second went first."""
    answers: Answers | None = None
    """The answers of one call of each function with the arguments of its case."""


@dataclass(frozen=True)
class Comparison(Result):
    """Whether two functions are the same, and the quantities in which they differ."""

    derived = ("verdict",)

    a: str
    """The name of the first."""
    b: str
    exact: tuple[Exact, ...]
    timings: tuple[Timing, ...]
    criteria: Criteria
    effort: Effort
    processes: tuple[ComparedProcess, ...] = ()
    """All measurements."""

    @property
    def differences(self) -> tuple[Exact | Timing, ...]:
        """The quantities that differ, the exact ones first."""
        return tuple(one for one in (*self.exact, *self.timings) if one.verdict == "different")

    @property
    def failures(self) -> tuple[Record, ...]:
        """The records that did not succeed; with any, nothing is compared."""
        records = (record for process in self.processes for record in (process.a, process.b))
        return tuple(record for record in records if record.status != "ok")

    @property
    def verdict(self) -> Literal["same", "different", "inconclusive", "failed"]:
        """``different`` in anything; else ``same`` or ``inconclusive`` in what decides.

        The phases do not decide: some milliseconds of Python scatter too much for six processes
        to call them the same. They count only where they differ.
        """
        verdicts = {one.verdict for one in (*self.differences, *self.decisive)}
        if self.failures or not verdicts:
            return "failed"
        return next(one for one in ("different", "inconclusive", "same") if one in verdicts)

    @property
    def decisive(self) -> tuple[Exact | Timing, ...]:
        """The quantities that must be the same for the functions to be called so."""
        return (*self.exact, *(one for one in self.timings if one.quantity not in PHASES))
