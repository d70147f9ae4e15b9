"""Define the exception for errors that the user of the reports can correct."""


class ReportError(Exception):
    """Raised if a report cannot be made; the message names the input and what to try."""
