"""The errors of jaxmeter. An exception in a worker process is in its record instead."""

from __future__ import annotations

from typing import Any


class JaxmeterError(ValueError):
    """A call to jaxmeter got something it cannot use.

    The message names the call, what it got and what to try.
    """


class RecordError(JaxmeterError):
    """A text is not a record of jaxmeter: truncated, of another program, or of another schema."""


class RetraceError(JaxmeterError):
    """A function was retraced although it was called with the same arguments."""

    record: Any = None
    """Everything that `jaxmeter.measure` had measured before."""


class FileError(JaxmeterError):
    """A file cannot be read or written: no regular file, too large, no rights, no space."""
