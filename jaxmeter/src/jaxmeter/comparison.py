"""Are two functions the same? The verdict from what was measured, without measuring anything.

Equal programs in different processes differ in their times by more than their samples within a
process tell: memory lies elsewhere, other work goes on. So what counts is *processes*: each gives
one ratio of both times, those ratios are the sample, and Student's t of their logarithms is the
test. It is right for any number of processes from two on, and where the ratios have heavier tails
than a normal distribution it calls equal functions different more rarely still. A least effect
is asked for besides, for with enough processes any two functions differ.

Several times of one pair of functions are tested at once, with p-values corrected as in
S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979).
"""

from __future__ import annotations

import dataclasses
import math
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


@dataclasses.dataclass(frozen=True)
class Round:
    """Seconds of both functions, measured side by side: by one process, or by one each."""

    a: tuple[float, ...]
    b: tuple[float, ...]
    in_turns: bool = False
    """Whether the samples were taken in turns, so that the n-th of both belong together."""

    @property
    def ratio(self) -> float:
        """Of the second to the first."""
        if self.in_turns:
            return math.exp(
                statistics.median(math.log(b / a) for a, b in zip(self.a, self.b, strict=True))
            )
        return statistics.median(self.b) / statistics.median(self.a)


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
    ratios = {
        name: [_ratio(name, one) for one in rounds] for name, rounds in quantities.items() if rounds
    }
    p_values = _holm({name: _p_value(found) for name, found in ratios.items()})
    return tuple(_judged(name, found, p_values[name], rule) for name, found in ratios.items())


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


def _ratio(name: str, one: Round) -> float:
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
    return one.ratio


def _spread(ratios: Sequence[float]) -> tuple[float, float]:
    """The mean of the logarithms, and its standard error."""
    logs = [math.log(ratio) for ratio in ratios]
    return statistics.fmean(logs), statistics.stdev(logs) / math.sqrt(len(logs))


def _p_value(ratios: Sequence[float]) -> float:
    if len(ratios) < 2:
        return 1.0
    mean, error = _spread(ratios)
    if error == 0.0:
        return 0.0 if mean else 1.0
    return two_sided_p(mean / error, len(ratios) - 1)


def _holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Each p-value as if it had been the only one: Holm's, which keeps the family's rate."""
    corrected, least = {}, 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        least = min(1.0, max(least, (len(p_values) - rank) * p_values[name]))
        corrected[name] = least
    return corrected


def _judged(name: str, ratios: Sequence[float], p_value: float, rule: Rule) -> Timing:
    if len(ratios) < 2:
        (ratio,) = ratios
        return Timing(
            name,
            ratio,
            0.0,
            math.inf,
            p_value,
            tuple(ratios),
            "unclear",
            "one process tells nothing",
        )
    mean, error = _spread(ratios)
    reach = error * two_sided_t(rule.significance, len(ratios) - 1)
    ratio, low, high = (math.exp(mean + by) for by in (0.0, -reach, reach))
    least = math.log1p(rule.minimum_effect)
    shown = f"{rule.minimum_effect:.0%}".replace("%", " %")
    if p_value > rule.significance:
        verdict, reason = "unclear", "what is seen may be chance; more processes would tell"
        if -least < mean - reach and mean + reach < least:
            verdict, reason = "same", f"within {shown}"
    elif abs(mean) < least:
        verdict, reason = "same", f"not by chance, but by less than {shown}"
    else:
        verdict, reason = "different", f"by more than {shown}, and not by chance"
    return Timing(name, ratio, low, high, p_value, tuple(ratios), verdict, reason)
