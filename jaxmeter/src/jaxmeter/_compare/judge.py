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

A process may be disturbed from its beginning to its end, and its own samples then agree on a wrong
time. Where a rule says so, the rounds at both ends are left out of the mean, which costs some power
and makes one such process harmless.

    J. W. Tukey, D. H. McLaughlin, Less vulnerable confidence and significance procedures for
    location based on a single sample, Sankhya A 25 (1963); K. K. Yuen, The two-sample trimmed t
    for unequal population variances, Biometrika 61 (1974), whose error this is.

The times of one pair of functions share the significance equally, so that their intervals hold
together as their tests do (Bonferroni's correction). Where many times are tested at once, as over
all programs of two versions, p-values are corrected as in S. Holm, A simple sequentially rejective
multiple test procedure, Scand. J. Statist. 6 (1979), which finds more. And a least effect is asked
for besides, for with enough processes any two functions differ.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from collections.abc import Mapping, Sequence

from jaxmeter._compare.exact import compare_exact
from jaxmeter._compare.rounds import PHASES, TIMES, Ratio, steady_rounds
from jaxmeter._compare.rounds import Round as Round
from jaxmeter._compare.student import two_sided_p, two_sided_t
from jaxmeter._records.comparison import Exact, Rule, Timing, Verdict
from jaxmeter._records.record import Record
from jaxmeter.errors import JaxmeterError

DEFAULT_RULE = Rule()
PROCESS_SPREAD = 0.01
"""By how much the ratios of equal functions differ from process to process, though each be known
exactly. It keeps a process whose samples scatter little from deciding alone."""
Rounds = Mapping[str, Sequence[Round | Ratio]]


def compare_pair(quantities: Rounds, rule: Rule = DEFAULT_RULE) -> tuple[Timing, ...]:
    """Judge the times of one pair of functions, whose intervals hold together.

    Parameters
    ----------
    quantities : mapping from name to sequence of Round or Ratio
        Those of `TIMES` that are known, each with its rounds, one for each process. Each has its
        share of the significance whether or not the others are known.
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
    count = len(TIMES)
    share = dataclasses.replace(rule, significance=rule.significance / count)
    return tuple(
        dataclasses.replace(one, p_value=min(1.0, count * one.p_value))
        for name, rounds in quantities.items()
        for one in compare_times({name: rounds}, share)
    )


def compare_times(quantities: Rounds, rule: Rule = DEFAULT_RULE) -> tuple[Timing, ...]:
    """Judge any number of times, each alone in its interval and together in their tests.

    Parameters
    ----------
    quantities : mapping from name to sequence of Round or Ratio
        Each time that is compared, with its rounds, which must be independent: one for each
        process.
    rule : Rule
        When they are different.

    Returns
    -------
    tuple of Timing
        In the order given; those without rounds are left out. The p-values are corrected by Holm's
        method, and the intervals are not corrected.

    Raises
    ------
    JaxmeterError
        If a time is not a finite number above 0.
    """
    for name, rounds in quantities.items():
        for one in rounds:
            one.check(name)
    known = {name: _Known(rounds, rule) for name, rounds in quantities.items() if rounds}
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
        If there are none, not as many of each, or some that did not succeed.
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
    quantities = {"steady_seconds": steady_rounds(records_a, records_b)}
    for phase in PHASES:
        pairs = [
            (getattr(a.phases, phase), getattr(b.phases, phase))
            for a, b in zip(records_a, records_b, strict=True)
        ]
        quantities[phase] = [Round((a,), (b,)) for a, b in pairs if None not in (a, b)]
    return compare_exact(records_a, records_b), compare_pair(quantities, rule)


class _Known:
    """What the rounds of one time tell together."""

    def __init__(self, rounds: Sequence[Round | Ratio], rule: Rule) -> None:
        self.ratios = tuple(one.ratio for one in rounds)
        self.count = len(rounds)
        logs = [math.log(ratio) for ratio in self.ratios]
        errors = [one.error for one in rounds]
        weights = [1.0] * self.count
        if None not in errors:
            weights = [1 / (PROCESS_SPREAD**2 + (error or 0.0) ** 2) for error in errors]
        trim = int(self.count * rule.trimmed_share)
        self.mean, self.error, self.freedom = _mean(logs, weights, trim)

    @property
    def p_value(self) -> float:
        if self.count < 2:
            return 1.0
        if self.error == 0.0:
            return 0.0 if self.mean else 1.0
        return two_sided_p(self.mean / self.error, self.freedom)


def _mean(logs: Sequence[float], weights: Sequence[float], trim: int) -> tuple[float, float, int]:
    """The weighted mean without the `trim` largest and least, its error, and what Student's t has
    of degrees of freedom.

    The error comes from the spread that is left when those at the ends are moved to the next ones.
    With equal weights it is Yuen's, without trimming the usual one.
    """
    count, left = len(logs), len(logs) - 2 * trim
    order = sorted(range(count), key=lambda i: logs[i])
    inner = order[trim : count - trim]
    if trim and logs[inner[0]] == logs[inner[-1]]:
        # Memory may agree exactly: then the ends alone tell a spread.
        return _mean(logs, weights, 0)
    mean = _weighted([logs[i] for i in inner], [weights[i] for i in inner])
    if count < 2:
        return mean, math.inf, 0
    moved = [min(max(log, logs[inner[0]]), logs[inner[-1]]) for log in logs]
    middle = _weighted(moved, weights)
    squares = sum(w * (log - middle) ** 2 for w, log in zip(weights, moved, strict=True))
    variance = squares / (count - 1) / sum(weights)
    share = count * (count - 1) / (left * (left - 1))
    return mean, math.sqrt(variance * share), left - 1


def _weighted(values: Sequence[float], weights: Sequence[float]) -> float:
    return sum(map(operator.mul, weights, values)) / sum(weights)


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
        reach = known.error * two_sided_t(rule.significance, known.freedom)
        low, high = mean - reach, mean + reach
    told = (_ratio(mean), _ratio(low), _ratio(high), p_value)
    is_chance = p_value > rule.significance
    return Timing(name, *told, known.ratios, *_verdict(known, (low, high), is_chance, rule))


def _verdict(
    known: _Known, interval: tuple[float, float], is_chance: bool, rule: Rule
) -> tuple[Verdict, str]:
    least = math.log1p(rule.minimum_effect)
    shown = f"{100 * rule.minimum_effect:g} %"
    if known.count < 2:
        return "inconclusive", "one process does not tell"
    if not is_chance and abs(known.mean) >= least:
        return "different", f"by more than {shown}, and not by chance"
    is_within = -least < interval[0] and interval[1] < least
    if is_chance:
        return ("same", f"within {shown}") if is_within else ("inconclusive", "may be chance")
    if is_within:
        return "same", f"not by chance, but by less than {shown}"
    return "inconclusive", f"not by chance, perhaps by more than {shown}"


def _ratio(log: float) -> float:
    """That of a logarithm; infinite if it is too large for a float."""
    try:
        return math.exp(log)
    except OverflowError:
        return math.inf
