"""Define the exception for errors that the user of the reports can correct."""


class ReportError(Exception):
    """An error that the user can correct; the message says what to try."""
