"""Describe the content of a page before any markup: facts, sections, figures and tables."""

from dataclasses import dataclass
from typing import Literal

from .svg import Drawing
from .table import Table

Outcome = Literal["passes", "regression", "improvement", "mixed", "not judged"]


@dataclass(frozen=True)
class Fact:
    """A name, a value and a note in the head of a page."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure of one or more panels; a wide page shows two panels side by side.

    A panel and its file are called `<name>-<index>`. `legend` has pairs of a mark and its meaning.
    A mark is a colour and a shape, such as `series-0 circle`, or `limit` for the dashed line.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Drawing, ...]
    legend: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Section:
    """A section of a page.

    `lead` is the main sentence. `texts` has pairs (summary, text): the page shows each summary,
    with the text collapsed below it.
    """

    name: str
    title: str
    lead: str
    findings: tuple[str, ...] = ()
    paragraphs: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Judgement:
    """A line of a review: its subject, the outcome, and the main reasons."""

    about: str
    outcome: Outcome
    reason: str

    @property
    def is_bad(self) -> bool:
        """Whether the outcome needs a closer look."""
        return self.outcome not in ("passes", "improvement")

    def __str__(self) -> str:
        return f"{self.about}: {self.outcome} – {self.reason}"


@dataclass(frozen=True)
class Document:
    """A whole page; `judgements` and the sentence `verdict` are shown below the title."""

    title: str
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    footer: tuple[str, ...] = ()  # paragraphs at the end of the page
    # Names of tables in the folder `tables` next to the page. A page that has tables links to their
    # CSV files, and the head of this page lists the sections with their main sentences.
    files: tuple[str, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    verdict: str = ""
