"""Describe the result of comparing quantities with the lock file."""

from __future__ import annotations

from jaxmeter._records.lock import LockChange, LockCheck
from jaxmeter._render.sheet import Code, Row, Sheet, Table
from jaxmeter._render.units import count_text


def lock_sheet(found: LockCheck) -> Sheet:
    """Describe the quantities that differ from the lock file, and the new lines for the file."""
    count = count_text(len(found.functions), "function")
    new = {one.function for one in found.changes if one.verdict == "new" and not one.quantity}
    differ = {one.function for one in found.changes} - new
    parts = [f"{len(new)} new"] * bool(new) + [f"{len(differ)} not as locked"] * bool(differ)
    headline = f"{found.section}: {', '.join([count, *parts])}{'' if parts else ' as locked'}"
    columns = ("function", "quantity", "locked:", "now:", "change:", "verdict")
    table = Table(columns, [_row(change) for change in found.changes], limit=100)
    if found.written:
        return Sheet(f"{headline}; written", True, (table,))
    return Sheet(headline, not found.changes, (table,), _notes(found), block=found.lines)


def _notes(found: LockCheck) -> tuple[str, ...]:
    verdicts = {change.verdict for change in found.changes}
    # The names of tests contain ::. In the lock file, only pytest changes the lines of tests;
    # jaxmeter lock does not.
    is_test = any("::" in change.function for change in found.changes)
    command = "pytest --jaxmeter-lock" if is_test else "jaxmeter lock"
    notes = []
    if verdicts & {"regression", "new"}:
        notes.append(
            f"if a change is intended, run {command}, or replace the old lines with the new lines"
        )
    if "improvement" in verdicts:
        notes.append(
            f"to keep an improvement, run {command}, or replace the old lines with the new lines"
        )
    if "missing" in verdicts:
        notes.append(
            f"if a missing function or quantity was removed on purpose, run {command}, or "
            "delete its lines"
        )
    return tuple(notes)


def _row(change: LockChange) -> Row:
    locked, now = change.locked, change.now
    share = ""
    if locked is not None and now is not None:
        share = f"{100 * (now / locked - 1):+.3g} %" if locked else f"{now - locked:+,}"
    return Row(
        Code(change.function),
        change.quantity,
        "" if locked is None else f"{locked:,}",
        "" if now is None else f"{now:,}",
        share,
        change.verdict,
    )
