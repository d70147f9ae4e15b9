"""The page as Markdown, for a terminal, a pull request or a mail."""

import html
import re
from collections.abc import Callable

from ..report import Report
from .figure import Figure
from .table import DisplayTable


def markdown_page(report: Report, figure_file: Callable[[Figure, int], str]) -> str:
    """The whole report as Markdown; figures are linked from `figures/`."""
    lines = [f"# {report.title}", ""]
    for fact in report.facts:
        note = f" ({escaped(fact.note)})" if fact.note else ""
        lines.append(f"- {fact.name}: {escaped(fact.value)}{note}")
    for section in report.sections:
        lines += ["", f"## {section.title}", "", f"**{escaped(section.lead)}**"]
        if section.findings:
            lines += ["", *(f"- {escaped(finding)}" for finding in section.findings)]
        for paragraph in section.paragraphs:
            lines += ["", escaped(paragraph)]
        for figure in section.figures:
            lines += ["", f"### {figure.title}", "", escaped(figure.caption), ""]
            lines += [
                f"![{escaped(panel.title)}](figures/{figure_file(figure, index)})"
                for index, panel in enumerate(figure.panels)
            ]
        for table in section.tables:
            lines += ["", f"### {table.caption}", "", markdown_table(table)]
    return "\n".join(lines) + "\n"


def markdown_table(table: DisplayTable) -> str:
    """A pipe table; the note of a first cell, its problem, becomes part of that cell."""
    titles = [column.title.strip() or "–" for column in table.columns]
    sides = [":--" if column.is_text else "--:" for column in table.columns]
    rows = [[escaped(cell.plain) for cell in row] for row in table.rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in [titles, sides, *rows])


def escaped(text: str) -> str:
    """One line of plain text: nothing of it is markup, ends a table's cell or calls anybody."""
    text = re.sub(r"&(?=#?\w+;)", "&amp;", _one_line(text))
    text = re.sub(r"[\\`*|~$]", r"\\\g<0>", text).replace("<", "&lt;")
    # Links, images and what they refer to; then underscores that are not within a word.
    text = re.sub(r"\](?=[(:\[])", r"\\]", text)
    text = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)
    # What begins a quotation, a heading or a list where it stands first.
    text = re.sub(r"^(?=>|#{1,6} |[-+=] )", r"\\", text)
    return _calling_nobody(text)


def escaped_html(text: str) -> str:
    """One line of plain text for within a line of HTML, where Markdown reads nothing."""
    return _calling_nobody(html.escape(_one_line(text), quote=False))


def _one_line(text: str) -> str:
    """Without what moves a terminal's cursor or turns the order of writing."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", "", " ".join(text.split()))


def _calling_nobody(text: str) -> str:
    """GitHub tells whom "@name" means and links "#1": a space of no width parts the two."""
    return re.sub(r"(?<!\w)@(?=\w)|#(?=\d)", "\\g<0>\u200b", text)
