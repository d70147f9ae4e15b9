"""Decide from measured rounds whether times differ.

Between processes, the times of equal programs differ by more than the scatter of the samples within
a process, for example because memory is placed differently or other programs run. Each process
therefore gives one ratio, and these ratios are tested. If other programs disturb a process, its
samples scatter more, and the process gets less weight. The weighted mean of the log ratios is
tested by Student's t, with the variance of the log ratios about this mean. With equal weights this
is the usual t-test. A common factor of all weights has no effect. If the scatter of any process is
not known, all weights are equal.

    J. Hartung, G. Knapp, A refined method for the meta-analysis of controlled clinical trials with
    binary outcome, Statistics in Medicine 20 (2001); K. Sidik, J. N. Jonkman, A simple confidence
    interval for meta-analysis, Statistics in Medicine 21 (2002).

If a process is disturbed from start to end, its samples scatter little but are wrong. Therefore the
mean can leave out a share of the rounds: those with the smallest and the largest ratios (see
``Criteria.trimmed_share``). This costs some statistical power.

    J. W. Tukey, D. H. McLaughlin, Less vulnerable confidence and significance procedures for
    location based on a single sample, Sankhya A 25 (1963); K. K. Yuen, The two-sample trimmed t
    for unequal population variances, Biometrika 61 (1974), the source of the standard error here.

If the intervals of several timed quantities must hold together, the significance is divided by the
number of these quantities (Bonferroni). Otherwise the p-values are corrected by Holm's method,
which finds more differences:

    S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979).

A minimum effect is required as well, because any two functions differ significantly if enough
processes measure them.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from jaxmeter._compare.rounds import Round
from jaxmeter._records.comparison import Criteria, Timing, Verdict

DEFAULT_CRITERIA = Criteria()
PROCESS_SPREAD = 0.01
"""Assumed standard deviation, from process to process, of the log ratio of two equal functions. It
limits the weight of a process with samples that scatter little."""
MIN_ROUNDS_COUNT = 3
"""The smallest number of rounds from which two versions of a case are compared."""

Cases = tuple[str, ...]
_Key = TypeVar("_Key", str, tuple[Cases, str])


def compare_times(
    quantities: Mapping[str, Sequence[Round]],
    criteria: Criteria = DEFAULT_CRITERIA,
    *,
    times_count: int | None = None,
) -> tuple[Timing, ...]:
    """Return a verdict on each of several timed quantities.

    Parameters
    ----------
    quantities : mapping from name to sequence of Round
        The rounds of each timed quantity. The rounds must be independent, so each process gives one
        round.
    criteria : Criteria
        The limits that decide whether times are different.
    times_count : int, optional
        The number of timed quantities that are tested together. ``quantities`` may contain only
        some of them. If this number is given, the significance is divided by it (Bonferroni). Tests
        and intervals then hold for all these quantities together. By default, p-values are
        corrected by Holm's method, and each interval holds by itself.

    Returns
    -------
    tuple of Timing
        The verdicts in the order given. Quantities without rounds are left out.
    """
    if times_count is None:
        return tuple(_timings(quantities, criteria, criteria.significance).values())
    share = criteria.significance / times_count
    return tuple(
        dataclasses.replace(one, p_value=min(1.0, times_count * one.p_value))
        for name, rounds in quantities.items()
        for one in _timings({name: rounds}, criteria, share).values()
    )


def compare_cases(
    rounds: Mapping[tuple[str, str], Sequence[Round]],
    criteria: Criteria = DEFAULT_CRITERIA,
    *,
    pooled: Collection[str] = (),
) -> dict[tuple[Cases, str], Timing]:
    """Return a verdict on each timed quantity of many cases, and on quantities pooled over cases.

    A change of the compiler, for example, may affect every case. Such a change shifts all ratios
    alike, but machine noise shifts each ratio differently. Pooled rounds can therefore show the
    change even if it is not significant in any single case.

    Pooled rounds are weighted equally. For some cases, processes differ by much more than the
    samples within each process. If weights were computed from the scatter of samples, the case with
    the least scatter would dominate.

    Parameters
    ----------
    rounds : mapping from (case, quantity) to sequence of Round
        The rounds of each timed quantity of each case. If there are fewer than `MIN_ROUNDS_COUNT`
        rounds, the quantity of this case is left out.
    criteria : Criteria
        The significance holds for all verdicts together (Holm). If quantities are pooled, the
        verdicts on pooled quantities get half of the significance, and the verdicts on single cases
        get the other half.
    pooled : collection of str
        Quantities to pool. A quantity is pooled if at least two cases have enough rounds of it.

    Returns
    -------
    dict from (cases, quantity) to Timing
        The cases are a tuple: one case, or all cases of a pooled quantity. A pooled quantity is
        left out if the verdict on at least one of its cases is ``different``.
    """
    alone = {
        ((case,), quantity): found
        for (case, quantity), found in rounds.items()
        if len(found) >= MIN_ROUNDS_COUNT
    }
    together = {}
    for quantity in pooled:
        keys = [key for key in alone if key[1] == quantity]
        if len(keys) > 1:
            cases = tuple(case for (case,), _ in keys)
            together[cases, quantity] = [Round(one.ratio) for key in keys for one in alone[key]]
    share = criteria.significance / 2 if together else criteria.significance
    found = _timings(alone, criteria, share)
    for (cases, quantity), timing in _timings(together, criteria, share).items():
        if all(found[(case,), quantity].verdict != "different" for case in cases):
            found[cases, quantity] = timing
    return found


def _timings(
    rounds: Mapping[_Key, Sequence[Round]], criteria: Criteria, significance: float
) -> dict[_Key, Timing]:
    """Return a verdict on each timed quantity, with Holm's correction."""
    known = {key: _estimate(found, criteria) for key, found in rounds.items() if found}
    timings: dict[_Key, Timing] = {}
    p_value = 0.0
    for rank, key in enumerate(sorted(known, key=lambda key: known[key].p_value)):
        estimate, ratios = known[key], tuple(one.ratio for one in rounds[key])
        p_value = min(1.0, max(p_value, (len(known) - rank) * estimate.p_value))
        low, high = estimate.interval(significance)
        ends = (_exp(estimate.mean), _exp(low), _exp(high))
        verdict, reason = _verdict(estimate, (low, high), p_value <= significance, criteria)
        quantity = key if isinstance(key, str) else key[1]
        timings[key] = Timing(quantity, *ends, p_value, ratios, verdict, reason)
    return {key: timings[key] for key in known}


