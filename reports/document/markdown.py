"""Write pages as Markdown, for a terminal, a pull request or an email."""

import html
import re
from collections.abc import Iterator

from .section import Document, Fact, Section
from .table import Cell, Table


def markdown_page(document: Document) -> str:
    """Return a document's facts and sections as Markdown, with links to figures in `figures/`."""
    lines = [f"# {document.title}", "", *map(fact_line, document.facts)]
    for section in document.sections:
        lines += ["", f"## {section.title}", *_section_lines(section)]
    return "\n".join(lines) + "\n"


def fact_line(fact: Fact) -> str:
    note = f" ({escaped(fact.note)})" if fact.note else ""
    return f"- {fact.name}: {escaped(fact.value)}{note}"


def _section_lines(section: Section) -> Iterator[str]:
    yield from ("", f"**{escaped(section.lead)}**")
    if section.findings:
        yield from ("", *(f"- {escaped(finding)}" for finding in section.findings))
    for paragraph in section.paragraphs:
        yield from ("", escaped(paragraph))
    for figure in section.figures:
        yield from ("", f"### {figure.title}", "", escaped(figure.caption), "")
        for index, panel in enumerate(figure.panels):
            yield f"![{escaped(panel.title)}](figures/{figure.name}-{index}.svg)"
    for table in section.tables:
        yield from ("", f"### {table.caption}", "", markdown_table(table))


def markdown_table(table: Table) -> str:
    """Return a Markdown table; the note of a cell is added to its text in parentheses."""
    titles = [column.title.strip() or "–" for column in table.columns]
    sides = [":--" if column.is_text else "--:" for column in table.columns]
    rows = [[escaped(_on_one_line(cell)) for cell in row] for row in table.rows]
    lines = ["| " + " | ".join(row) + " |" for row in [titles, sides, *rows]]
    return "\n".join([*lines, *(["", escaped(table.note)] if table.note else [])])


def _on_one_line(cell: Cell) -> str:
    value = f"{cell.text} {cell.unit}".rstrip()
    return f"{value} ({cell.note})" if cell.note else value


def escaped(text: str) -> str:
    """Return the text as one line, with markup, cell separators and mentions escaped."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", _one_line(text))
    text = re.sub(r"[\\`*|~$]", r"\\\g<0>", text).replace("<", "&lt;")
    # Escape the bracket before the target of a link, then underscores that are not within a word.
    text = re.sub(r"\](?=[(:\[])", r"\\]", text)
    text = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)
    # Escape the character that would begin a block quote, a heading or a bulleted list.
    text = re.sub(r"^(?=>|#{1,6} |[-+=] )", r"\\", text)
    return _without_mentions(text)


def escaped_html(text: str) -> str:
    """Return text escaped for a line of HTML inside Markdown."""
    return _without_mentions(html.escape(_one_line(text), quote=False))


def _one_line(text: str) -> str:
    """Return one line, without characters that move a cursor or change the text's direction."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", "", " ".join(text.split()))


def _without_mentions(text: str) -> str:
    """Insert a zero-width space into "@name" and "#1", so that GitHub does not link them."""
    return re.sub(r"(?<!\w)@(?=\w)|#(?=\d)", "\\g<0>\u200b", text)
