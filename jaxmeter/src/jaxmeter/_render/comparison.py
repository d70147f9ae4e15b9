"""A comparison as a sheet: what differs first, then the times."""

from __future__ import annotations

import math
import statistics

from jaxmeter._records.comparison import Comparison, Exact, Timing
from jaxmeter._records.record import Scalar
from jaxmeter._render.sheet import Sheet, Table
from jaxmeter._render.units import bytes_text, count_text, seconds_text

LEAST_PROCESSES_COUNT = 4
"""Fewer find no difference of times but large ones."""
_HASH_CHARACTERS = 12
_VALUES_SHOWN_COUNT = 2
_FARTHEST_SHOWN = 100.0
"""An interval that reaches farther from its ratio, as a factor, tells nothing."""
_NAMES = {
    "steady_seconds": "steady-state call",
    "trace_seconds": "trace",
    "lower_seconds": "lower",
    "compile_seconds": "compile",
    "constants.captured_fingerprint": "captured values",
    "answers.bits": "answers",
}


def comparison_sheet(found: Comparison) -> Sheet:
    """What differs, the times with their intervals, and how much is the same."""
    a, b = _short(found)
    if found.failures:
        return _failed(found, f"{a} -> {b}")
    told = [one for one in found.exact if one.verdict != "same"]
    exact = Table(
        ("exact", f"{a}:", f"{b}:", "verdict", "reason"),
        tuple(
            (_quantity(one), _values(one, one.a), _values(one, one.b), one.verdict, one.reason)
            for one in told
        ),
    )
    times = Table(
        ("time", f"{a}:", f"{b}:", "ratio:", "interval:", "p:", "verdict", "reason"),
        tuple(_timing(found, one) for one in found.timings),
    )
    mood = {"different": "bad", "same": "good"}.get(found.verdict, "plain")
    headline = f"{a} -> {b}: {_conclusion(found)}"
    tables, notes = (exact, times), tuple(_notes(found, (a, b)))
    return Sheet(headline, mood, tables, notes)  # pyright: ignore[reportArgumentType]


def _notes(found: Comparison, names: tuple[str, str]) -> list[str]:
    same = [one for one in found.exact if one.verdict == "same"]
    notes = [f"{len(same)} of {len(found.exact)} exact quantities are the same"]
    if any(one.quantity == "answers.bits" for one in same):
        notes[0] += ", among them the answers, bit by bit"
    notes += _not_finite(found, names)
    if found.timings:
        count = len(found.processes)
        notes.append(
            f"times by {count} processes, each with both in "
            f"turns; those of {names[1]} are those of {names[0]} times the ratio; p and intervals "
            "hold for all times together"
        )
        if count < LEAST_PROCESSES_COUNT:
            notes.append(
                f"fewer than {LEAST_PROCESSES_COUNT} processes find no difference of times but "
                "large ones"
            )
    phases = [one for one in found.timings if one not in found.decisive]
    if found.verdict != "different" and any(one.verdict != "same" for one in phases):
        notes.append(
            f"{', '.join(map(_quantity, phases))} do not decide: none is seen to differ, yet each "
            "may within its interval"
        )
    return notes


def _not_finite(found: Comparison, names: tuple[str, str]) -> list[str]:
    """Of the process whose answers have most of what is no number."""
    known = [one.answers for one in found.processes if one.answers is not None]
    notes = []
    for name, side in zip(names, "ab", strict=True):
        counts = [getattr(one, f"{side}_not_finite_count") for one in known]
        if any(counts):
            numbers = count_text(max(counts), "number")
            notes.append(f"the answer of {name} has {numbers} that are NaN or infinite")
    return notes


def _failed(found: Comparison, headline: str) -> Sheet:
    failures = [(record, record.failure) for record in found.failures]
    rows = tuple(
        (record.name, record.status, failure.phase, f"{failure.kind}: {failure.message}")
        for record, failure in failures
        if failure is not None
    )
    table = Table(("function", "status", "in", "failure"), rows)
    return Sheet(f"{headline}: not compared", "bad", (table,))


def _conclusion(found: Comparison) -> str:
    if found.verdict == "same":
        return "the same to the meter"
    if found.verdict == "inconclusive":
        inconclusive = [_quantity(one) for one in found.decisive if one.verdict == "inconclusive"]
        return f"no difference found, yet inconclusive in {', '.join(inconclusive)}"
    differing = [
        f"{_quantity(one)} {_change(one.ratio)}" if isinstance(one, Timing) else _quantity(one)
        for one in found.differences
    ]
    return f"different in {', '.join(differing)}"


def _timing(found: Comparison, one: Timing) -> tuple[str, ...]:
    seconds = _seconds(found, one.quantity)
    return (
        _quantity(one),
        seconds_text(seconds),
        # Not what was measured of it: the medians of both, each over all processes, may contradict
        # the ratio, which is of what was measured side by side.
        seconds_text(None if seconds is None else seconds * one.ratio),
        _change(one.ratio),
        f"{_end(one, one.low)} to {_end(one, one.high)}",
        f"{one.p_value:.2g}",
        one.verdict,
        one.reason,
    )


def _seconds(found: Comparison, quantity: str) -> float | None:
    """Of the first: the median over the processes of what each measured."""
    medians = []
    for process in found.processes:
        samples = process.a.samples_seconds
        if quantity != "steady_seconds":
            samples = [getattr(one, quantity, None) for one in process.a_compiles]
        known = [one for one in samples if one is not None]
        if known:
            medians.append(statistics.median(known))
    return statistics.median(medians) if medians else None


def _end(one: Timing, end: float) -> str:
    is_told = 0.0 < end < math.inf and abs(math.log(end / one.ratio)) < math.log(_FARTHEST_SHOWN)
    return _change(end) if is_told else "any"


def _change(ratio: float) -> str:
    """``+3.1 %``, ``x8.4`` from twice or half on."""
    # By way of a float, for the format would write 120 as 1.2e+02.
    return f"x{float(f'{ratio:.2g}'):g}" if not 0.5 < ratio < 2 else f"{100 * (ratio - 1):+.1f} %"


def _quantity(one: Exact | Timing) -> str:
    plain = one.quantity.partition(".")[2] if isinstance(one, Exact) else one.quantity
    return _NAMES.get(one.quantity, plain.replace("_", " "))


def _values(one: Exact, values: tuple[Scalar, ...]) -> str:
    told = [_value(one.quantity, value) for value in values[:_VALUES_SHOWN_COUNT]]
    return " or ".join([*told, *(["others"] if len(values) > len(told) else [])])


def _value(quantity: str, value: Scalar) -> str:
    if isinstance(value, (int, float)):
        return bytes_text(value) if quantity.endswith("_bytes") else f"{value:,.0f}"
    return str(value)[:_HASH_CHARACTERS]


def _short(found: Comparison) -> tuple[str, str]:
    a, b = (name.rpartition(":")[2] for name in (found.a, found.b))
    return (a, b) if a != b else (found.a, found.b) if found.a != found.b else ("first", "second")