@dataclass(frozen=True)
class _Estimate:
    """The mean log ratio of a timed quantity, with its standard error and degrees of freedom."""

    mean: float
    error: float
    freedom: int

    @property
    def p_value(self) -> float:
        if self.freedom < 1:
            return 1.0
        if self.error == 0.0:
            return 0.0 if self.mean else 1.0
        from scipy import special

        return float(2 * special.stdtr(self.freedom, -abs(self.mean / self.error)))

    def interval(self, significance: float) -> tuple[float, float]:
        if self.freedom < 1:
            return -math.inf, math.inf
        from scipy import special

        reach = self.error * -float(special.stdtrit(self.freedom, significance / 2))
        return self.mean - reach, self.mean + reach


def _estimate(rounds: Sequence[Round], criteria: Criteria) -> _Estimate:
    logs = [math.log(one.ratio) for one in rounds]
    errors = [one.error for one in rounds]
    weights = [1.0] * len(rounds)
    if None not in errors:
        weights = [1 / (PROCESS_SPREAD**2 + (error or 0.0) ** 2) for error in errors]
    return _trimmed_mean(logs, weights, int(len(rounds) * criteria.trimmed_share))


def _trimmed_mean(logs: Sequence[float], weights: Sequence[float], trim: int) -> _Estimate:
    """Return the weighted mean without the `trim` smallest and the `trim` largest values.

    The error is computed from the spread of winsorised values: each trimmed value is replaced by
    the nearest value that is not trimmed. With equal weights this is Yuen's error; without
    trimming, Yuen's error is the usual standard error.
    """
    count, left = len(logs), len(logs) - 2 * trim
    inner = sorted(range(count), key=lambda i: logs[i])[trim : count - trim]
    low, high = logs[inner[0]], logs[inner[-1]]
    if trim and low == high:
        # If the kept values are equal, only the trimmed values show a spread.
        return _trimmed_mean(logs, weights, 0)
    mean = statistics.fmean([logs[i] for i in inner], [weights[i] for i in inner])
    if count < 2:
        return _Estimate(mean, math.inf, 0)
    moved = [min(max(log, low), high) for log in logs]
    middle = statistics.fmean(moved, weights)
    spread = statistics.fmean([(log - middle) ** 2 for log in moved], weights)
    return _Estimate(mean, math.sqrt(spread * count / (left * (left - 1))), left - 1)


def _verdict(
    known: _Estimate, interval: tuple[float, float], is_significant: bool, criteria: Criteria
) -> tuple[Verdict, str]:
    least = math.log1p(criteria.minimum_effect)
    shown = f"{100 * criteria.minimum_effect:g} %"
    if known.freedom < 1:
        return "inconclusive", "a single round"
    if is_significant and abs(known.mean) >= least:
        return "different", f"significant, by more than {shown}"
    is_within = -least < interval[0] and interval[1] < least
    if not is_significant:
        return ("same", f"within {shown}") if is_within else ("inconclusive", "not significant")
    if is_within:
        return "same", f"significant, but by less than {shown}"
    return "inconclusive", f"significant, perhaps by more than {shown}"


def _exp(log: float) -> float:
    """Return e**log; infinity if the value is too large for a float."""
    try:
        return math.exp(log)
    except OverflowError:
        return math.inf
