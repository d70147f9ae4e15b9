"""A comparison as a sheet: what differs first, then the times."""

from __future__ import annotations

import math
import statistics

from jaxmeter.comparison_record import Comparison, Exact, Timing
from jaxmeter.record import Scalar
from jaxmeter.sheet import Sheet, Table
from jaxmeter.units import bytes_text, seconds_text

_HASH_CHARACTERS = 12
_TIMES = {
    "settled_seconds": "settled call",
    "trace_seconds": "trace",
    "lower_seconds": "lower",
    "compile_seconds": "compile",
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
    notes = [f"{len(found.exact) - len(told)} of {len(found.exact)} exact quantities are the same"]
    if found.timings:
        notes.append(f"times by {len(found.processes)} processes, each with both in turns")
    mood = {"different": "bad", "same": "good"}.get(found.verdict, "plain")
    headline = f"{a} -> {b}: {_conclusion(found)}"
    return Sheet(headline, mood, (exact, times), tuple(notes))  # pyright: ignore[reportArgumentType]


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
    if found.verdict == "unclear":
        unclear = [
            _quantity(one) for one in (*found.exact, *found.timings) if one.verdict == "unclear"
        ]
        return f"no difference found, yet unclear in {', '.join(unclear)}"
    differing = [
        f"{_quantity(one)} {_percent(one.ratio)}" if isinstance(one, Timing) else _quantity(one)
        for one in found.differences
    ]
    return f"different in {', '.join(differing)}"


def _timing(found: Comparison, one: Timing) -> tuple[str, ...]:
    return (
        _quantity(one),
        *(seconds_text(_seconds(found, one.quantity, side)) for side in "ab"),
        _percent(one.ratio),
        f"{_percent(one.low)} to {_percent(one.high)}",
        f"{one.p_value:.2g}",
        one.verdict,
        one.reason,
    )


def _seconds(found: Comparison, quantity: str, side: str) -> float | None:
    """The median over the processes of what each measured."""
    medians = []
    for process in found.processes:
        samples = getattr(process, side).samples_seconds
        if quantity != "settled_seconds":
            samples = [getattr(one, quantity) for one in getattr(process, f"{side}_compiles")]
        if samples:
            medians.append(statistics.median(samples))
    return statistics.median(medians) if medians else None


def _percent(ratio: float) -> str:
    return "any" if math.isinf(ratio) or ratio == 0 else f"{100 * (ratio - 1):+.1f} %"


def _quantity(one: Exact | Timing) -> str:
    if isinstance(one, Timing):
        return _TIMES[one.quantity]
    return one.quantity.partition(".")[2].replace("_", " ")


def _values(one: Exact, values: tuple[Scalar, ...]) -> str:
    return " or ".join(_value(one.quantity, value) for value in values)


def _value(quantity: str, value: Scalar) -> str:
    if isinstance(value, (int, float)):
        return bytes_text(value) if quantity.endswith("_bytes") else f"{value:,.0f}"
    return str(value)[:_HASH_CHARACTERS]


def _short(found: Comparison) -> tuple[str, str]:
    a, b = (name.rpartition(":")[2] for name in (found.a, found.b))
    return (a, b) if a != b else (found.a, found.b) if found.a != found.b else ("first", "second")
