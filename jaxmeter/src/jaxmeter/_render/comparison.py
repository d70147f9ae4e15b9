"""Describe a comparison: first the exact quantities that are not the same, then the times."""

from __future__ import annotations

import math
import statistics

from jaxmeter._records.comparison import Comparison, Exact, Timing
from jaxmeter._records.record import Scalar
from jaxmeter._render.sheet import Row, Sheet, Table
from jaxmeter._render.units import count_text, quantity_text, seconds_text

MIN_PROCESSES_COUNT = 4
"""With fewer processes than this, a comparison finds only large differences in times."""
_HASH_CHARACTERS = 12
_VALUES_SHOWN_COUNT = 2
_MAX_FACTOR = 100.0
"""The end of a ratio's confidence interval is shown as ``any`` if the end differs from the ratio by
more than this factor."""
_NAMES = {
    "steady_seconds": "steady-state call",
    "trace_seconds": "trace",
    "lower_seconds": "lower",
    "compile_seconds": "compile",
    "constants.captured_fingerprint": "captured values",
    "answers.bits": "answers",
}


def comparison_sheet(comparison: Comparison) -> Sheet:
    """Describe the exact quantities that are not the same, the times with their intervals, and the
    number of exact quantities that are the same. After a failure, describe only the failures."""
    a, b = names = _short_names(comparison)
    if comparison.failures:
        return _failed(comparison, f"{a} -> {b}")
    exact = [
        Row(_name(one), _values(one, one.a), _values(one, one.b), one.verdict, one.reason)
        for one in comparison.exact
        if one.verdict != "same"
    ]
    times = [_timing(comparison, one) for one in comparison.timings]
    sides, verdict = (f"{a}:", f"{b}:"), ("verdict", "reason")
    tables = (
        Table(("exact", *sides, *verdict), exact, limit=100),
        Table(("time", *sides, "ratio:", "interval:", "p:", *verdict), times),
    )
    is_good = {"different": False, "same": True}.get(comparison.verdict)
    headline = f"{a} -> {b}: {_conclusion(comparison)}"
    return Sheet(headline, is_good, tables, tuple(_notes(comparison, names)))


def _notes(comparison: Comparison, names: tuple[str, str]) -> list[str]:
    same = [one for one in comparison.exact if one.verdict == "same"]
    notes = [f"{len(same)} of {len(comparison.exact)} exact quantities are the same"]
    answers = next((one for one in same if one.quantity == "answers.bits"), None)
    if answers is not None:
        how = "bit by bit" if answers.reason.startswith("equal") else answers.reason
        notes[0] += f", including the answers, {how}"
    notes += _not_finite(comparison, names)
    if comparison.timings:
        count = len(comparison.processes)
        notes.append(
            f"times are from {count_text(count, 'process')}, each with interleaved calls of both "
            f"functions; times of {names[1]} are computed as times of {names[0]} multiplied by "
            "the ratio; p and intervals are corrected for multiple comparisons"
        )
        if count < MIN_PROCESSES_COUNT:
            notes.append(
                f"fewer than {MIN_PROCESSES_COUNT} processes find only large differences in times"
            )
    phases = [one for one in comparison.timings if one not in comparison.decisive]
    if comparison.verdict != "different" and any(one.verdict != "same" for one in phases):
        notes.append(
            f"{', '.join(map(_name, phases))} do not decide the verdict: no difference was found, "
            "but each time may differ within its interval"
        )
    return notes


def _not_finite(comparison: Comparison, names: tuple[str, str]) -> list[str]:
    """Return a note for each function that returned NaN or infinite values. The note gives the
    number of such values in the answer. If this number differs between processes, the note gives
    the largest number."""
    known = [one.answers for one in comparison.processes if one.answers is not None]
    notes = []
    for name, side in zip(names, "ab", strict=True):
        count = max((getattr(one, f"{side}_not_finite_count") for one in known), default=0)
        if count:
            numbers = count_text(count, "NaN or infinite number")
            notes.append(f"the answer of {name} has {numbers}")
    return notes


def _failed(comparison: Comparison, headline: str) -> Sheet:
    rows = [
        Row(record.name, record.status, failure.phase, f"{failure.kind}: {failure.message}")
        for record in comparison.failures
        if (failure := record.failure) is not None
    ]
    table = Table(("function", "status", "in", "failure"), rows)
    return Sheet(f"{headline}: not compared", False, (table,))


def _conclusion(comparison: Comparison) -> str:
    if comparison.verdict == "same":
        return "the same within the precision of the measurement"
    if comparison.verdict == "inconclusive":
        names = [_name(one) for one in comparison.decisive if one.verdict == "inconclusive"]
        return f"no difference found, but inconclusive in {', '.join(names)}"
    differing = [
        f"{_name(one)} {_change(one.ratio)}" if isinstance(one, Timing) else _name(one)
        for one in comparison.differences
    ]
    return f"different in {', '.join(differing)}"


def _timing(comparison: Comparison, one: Timing) -> Row:
    seconds = _seconds(comparison, one.quantity)
    # The second function's time is computed from the ratio, which was measured with interleaved
    # calls. The medians of the two functions over all processes may contradict the ratio.
    other = None if seconds is None else seconds * one.ratio
    interval = f"{_end(one, one.low)} to {_end(one, one.high)}"
    numbers = seconds_text(seconds), seconds_text(other), _change(one.ratio), interval
    return Row(_name(one), *numbers, f"{one.p_value:.2g}", one.verdict, one.reason)


def _seconds(comparison: Comparison, quantity: str) -> float | None:
    """Return a time of the first function: the median over processes of the median in each process.

    Return None if no process measured this time.
    """
    medians = []
    for process in comparison.processes:
        samples = process.a.samples_seconds
        if quantity != "steady_seconds":
            samples = [getattr(one, quantity, None) for one in process.a_compiles]
        known = [one for one in samples if one is not None]
        if known:
            medians.append(statistics.median(known))
    return statistics.median(medians) if medians else None


def _end(one: Timing, end: float) -> str:
    is_near = 0.0 < end < math.inf and abs(math.log(end / one.ratio)) < math.log(_MAX_FACTOR)
    return _change(end) if is_near else "any"


def _change(ratio: float) -> str:
    """Return a ratio as text: ``x8.4`` if it is at least 2 or at most 0.5, else ``+3.1 %``."""
    # The format alone would write 120 as 1.2e+02, so its result is converted to a float.
    return f"x{float(f'{ratio:.2g}'):g}" if not 0.5 < ratio < 2 else f"{100 * (ratio - 1):+.1f} %"


def _name(one: Exact | Timing) -> str:
    plain = one.quantity.partition(".")[2] if isinstance(one, Exact) else one.quantity
    return _NAMES.get(one.quantity, plain.replace("_", " "))


def _values(one: Exact, values: tuple[Scalar, ...]) -> str:
    shown = [_value(one.quantity, value) for value in values[:_VALUES_SHOWN_COUNT]]
    return " or ".join([*shown, *(["others"] if len(values) > len(shown) else [])])


def _value(quantity: str, value: Scalar) -> str:
    if isinstance(value, (int, float)):
        return quantity_text(quantity, value)
    return str(value)[:_HASH_CHARACTERS]


def _short_names(comparison: Comparison) -> tuple[str, str]:
    a, b = (name.rpartition(":")[2] for name in (comparison.a, comparison.b))
    if a != b:
        return a, b
    return (comparison.a, comparison.b) if comparison.a != comparison.b else ("first", "second")
