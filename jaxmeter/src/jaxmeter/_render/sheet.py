"""A plain description of what a result says, and its three renderings.

A result's module makes a `Sheet`; here it becomes Markdown, aligned text without colours, or tables
by rich where the terminal shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Code:
    """A text that stands as it is in some source."""

    text: str


Line = str | Code | tuple[str | Code, ...]
"""A text; a tuple is several with spaces between."""


@dataclass(frozen=True)
class Lines:
    """Several lines in one cell."""

    lines: tuple[Line, ...]


Cell = Line | Lines


@dataclass(frozen=True)
class Table:
    """Rows under named columns."""

    columns: tuple[str, ...]
    """Those of numbers end in ``:`` and are aligned to the right."""
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""


@dataclass(frozen=True)
class Sheet:
    """What a result says."""

    headline: str
    mood: Literal["good", "bad", "plain"] = "plain"
    """How the headline is coloured."""
    tables: tuple[Table, ...] = ()
    """Those without rows are left out."""
    notes: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    """What to change."""


def sheet_markdown(sheet: Sheet) -> str:
    """In Markdown."""
    blocks = [f"### {sheet.headline}"]
    for table in _filled(sheet):
        if table.title:
            blocks.append(f"{table.title[0].upper()}{table.title[1:]}:")
        rows = [
            [name.rstrip(":") for name in table.columns],
            ["---:" if name.endswith(":") else "---" for name in table.columns],
            *([_markdown_cell(cell) for cell in row] for row in table.rows),
        ]
        blocks.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    blocks += [f"{note[0].upper()}{note[1:]}." for note in sheet.notes]
    if sheet.advice:
        blocks += ["To change:", "\n".join(f"- {line}" for line in sheet.advice)]
    return "\n\n".join(blocks)


def sheet_text(sheet: Sheet) -> str:
    """As aligned text without colours, for what is no terminal."""
    lines = [sheet.headline]
    for table in _filled(sheet):
        lines += [f"  {table.title}"] if table.title else []
        lines += [f"    {line}".rstrip() for line in _aligned(table)]
    lines += [f"  {note}" for note in sheet.notes]
    if sheet.advice:
        lines += ["to change:", *(f"  - {line}" for line in sheet.advice)]
    return "\n".join(lines)


def sheet_rich(sheet: Sheet) -> Any:
    """As what rich prints.

    Raises
    ------
    ImportError
        If rich is not installed.
    """
    from rich import box
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text

    style = {"good": "bold green", "bad": "bold red", "plain": "bold"}[sheet.mood]
    parts: list[Any] = [Text(sheet.headline, style)]
    for table in _filled(sheet):
        drawn = RichTable(
            title=table.title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False
        )
        for name in table.columns:
            right = name.endswith(":")
            drawn.add_column(
                Text(name.rstrip(":")), justify="right" if right else "left", no_wrap=right
            )
        for row in table.rows:
            texts = ("\n".join(map(_plain, _lines(cell))) for cell in row)
            drawn.add_row(*(Text(text, _STYLES.get(text, "")) for text in texts))
        parts.append(drawn)
    parts += [Text(note, "dim") for note in sheet.notes]
    if sheet.advice:
        parts.append(Text("to change:", "bold yellow"))
        parts += [Text(f"  - {line}") for line in sheet.advice]
    return Group(*parts)


def _filled(sheet: Sheet) -> list[Table]:
    return [table for table in sheet.tables if table.rows]


def _lines(cell: Cell) -> list[Line]:
    return list(cell.lines) if isinstance(cell, Lines) else [cell]


def _pieces(line: Line) -> list[str | Code]:
    return [piece for piece in (line if isinstance(line, tuple) else (line,)) if piece]


def _plain(line: Line) -> str:
    return " ".join(one.text if isinstance(one, Code) else one for one in _pieces(line))


_STYLES = {
    "different": "red",
    "large": "red",
    "slow": "red",
    "inconclusive": "yellow",
    "same": "green",
    "fine": "green",
}


def _markdown_cell(cell: Cell) -> str:
    return "<br>".join(
        " ".join(
            _code(one.text) if isinstance(one, Code) else one.replace("|", "\\|")
            for one in _pieces(line)
        )
        for line in _lines(cell)
    )


def _code(text: str) -> str:
    """A text as code in a Markdown table."""
    if not text:
        return ""
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}".replace("|", "\\|")


def _aligned(table: Table) -> list[str]:
    rows: list[list[str]] = [[name.rstrip(":") for name in table.columns]]
    for row in table.rows:
        cells = [[_plain(line) for line in _lines(cell)] for cell in row]
        for number in range(max(1, *map(len, cells))):
            rows.append([cell[number] if number < len(cell) else "" for cell in cells])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if name.endswith(":") else cell.ljust(width)
            for cell, width, name in zip(row, widths, table.columns, strict=True)
        )
        for row in rows
    ]
