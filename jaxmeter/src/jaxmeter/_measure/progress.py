"""A record that is being made, and the phase that is under way."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jaxmeter._records.record import Failure, Record

UNFINISHED = "Unfinished"
"""The kind of failure of a record that is still being made."""


class Progress:
    """Collects measurements, so that a failure keeps those before it.

    ``report`` is called with an unfinished record, whose failure names the phase, whenever a phase
    begins and from time to time within a long one.
    """

    def __init__(self, record: Record, report: Callable[[Record], None] | None = None) -> None:
        self.record = record
        self.phase = "start"
        self._report = report

    def enter(self, phase: str) -> None:
        """Begin a phase."""
        self.phase = phase
        self.publish()

    def note(self, **fields: Any) -> None:
        """Set fields of the record."""
        self.record = dataclasses.replace(self.record, **fields)

    def note_in(self, section: str, **fields: Any) -> None:
        """Set fields of one section of the record, such as ``phases``."""
        self.note(**{section: dataclasses.replace(getattr(self.record, section), **fields)})

    def publish(self) -> None:
        """Report the record so far."""
        if self._report is not None:
            failure = Failure(self.phase, UNFINISHED, f"ended without a word in {self.phase}")
            self._report(dataclasses.replace(self.record, status="failed", failure=failure))

    @contextmanager
    def recording_failure(self) -> Iterator[None]:
        """Make the record failed where an exception leaves a ``with`` block."""
        try:
            yield
        except BaseException as error:
            text = "".join(traceback.format_exception(error))
            failure = Failure(self.phase, type(error).__name__, message_of(error), text)
            self.note(status="failed", failure=failure)
            raise


def message_of(error: BaseException) -> str:
    """Return the text of an exception, also of an exception that cannot make it."""
    try:
        return str(error)
    except Exception:  # an exception class of the target whose own __str__ fails
        return "(its text cannot be made: its __str__ raised)"
