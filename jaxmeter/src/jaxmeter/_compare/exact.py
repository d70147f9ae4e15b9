"""Compare quantities that are free of noise."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from jaxmeter._records.comparison import Answers, Exact, Verdict
from jaxmeter._records.record import Counts, Memory, Program, Record, Scalar

_EXACT_CONSTANTS = (
    "captured_bytes",
    "captured_count",
    "captured_fingerprint",
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
"""The quantities of a record that are compared exactly, because they are free of noise."""
_VARIES = "varies from process to process"


def compare_exact(records_a: Sequence[Record], records_b: Sequence[Record]) -> tuple[Exact, ...]:
    """Compare the exact quantities that all records have. The n-th records of both sides come from
    the same process or the same round. Records from different versions of JAX are not compared,
    because each version has its own compiler."""
    environments = [record.environment for record in (*records_a, *records_b)]
    if len({None if one is None else one.jax for one in environments}) > 1:
        return ()
    values = {name: (_values(records_a, name), _values(records_b, name)) for name in EXACT}
    return tuple(_exact(name, a, b, "not equal") for name, (a, b) in values.items() if a and b)


def compare_answers(answers: Sequence[Answers | None], tolerance: float = 0.0) -> tuple[Exact, ...]:
    """Compare the answers of both functions in each process, bit by bit or within a tolerance. The
    result contains one `Exact`, or nothing if the answers of any process are not known."""
    known = [one for one in answers if one is not None]
    if not known or len(known) < len(answers):
        return ()
    a, b = ([getattr(one, side) for one in known] for side in ("a_fingerprint", "b_fingerprint"))
    found = _exact("answers.bits", a, b, _distance(known))
    if a != b and all(_is_near(one, tolerance) for one in known):
        reason = f"{_distance(known)}, within the tolerance of {tolerance:g}"
        found = dataclasses.replace(found, verdict="same", reason=reason)
    return (found,)


def _is_near(one: Answers, tolerance: float) -> bool:
    """Return whether two answers are equal within ``tolerance`` times the largest finite absolute
    value in the first answer. Their NaN and infinite values must be the same. If ``tolerance`` is
    0, the result is False."""
    counts = one.a_not_finite_count, one.b_not_finite_count
    if one.max_difference is None or counts[0] != counts[1] or not one.is_not_finite_alike:
        return False
    return 0.0 < tolerance and one.max_difference <= tolerance * one.largest


def _exact(quantity: str, a: Sequence[Scalar], b: Sequence[Scalar], unequal: str) -> Exact:
    distinct = tuple(dict.fromkeys(a)), tuple(dict.fromkeys(b))
    return Exact(quantity, *distinct, *_verdict(a, b, unequal))


def _verdict(a: Sequence[Scalar], b: Sequence[Scalar], unequal: str) -> tuple[Verdict, str]:
    few, many = sorted((set(a), set(b)), key=len)
    if list(a) == list(b):
        return "same", "equal" if len(few) == 1 else f"equal in each process, but {_VARIES}"
    if len(many) == 1:
        return "different", unequal
    # The quantity varies from process to process. The functions may be equal if both have several
    # values, or if a value of one function is also a value of the other.
    if len(few) > 1 or few & many:
        return "inconclusive", _VARIES
    return "different", f"{_VARIES}, and is never the same for both"


def _values(records: Sequence[Record], quantity: str) -> list[Scalar]:
    section, _, field = quantity.partition(".")
    values: list[Any] = [getattr(getattr(record, section), field) for record in records]
    return [] if None in values else values


def _distance(answers: Sequence[Answers]) -> str:
    """Describe how far apart unequal answers are, in the process where they differ most."""
    if any(one.max_difference is None for one in answers):
        return "tree, shape or dtype differs"
    farthest = max(answers, key=lambda one: one.max_difference or 0.0)
    share = ""
    if farthest.max_difference and farthest.largest:
        share = f", {farthest.max_difference / farthest.largest:.1g} of the largest number"
    if not all(one.is_not_finite_alike for one in answers):
        share += ", and values that are NaN or infinite differ"
    return f"up to {farthest.max_difference:.3g} apart{share}"
