"""Define the exception for errors that the user of the reports can correct."""


class ReportError(Exception):
    """Raised if records or reports cannot be used; the message names the input and what to try."""
