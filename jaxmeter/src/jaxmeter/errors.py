"""The exceptions that jaxmeter raises.

An exception in a worker process is stored in the record of that process.
"""

from __future__ import annotations

from typing import Any


class JaxmeterError(ValueError):
    """Raised if jaxmeter cannot use an argument, a file or an option.

    The message names the call, the value that the call got and a change to try.
    """


class RecordError(JaxmeterError):
    """Raised if a string cannot be read as a record or as other data of jaxmeter, or if such data
    cannot be written as JSON.

    For example, the string is truncated, was written by another program, or has a schema that this
    version of jaxmeter does not read.
    """


class RetraceError(JaxmeterError):
    """Raised if a function was retraced although it was called with the same arguments."""

    record: Any = None
    """The record of everything that `jaxmeter.measure` measured before the retrace; None if another
    function raised the error."""


class FileError(JaxmeterError):
    """Raised if a file is not regular, is too large or cannot be written, or if no temporary folder
    can be made."""
