"""Are the quantities of two functions that are free of noise the same?"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from jaxmeter._records.answers import Answers
from jaxmeter._records.comparison import Exact, Verdict
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
"""The quantities of a record that are free of noise."""


def compare_exact(records_a: Sequence[Record], records_b: Sequence[Record]) -> tuple[Exact, ...]:
    """Compare the quantities that are free of noise; those not known of both are left out.

    Parameters
    ----------
    records_a, records_b : sequence of Record
        As many of each, those of one process or of one round at the same place.

    Returns
    -------
    tuple of Exact
        Nothing if JAX's versions differ, for compilers do too.
    """
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
            found.append(_exact(quantity, a, b, "not equal"))
    return tuple(found)


def compare_answers(answers: Sequence[Answers | None]) -> tuple[Exact, ...]:
    """Compare what both functions answered in each process, bit by bit."""
    known = [one for one in answers if one is not None]
    if not known or len(known) < len(answers):
        return ()
    a, b = ([getattr(one, side) for one in known] for side in ("a_fingerprint", "b_fingerprint"))
    return (_exact("answers.bits", a, b, _apart(known)),)


def _exact(quantity: str, a: Sequence[Scalar], b: Sequence[Scalar], unequal: str) -> Exact:
    distinct = tuple(dict.fromkeys(a)), tuple(dict.fromkeys(b))
    return Exact(quantity, *distinct, *_verdict(a, b, unequal))


def _verdict(a: Sequence[Scalar], b: Sequence[Scalar], unequal: str) -> tuple[Verdict, str]:
    few, many = sorted((set(a), set(b)), key=len)
    if list(a) == list(b):
        return "same", "equal" if len(few) == 1 else "equal in each process, though it varies"
    if len(many) == 1:
        return "different", unequal
    # What never repeats differs from itself just as well.
    if len(few) > 1 or few & many:
        return "inconclusive", "it varies from process to process"
    return "different", "it varies from process to process, and never is the same for both"


def _values(records: Sequence[Record], quantity: str) -> list[Scalar]:
    section, _, field = quantity.partition(".")
    values: list[Any] = [getattr(getattr(record, section), field) for record in records]
    return [] if None in values else values


def _apart(answers: Sequence[Answers]) -> str:
    """In how far answers that are not equal differ, where they do so most."""
    if any(one.max_difference is None for one in answers):
        return "of another tree, shape or dtype"
    most = max(answers, key=lambda one: one.max_difference or 0.0)
    share = ""
    if most.max_difference and most.largest:
        share = f", {most.max_difference / most.largest:.1g} of the largest"
    return f"up to {most.max_difference:.3g} apart{share}"
