"""One section of the page."""

from dataclasses import dataclass

from .figure import Figure
from .table import DisplayTable


@dataclass(frozen=True)
class Section:
    """One section: `lead` is the sentence that a hurried reader takes away.

    `texts` are (summary, text) of what is shown as it is, folded.
    """

    name: str
    title: str
    lead: str
    findings: tuple[str, ...] = ()
    paragraphs: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[DisplayTable, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
