"""The two errors of jaxmeter; everything else that goes wrong is told in a record."""

from __future__ import annotations


class JaxmeterError(ValueError):
    """A call to jaxmeter got something it cannot use.

    The message names the call, what it got and what to try.
    """


class RecordError(JaxmeterError):
    """A text is not a record of jaxmeter: truncated, foreign, or of another schema."""
