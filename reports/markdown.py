"""The page as Markdown, for a terminal, a pull request or a mail."""

from collections.abc import Callable

from .display import DisplayTable
from .figures import Figure
from .report import Report


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
    """One line, with the characters that would end a cell or open a tag made harmless."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
