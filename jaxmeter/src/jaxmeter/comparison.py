"""Are two functions the same? The verdict from what was measured, without measuring anything.

Equal programs in different processes differ in their times by more than their samples within a
process tell: memory lies elsewhere, other work goes on. So what counts is *processes*: each gives
one ratio of both times, and those ratios are the sample. A process that was disturbed, whose own
samples scatter, counts for less: the logarithms of the ratios are averaged with weights, and
tested by Student's t with the variance that they show about that average. For equal weights that
is the usual t-test; it needs the weights to be right but for a factor that all share.

    J. Hartung, G. Knapp, A refined method for the meta-analysis of controlled clinical trials with
    binary outcome, Statistics in Medicine 20 (2001); K. Sidik, J. N. Jonkman, A simple confidence
    interval for meta-analysis, Statistics in Medicine 21 (2002).

Several times of one pair of functions are tested at once, with p-values corrected as in
S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979).
And a least effect is asked for besides, for with enough processes any two functions differ.
"""

from __future__ import annotations

import dataclasses
import math
import operator
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from jaxmeter.comparison_record import Exact, Rule, Timing, Verdict
from jaxmeter.errors import JaxmeterError
from jaxmeter.record import Counts, Memory, Phases, Program, Record, Scalar
from jaxmeter.student import two_sided_p, two_sided_t

PHASES = ("trace_seconds", "lower_seconds", "compile_seconds")
_EXACT_CONSTANTS = (
    "captured_bytes",
    "captured_count",
    "embedded_bytes",
    "embedded_count",
    "hidden_argument_bytes",
)
_NOT_EXACT = {"baseline_rss_bytes", "compile_peak_rss_bytes", "peak_rss_bytes", "device_peak_bytes"}
EXACT = (
    *(f"constants.{name}" for name in _EXACT_CONSTANTS),
    *(f"counts.{field.name}" for field in dataclasses.fields(Counts)),
    *(f"program.{field.name}" for field in dataclasses.fields(Program)),
    *(f"memory.{f.name}" for f in dataclasses.fields(Memory) if f.name not in _NOT_EXACT),
)
"""The quantities of a record that are free of noise."""
DEFAULT_RULE = Rule()
PROCESS_SPREAD = 0.01
"""By how much the ratios of equal functions differ from process to process, though each be known
exactly. It keeps a process whose samples scatter little from deciding alone."""
_LEAST_SAMPLES_COUNT = 5
"""From so many samples on their scatter is taken to be known."""


@dataclasses.dataclass(frozen=True)
class Round:
    """Seconds of both functions, measured side by side: by one process, or by one each."""

    a: tuple[float, ...]
    b: tuple[float, ...]
    in_turns: bool = False
    """Whether the samples were taken in turns, so that the n-th of both belong together."""

    @property
    def ratio(self) -> float:
        """Of the second to the first: the median of the turns, or that of the medians."""
        if self.in_turns:
            return math.exp(statistics.median(self._logs()))
        return statistics.median(self.b) / statistics.median(self.a)

    @property
    def error(self) -> float | None:
        """The standard error of the ratio's logarithm; None if there are too few samples."""
        if min(len(self.a), len(self.b)) < _LEAST_SAMPLES_COUNT:
            return None
        if self.in_turns:
            return _median_error(self._logs())
        return math.hypot(*(_median_error([math.log(one) for one in x]) for x in (self.a, self.b)))

    def _logs(self) -> list[float]:
        return [math.log(b / a) for a, b in zip(self.a, self.b, strict=True)]


def compare_times(
    quantities: Mapping[str, Sequence[Round]], rule: Rule = DEFAULT_RULE
) -> tuple[Timing, ...]:
    """Judge the times of two functions.

    Parameters
    ----------
    quantities : mapping from name to sequence of Round
        Each time that is compared, with its rounds, which must be independent: one for each
        process.
    rule : Rule
        When they are different.

    Returns
    -------
    tuple of Timing
        In the order given; those without rounds are left out.

    Raises
    ------
    JaxmeterError
        If a time is not a finite number above 0.
    """
    known = {
        name: _Known(tuple(_checked(name, one) for one in rounds))
        for name, rounds in quantities.items()
        if rounds
    }
    p_values = _holm({name: one.p_value for name, one in known.items()})
    return tuple(_judged(name, one, p_values[name], rule) for name, one in known.items())


def compare_records(
    records_a: Sequence[Record], records_b: Sequence[Record], rule: Rule = DEFAULT_RULE
) -> tuple[tuple[Exact, ...], tuple[Timing, ...]]:
    """Compare two functions, or two versions of one, that were measured by processes of their own.

    Parameters
    ----------
    records_a, records_b : sequence of Record
        As many of each; the n-th of both should have been measured one after the other, for each
        such round gives one ratio. Let rounds begin with either in turns.
    rule : Rule
        When times are different.

    Returns
    -------
    pair of tuple of Exact, tuple of Timing
        The exact quantities are left out if JAX's versions differ, for compilers do too.

    Raises
    ------
    JaxmeterError
        If there are none, not as many of each, or some that did not end well.
    """
    records_a, records_b = tuple(records_a), tuple(records_b)
    if not records_a or len(records_a) != len(records_b):
        raise JaxmeterError(
            f"compare_records: got {len(records_a)} and {len(records_b)} records; give as many of "
            "each, measured in rounds"
        )
    for record in (*records_a, *records_b):
        if record.status != "ok":
            raise JaxmeterError(
                f"compare_records: got a record of {record.name} with status {record.status!r}; "
                "give the rounds in which both are ok"
            )
    quantities = {"settled_seconds": settled_rounds(records_a, records_b)}
    for phase in PHASES:
        pairs = [
            (getattr(a.phases, phase), getattr(b.phases, phase))
            for a, b in zip(records_a, records_b, strict=True)
        ]
        quantities[phase] = [Round((a,), (b,)) for a, b in pairs if None not in (a, b)]
    return compare_exact(records_a, records_b), compare_times(quantities, rule)


