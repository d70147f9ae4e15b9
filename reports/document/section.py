"""What a page holds, before any markup: facts at its head, then sections of text and figures."""

from dataclasses import dataclass

from .svg import Drawing
from .table import Table


@dataclass(frozen=True)
class Fact:
    """A name and a value of the page's head."""

    name: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """Panels that answer one question, `columns` to a row on a wide page.

    A panel is called `<name>-<index>`, and so is its file.

    Colour never stands alone: each bar has its name, each series its own mark. `legend` pairs a
    style class with its meaning.
    """

    name: str
    title: str
    caption: str
    panels: tuple[Drawing, ...]
    legend: tuple[tuple[str, str], ...] = ()
    columns: int = 2


@dataclass(frozen=True)
class Section:
    """One section: `lead` is its main sentence; `texts` are (summary, text), shown folded."""

    name: str
    title: str
    lead: str
    findings: tuple[str, ...] = ()
    paragraphs: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Judged:
    """A line of a verdict: an outcome in bold, coloured by `is_bad`, and its reason."""

    outcome: str
    reason: str
    is_bad: bool


@dataclass(frozen=True)
class Document:
    """A whole page.

    Attributes
    ----------
    judgements : tuple of Judged
        Lines below the title.
    verdict : str
        The sentence below them.
    footer : tuple of str
        Paragraphs at the end of the page.
    files : tuple of str
        Addresses of files next to the page, linked from the footer by their names.
    has_contents : bool
        Whether the head lists the sections and their leads.
    """

    title: str
    facts: tuple[Fact, ...]
    sections: tuple[Section, ...]
    footer: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    judgements: tuple[Judged, ...] = ()
    verdict: str = ""
    has_contents: bool = False
