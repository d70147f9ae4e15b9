"""The one exception of the reports: something that its user can put right."""


class ReportError(Exception):
    """A report cannot be made; the message names what was asked, what was found, what to try."""
