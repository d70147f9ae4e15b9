"""Describe an audit, and a calibration."""

from __future__ import annotations

from jaxmeter._records.audit import Audit, AuditedArray, Calibration, Use
from jaxmeter._render.sheet import Code, Sheet, Table, Text, row
from jaxmeter._render.units import bytes_text, count_text, place_text, seconds_text, type_text


def audit_sheet(audit: Audit) -> Sheet:
    """Describe the captured arrays, the largest first, and the foldings, with their lines."""
    arrays = [
        row(
            array.verdict,
            Code(_holder(array)),
            Code(type_text(array)),
            f"{array.bytes:,}",
            _fate(array),
            details=map(_use, array.uses),
        )
        for array in audit.arrays
    ]
    foldings = [
        row(
            "slow",
            folding.operation,
            Code(folding.shape),
            f"{folding.seconds:g} s",
            details=map(_use, folding.uses),
        )
        for folding in audit.foldings
    ]
    tables = (
        Table(("verdict", "array", "type", "bytes:", "in the program"), arrays, details="lines"),
        Table(("verdict", "constant folding", "of", "time, roughly:"), foldings, details="lines"),
    )
    return Sheet(_headline(audit), audit.verdict == "fine", tables, suggestions=audit.suggestions)


def calibration_sheet(made: Calibration) -> Sheet:
    """Describe the cost of an embedded megabyte, and how much it varied."""
    samples = made.samples_seconds_per_megabyte
    low, high = (seconds_text(of(samples), 2) if samples else "" for of in (min, max))
    spread = f", {low} to {high} in {len(samples)} rounds," if samples else ""
    return Sheet(
        f"compiling takes {seconds_text(made.seconds_per_megabyte, 2)}{spread} for each megabyte "
        f"that is embedded (JAX {made.jax}, {made.device_kind}, {made.cpu_model}, "
        f"{made.measured_utc})"
    )


def _headline(audit: Audit) -> str:
    if not audit.arrays:
        return f"{audit.name}: captures no array"
    cost = ""
    if audit.embedding_seconds is not None and audit.embedded_bytes:
        cost = f", about {seconds_text(audit.embedding_seconds, 2)} of every compile"
    return (
        f"{audit.name}: captures {bytes_text(audit.captured_bytes)} in "
        f"{count_text(len(audit.arrays), 'array')}, embeds {bytes_text(audit.embedded_bytes)} "
        f"in {count_text(audit.embedded_count, 'constant')}{cost} ({audit.verdict}; the threshold "
        f"is {bytes_text(audit.threshold_bytes)} for a variable)"
    )


def _holder(array: AuditedArray) -> str:
    prefix = {"same": "", "view": "a view of ", "equal": "equal to "}.get(array.match)
    return "made while tracing" if prefix is None else prefix + array.path


def _fate(array: AuditedArray) -> str:
    if array.hidden_count:
        return "passed as " + count_text(array.hidden_count, "hidden argument")
    count = array.embedded_count
    if count:
        return "embedded " + {1: "once", 2: "twice"}.get(count, f"{count} times")
    return "not embedded: unused, or all its elements are equal"


def _use(use: Use) -> Text:
    through = f" (through {place_text(use.within)})" if use.within else ""
    text = f"{use.how} in {use.function}{through}"
    place = Code(place_text(f"{use.file}:{use.line}"))
    return (place, f"{text}:", Code(use.text)) if use.text else (place, text)
