"""An audit as text, and as a sheet of tables."""

from __future__ import annotations

import os

from jaxmeter._records.audit import Audit, AuditedArray, Use
from jaxmeter._render.sheet import Code, Lines, Sheet, Table
from jaxmeter._render.units import bytes_text, count_text, seconds_text

_ARRAYS_SHOWN_COUNT = 20
_USES_SHOWN_COUNT = 3
_TEXT_CHARACTERS = 80


def audit_table(audit: Audit) -> str:
    """What an audit says, the largest arrays first, each with its lines, and what to change."""
    rows = [headline(audit)]
    shown = audit.arrays[:_ARRAYS_SHOWN_COUNT]
    width = max((len(_holder(array)) for array in shown), default=0)
    for array in shown:
        rows.append(
            f"  {array.verdict:<5}  {_holder(array):<{width}}  {_kind(array)}  "
            f"{bytes_text(array.bytes)}, {_fate(array)}"
        )
        rows += [f"         {_line(use)}" for use in array.uses[:_USES_SHOWN_COUNT]]
        if len(array.uses) > _USES_SHOWN_COUNT:
            rows.append(f"         and {len(array.uses) - _USES_SHOWN_COUNT} more lines")
    if len(audit.arrays) > len(shown):
        rows.append(f"  and {len(audit.arrays) - len(shown)} more, smaller ones")
    for folding in audit.foldings:
        rows.append(
            f"  slow   {folding.operation} of {folding.shape} is computed by the compiler, roughly "
            f"{folding.seconds:g} s"
        )
        rows += [f"         {_line(use)}" for use in folding.uses]
    if audit.advice:
        rows.append("to change:")
        rows += [f"  - {advice}" for advice in audit.advice]
    return "\n".join(rows)


def audit_sheet(audit: Audit) -> Sheet:
    """The same as tables."""
    arrays = Table(
        ("verdict", "array", "type", "bytes:", "embedded", "lines"),
        tuple(
            (
                array.verdict,
                Code(_holder(array)),
                Code(_kind(array)),
                f"{array.bytes:,}",
                _fate(array),
                Lines(tuple(map(_sheet_line, array.uses[:_USES_SHOWN_COUNT]))),
            )
            for array in audit.arrays
        ),
    )
    foldings = Table(
        ("folded by the compiler", "of", "seconds, roughly:", "lines"),
        tuple(
            (
                folding.operation,
                Code(folding.shape),
                f"{folding.seconds:g}",
                Lines(tuple(map(_sheet_line, folding.uses))),
            )
            for folding in audit.foldings
        ),
    )
    mood = "good" if audit.verdict == "fine" else "bad"
    return Sheet(headline(audit), mood, (arrays, foldings), advice=audit.advice)


def _sheet_line(use: Use) -> tuple[Code, ...]:
    return (Code(_place(use)), Code(use.text)) if use.text else (Code(_place(use)),)


def headline(audit: Audit) -> str:
    """One line: how much is captured and embedded, and the verdict."""
    if not audit.arrays:
        return f"{audit.name}: captures no array"
    judged = f"{audit.verdict}, the threshold being {bytes_text(audit.threshold_bytes)} a variable"
    cost = ""
    if audit.embedding_seconds is not None and audit.embedded_bytes:
        cost = f", about {seconds_text(audit.embedding_seconds, 2)} of every compile"
    return (
        f"{audit.name}: captures {bytes_text(audit.captured_bytes)} in "
        f"{count_text(len(audit.arrays), 'array')}, embeds {bytes_text(audit.embedded_bytes)} "
        f"in {count_text(audit.embedded_count, 'constant')}{cost} ({judged})"
    )


def _holder(array: AuditedArray) -> str:
    match array.match:
        case "same":
            return array.path
        case "view":
            return f"a view of {array.path}"
        case "equal":
            return f"equal to {array.path}"
        case _:
            return "made while tracing"


def _kind(array: AuditedArray) -> str:
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]"


def _fate(array: AuditedArray) -> str:
    if array.hidden_count:
        return "passed as " + count_text(array.hidden_count, "hidden argument")
    if array.embedded_count:
        return "embedded " + {1: "once", 2: "twice"}.get(
            array.embedded_count, f"{array.embedded_count} times"
        )
    return "not embedded: unused, or all its elements are equal"


def _line(use: Use) -> str:
    text = use.text if len(use.text) <= _TEXT_CHARACTERS else use.text[:_TEXT_CHARACTERS] + "..."
    within = f" (by way of {use.within})" if use.within else ""
    return f"{_place(use)} {use.how} in {use.function}{within}: {text}".rstrip(": ")


def _place(use: Use) -> str:
    return place_text(f"{use.file}:{use.line}")


def place_text(place: str) -> str:
    """``file:line``, from the current directory if it is below that."""
    path = os.path.relpath(place) if os.path.isabs(place) else place
    return place if path.startswith("..") else path
