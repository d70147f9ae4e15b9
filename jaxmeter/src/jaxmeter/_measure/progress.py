"""Build a record phase by phase. If a phase fails, the record keeps all earlier measurements."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jaxmeter._records.record import Failure, Record

ADVICE = "try: "
"""A note on an exception gives advice if it begins with this prefix."""

UNFINISHED = "Unfinished"
"""The ``kind`` of the failure in a record while the measurement is still running."""


class Progress:
    """The record of a measurement that is still running.

    ``report`` is called with the unfinished record when a phase begins, and by `publish`. The
    failure in an unfinished record names the current phase.
    """

    def __init__(self, record: Record, report: Callable[[Record], None] | None = None) -> None:
        self.record = record
        self.phase = "start"
        self._report = report

    def enter(self, phase: str) -> None:
        """Begin a phase, and report the record so far."""
        self.phase = phase
        self.publish()

    def note(self, **fields: Any) -> None:
        self.record = dataclasses.replace(self.record, **fields)

    def note_in(self, section: str, **fields: Any) -> None:
        """Set fields of one section of the record, such as ``phases``."""
        self.note(**{section: dataclasses.replace(getattr(self.record, section), **fields)})

    def publish(self) -> None:
        """Report the record so far, marked as unfinished."""
        if self._report is not None:
            failure = Failure(
                self.phase, UNFINISHED, f"ended without a message in the phase {self.phase}"
            )
            self._report(dataclasses.replace(self.record, status="failed", failure=failure))

    @contextmanager
    def recording_failure(self) -> Iterator[None]:
        """Mark the record as failed if an exception leaves a ``with`` block."""
        try:
            yield
        except BaseException as error:
            self.note(status="failed", failure=_failure_of(error, self.phase))
            raise


_LONGEST = {"phase": 40, "kind": 120, "message": 2000, "traceback": 12_000, "output": 4000}
"""The maximum number of characters in each field of a `Failure`."""


def capped(failure: Failure) -> Failure:
    """Return a failure with its strings shortened and with unpaired surrogates replaced. The
    strings come from the measured program, so they may have any length."""
    texts = {name: _capped(getattr(failure, name), limit) for name, limit in _LONGEST.items()}
    return Failure(**texts)


def _capped(text: str, limit: int) -> str:
    """Return a string, shortened to at most `limit` characters. One quarter of the kept characters
    is the beginning of the string, and three quarters are its end."""
    if len(text) > limit:
        gap = " ... {} characters left out ... "
        kept = limit - len(gap.format(len(text)))
        gap = gap.format(len(text) - kept)
        text = text[: kept // 4] + gap + text[len(text) - (kept - kept // 4) :]
    return text.encode("utf-8", "replace").decode()


def message_of(error: BaseException) -> str:
    """Return the message of an exception, or a substitute if its ``__str__`` fails."""
    unknown = "(the text of this error is unknown: its __str__ raised an exception)"
    return _text(lambda: str(error), unknown)


def advice_of(error: BaseException) -> str:
    """Return the advice in the notes of an exception; empty if no note gives advice."""
    notes = (note for note in getattr(error, "__notes__", ()) if note.startswith(ADVICE))
    return next(notes, "").removeprefix(ADVICE)


def _failure_of(error: BaseException, phase: str) -> Failure:
    kind = _text(lambda: type(error).__name__, "(an exception class of unknown name)")
    hidden = "(the traceback of this error cannot be shown)"
    shown = _text(lambda: "".join(traceback.format_exception(error)), hidden)
    return capped(Failure(phase, kind, message_of(error), shown))


def _text(make: Callable[[], str], substitute: str) -> str:
    """Return the string from ``make`` as a plain ``str``, or a substitute if ``make`` fails.

    A program may define exceptions with a failing ``__str__`` or metaclass, and subclasses of
    ``str``.
    """
    try:
        return str.__str__(make())
    except BaseException:
        return substitute