def settled_rounds(
    records_a: Sequence[Record], records_b: Sequence[Record], *, in_turns: bool = False
) -> list[Round]:
    """The rounds of settled times; ``in_turns`` if one process took both."""
    pairs = zip(records_a, records_b, strict=True)
    samples = ((a.samples_seconds, b.samples_seconds) for a, b in pairs)
    return [Round(a, b, in_turns) for a, b in samples if a and b]


def phase_rounds(
    compiles: Sequence[tuple[Sequence[Phases], Sequence[Phases]]],
) -> dict[str, list[Round]]:
    """The rounds of each phase, from compiles that processes made in turns."""
    return {
        phase: [
            Round(
                tuple(getattr(one, phase) for one in a),
                tuple(getattr(one, phase) for one in b),
                in_turns=True,
            )
            for a, b in compiles
            if a and b
        ]
        for phase in PHASES
    }


def compare_exact(records_a: Sequence[Record], records_b: Sequence[Record]) -> tuple[Exact, ...]:
    """Compare the quantities that are free of noise; those not known of both are left out."""
    versions = {
        None if record.environment is None else record.environment.jax
        for record in (*records_a, *records_b)
    }
    if len(versions) > 1:
        return ()
    found = []
    for quantity in EXACT:
        a, b = (_values(records, quantity) for records in (records_a, records_b))
        if a and b:
            verdict, reason = _exact_verdict(a, b)
            found.append(Exact(quantity, a, b, verdict, reason))
    return tuple(found)


def _exact_verdict(a: tuple[Scalar, ...], b: tuple[Scalar, ...]) -> tuple[Verdict, str]:
    if len(a) == len(b) == 1:
        return ("same", "equal") if a == b else ("different", "not equal")
    if set(a) & set(b):
        return "unclear", "it varies from process to process"
    return "different", "it varies from process to process, and never is the same for both"


def _values(records: Sequence[Record], quantity: str) -> tuple[Scalar, ...]:
    section, _, field = quantity.partition(".")
    values: list[Any] = [getattr(getattr(record, section), field) for record in records]
    return () if None in values else tuple(dict.fromkeys(values))


def _checked(name: str, one: Round) -> Round:
    if not all(math.isfinite(seconds) and seconds > 0 for seconds in (*one.a, *one.b)):
        wrong = next(s for s in (*one.a, *one.b) if not (math.isfinite(s) and s > 0))
        raise JaxmeterError(
            f"compare_times: got {wrong!r} among {name}; give seconds, finite and above 0"
        )
    if not one.a or not one.b or (one.in_turns and len(one.a) != len(one.b)):
        raise JaxmeterError(
            f"compare_times: got {len(one.a)} and {len(one.b)} samples of {name} in one round; "
            "give at least one of each, and as many of each if they were taken in turns"
        )
    return one


def _median_error(values: Sequence[float]) -> float:
    """The standard error of the median, sqrt(pi / 2 n) sigma for normal samples, with sigma from
    the interquartile range, which outliers do not change."""
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return math.sqrt(math.pi / (2 * len(values))) * (high - low) / 1.349


class _Known:
    """What the rounds of one time tell together."""

    def __init__(self, rounds: tuple[Round, ...]) -> None:
        self.ratios = tuple(one.ratio for one in rounds)
        self.count = len(rounds)
        logs = [math.log(ratio) for ratio in self.ratios]
        errors = [one.error for one in rounds]
        weights = [1.0] * self.count
        if None not in errors:
            weights = [1 / (PROCESS_SPREAD**2 + (error or 0.0) ** 2) for error in errors]
        total = sum(weights)
        self.mean = sum(map(operator.mul, weights, logs)) / total
        self.error = math.inf
        if self.count > 1:
            squares = sum(w * (log - self.mean) ** 2 for w, log in zip(weights, logs, strict=True))
            self.error = math.sqrt(squares / (self.count - 1) / total)

    @property
    def p_value(self) -> float:
        if self.count < 2:
            return 1.0
        if self.error == 0.0:
            return 0.0 if self.mean else 1.0
        return two_sided_p(self.mean / self.error, self.count - 1)


def _holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Each p-value as if it had been the only one: Holm's, which keeps the family's rate."""
    corrected, least = {}, 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        least = min(1.0, max(least, (len(p_values) - rank) * p_values[name]))
        corrected[name] = least
    return corrected


def _judged(name: str, known: _Known, p_value: float, rule: Rule) -> Timing:
    mean, low, high = known.mean, -math.inf, math.inf
    if known.count > 1:
        reach = known.error * two_sided_t(rule.significance, known.count - 1)
        low, high = mean - reach, mean + reach
    least = math.log1p(rule.minimum_effect)
    shown = f"{100 * rule.minimum_effect:g} %"
    if p_value > rule.significance:
        verdict, reason = "unclear", "may be chance"
        if -least < low and high < least:
            verdict, reason = "same", f"within {shown}"
    elif abs(mean) < least:
        verdict, reason = "same", f"not by chance, but by less than {shown}"
    else:
        verdict, reason = "different", f"by more than {shown}, and not by chance"
    if known.count < 2:
        reason = "one process does not tell"
    ratios = known.ratios
    told = (math.exp(mean), math.exp(low), math.exp(high), p_value)
    return Timing(name, *told, ratios, verdict, reason)
