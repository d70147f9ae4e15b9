"""The errors of jaxmeter; whatever a worker process meets is told in a record instead."""

from __future__ import annotations


class JaxmeterError(ValueError):
    """A call to jaxmeter got something it cannot use.

    The message names the call, what it got and what to try.
    """


class RecordError(JaxmeterError):
    """A text is not a record of jaxmeter: truncated, foreign, or of another schema."""


class RetraceError(JaxmeterError):
    """A function was traced again though it was called with the same arguments."""
