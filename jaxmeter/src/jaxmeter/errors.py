"""Define the exceptions of jaxmeter.

If a measured function raises an exception in a worker process, the record stores the class name,
message and traceback of the exception.
"""

from __future__ import annotations

from typing import Any


class JaxmeterError(ValueError):
    """Base class of jaxmeter's exceptions.

    The base class itself is raised if, for example, jaxmeter cannot use an argument or an option.
    Most messages name the call, the value that the call got and a change to try.
    """


class RecordError(JaxmeterError):
    """Raised if a record or another object of jaxmeter cannot be read from JSON or written as JSON.

    For example, the JSON is truncated, was written by another program, or has a schema that this
    version of jaxmeter does not read.
    """


class RetraceError(JaxmeterError):
    """Raised if a call with the same arguments traces or compiles a function again."""

    record: Any = None
    """The record of everything that `jaxmeter.measure` measured before it raised this error; None
    if another function raised the error."""


class FileError(JaxmeterError):
    """Raised if a file is not regular, is too large or cannot be written, or if no temporary folder
    can be made."""
