"""Define a comparison of two functions, including its raw samples, as immutable plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from jaxmeter._records.plain_data import PlainData, Result, check_fields
from jaxmeter._records.record import PHASES, Phases, Record, Scalar

TIMES = ("steady_seconds", *PHASES)
"""The times that a comparison tests for differences."""
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Verdict = Literal["same", "different", "inconclusive"]


@dataclass(frozen=True)
class Criteria:
    """The criteria by which two functions are called different."""

    minimum_effect: Annotated[float, Meta(ge=0, le=1e9)] = 0.03
    """The smallest relative difference at which two times can be called different: 0.03 for 3 %."""
    significance: Annotated[float, Meta(gt=0, lt=1)] = 0.005
    """The largest allowed probability that two equal functions are called different in at least one
    timed quantity. In a comparison, each of the four timed quantities is tested at a quarter of
    this probability."""
    trimmed_share: Annotated[float, Meta(ge=0, le=0.25)] = 0.0
    """The share of `Timing.ratios` to trim at the low end, and again at the high end, before the
    mean of the ratios is computed. The number of ratios to trim at each end is rounded down. With a
    share of 0.125 and eight ratios, the smallest and the largest ratio are trimmed."""
    tolerance: Annotated[float, Meta(ge=0, le=1e9)] = 0.0
    """The largest difference at which two answers are still called the same. The difference is a
    share of the largest absolute value in the first answer. 0 requires equal bits."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Effort:
    """The limits on the measurements of each process."""

    turns: Annotated[int, Meta(ge=1)] = 200
    """Maximum number of turns. A turn measures a block of steady-state calls of each function."""
    turn_seconds: Seconds = 3e-4
    """The intended duration of a block. The number of calls in a block, at least 1, is chosen to
    match this duration. With short blocks, machine noise affects both functions alike."""
    steady_seconds: Seconds = 1.0
    """No further turn begins after all calls together have taken this time. At least five turns are
    measured, unless ``turns`` is smaller than five."""
    compiles: Annotated[int, Meta(ge=0)] = 3
    """Maximum number of timed compiles of each function."""
    compile_seconds: Seconds = 10.0
    """No further pair of timed compiles begins after the timed compiles have taken this time."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Side:
    """A function and its arguments, written as on a command line. A fresh process imports the
    function and makes the arguments."""

    target: str
    """``package.module:function`` or ``file.py:function``."""
    arg: tuple[str, ...] = ()
    """The arguments. Each argument is a number, a boolean, a quoted string, a tuple, or a type and
    shape such as ``f32[64,3]``. Named arguments have the form ``name=value``. An array of a given
    type and shape is filled with ones."""
    npz: str | None = None
    """A file of arrays that numpy saved. The arrays ``arr_0``, ``arr_1``, ... are positional
    arguments, all other arrays are named arguments."""
    pickle: str | None = None
    """A file with the pickle of a tuple of arguments, or of a pair (args, kwargs)."""
    param: tuple[str, ...] = ()
    """Keyword arguments of the function that makes the case or the arguments, each written
    ``name=value``."""
    static: tuple[str, ...] = ()
    """The names of static arguments of a function that is not jitted."""
    no_args: bool = False
    """Whether to measure the function itself, called without arguments, instead of a case that the
    function makes."""
    call: tuple[str, ...] = ()
    """The arguments of further calls, one string for each call, such as ``f32[64,3] n=3``. These
    calls are made after the measurement, and their retraces are counted."""


@dataclass(frozen=True)
class Exact:
    """The values of both functions for an exact quantity, which is free of noise."""

    quantity: str
    """The section and the field of the record, such as ``constants.captured_bytes``; or
    ``answers.bits``."""
    a: tuple[Scalar, ...]
    """The distinct values that the processes measured for the first function: one value, unless
    the quantity varies."""
    b: tuple[Scalar, ...]
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Timing:
    """The comparison of two functions in a single timed quantity, such as ``steady_seconds``."""

    quantity: str
    """``steady_seconds``, or one of the phases ``trace_seconds``, ``lower_seconds``,
    ``compile_seconds``."""
    ratio: float
    """The time of the second function divided by the time of the first: the weighted geometric mean
    of ``ratios``, without the trimmed ratios."""
    low: float
    """The interval from ``low`` to ``high`` contains the true ratio with a confidence of 1 -
    significance. In a comparison, this confidence is for all timed quantities together. In
    `compare_cases`, and in `compare_times` without ``times_count``, the confidence is for each
    quantity alone. If `compare_cases` pools quantities, the confidence is 1 - significance / 2."""
    high: float
    p_value: float
    """The probability that two equal functions give a ratio at least as far from 1 as ``ratio``.
    The probability is corrected for the number of timed quantities in the comparison."""
    ratios: tuple[float, ...]
    """The ratios of the times of the two functions: one ratio for each process, or for each pair
    of processes if each process measured a single function."""
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Answers:
    """The difference between the answers of two functions in one process.

    Each function is called once.
    """

    a_fingerprint: str
    """SHA-256 of all arrays and numbers in the first answer. The hash includes dtypes, shapes,
    the paths of the leaves and the types of the containers."""
    b_fingerprint: str
    max_difference: float | None
    """The largest absolute difference over all numbers that are finite in both answers; None if the
    trees, shapes or dtypes of the answers differ."""
    largest: float
    """The largest finite absolute value in the first answer."""
    a_not_finite_count: int
    """The number of values in the first answer that are NaN or infinite."""
    b_not_finite_count: int
    numbers_count: int
    """The number of values in the first answer."""
    is_not_finite_alike: bool = True
    """Whether each value that is NaN or infinite in one answer is the same in the other answer.
    Also True if the trees, shapes or dtypes of the answers differ, and in older records."""


@dataclass(frozen=True)
class Task(PlainData):
    """The functions to measure in one process, and the limits on the measurement."""

    a: Side
    b: Side
    effort: Effort
    swapped: bool
    """Whether the second function is measured first."""
    path: tuple[str, ...]
    """Entries to put in front of ``sys.path``."""


@dataclass(frozen=True)
class ComparedProcess(PlainData):
    """The measurements of two functions in one process."""

    a: Record
    """The record of the first function. Each value in ``samples_seconds`` is the median time of the
    calls in one turn."""
    b: Record
    a_compiles: tuple[Phases, ...] = ()
    """Recompiles of the first function, interleaved with the recompiles of the second."""
    b_compiles: tuple[Phases, ...] = ()
    swapped: bool = False
    """Whether the second function was measured first."""
    answers: Answers | None = None
    """The difference of the answers, from one call of each function with the arguments of its
    case; None if a function failed."""


@dataclass(frozen=True)
class Comparison(Result):
    """The result of a comparison: whether two functions are the same, and which quantities
    differ."""

    derived = ("verdict",)

    a: str
    """The name of the first function."""
    b: str
    exact: tuple[Exact, ...]
    timings: tuple[Timing, ...]
    criteria: Criteria
    effort: Effort
    processes: tuple[ComparedProcess, ...] = ()
    """The raw measurements of each process."""

    @property
    def differences(self) -> tuple[Exact | Timing, ...]:
        """The quantities that differ: first exact quantities, then times."""
        return tuple(one for one in (*self.exact, *self.timings) if one.verdict == "different")

    @property
    def failures(self) -> tuple[Record, ...]:
        """The records of measurements that did not succeed. If there is such a record, nothing is
        compared."""
        records = (record for process in self.processes for record in (process.a, process.b))
        return tuple(record for record in records if record.status != "ok")

    @property
    def verdict(self) -> Literal["same", "different", "inconclusive", "failed"]:
        """The verdict on all quantities, in this order of precedence:

        - ``failed`` if a measurement did not succeed, or nothing could be compared;
        - ``different`` if any quantity differs;
        - ``inconclusive`` if a decisive quantity is inconclusive;
        - ``same`` otherwise.

        The times of tracing, lowering and compiling are not decisive: they affect the verdict only
        if they differ. A phase may take only a few milliseconds of Python. Such times vary so
        much that a comparison in six processes can rarely call them the same.
        """
        verdicts = {one.verdict for one in (*self.differences, *self.decisive)}
        if self.failures or not verdicts:
            return "failed"
        return next(one for one in ("different", "inconclusive", "same") if one in verdicts)

    @property
    def decisive(self) -> tuple[Exact | Timing, ...]:
        """The quantities that must all be the same for the verdict ``same``."""
        return (*self.exact, *(one for one in self.timings if one.quantity not in PHASES))
