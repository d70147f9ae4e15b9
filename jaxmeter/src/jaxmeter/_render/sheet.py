"""Define `Sheet`, which describes a result of jaxmeter, and show sheets in several formats.

The formats of this module are plain text, Markdown and objects that the library rich prints.
"""

from __future__ import annotations

import dataclasses
import operator
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxmeter._render.units import quantity_text


class Code(str):
    """A string that Markdown and HTML show as code, such as a name or a source line."""


Text = str | tuple[str, ...]
"""A string, or a tuple of strings that are shown with spaces between them."""


class Row:
    """A row of a table, and the lines that belong to this row."""

    def __init__(self, *cells: Text, details: Iterable[Text] = ()) -> None:
        self.cells = cells
        self.details = tuple(details)


def quantities(result: Any, fields: Mapping[str, str]) -> Iterator[Row]:
    """Yield a row for each of the ``fields``, except fields that are None in the result.

    ``fields`` maps the name shown in a row to the path of a field, such as ``memory.temp_bytes``.
    """
    for name, field in fields.items():
        value = operator.attrgetter(field)(result)
        if value is not None:
            yield Row(name, quantity_text(field, value))


@dataclass(frozen=True)
class Table:
    """Rows under named columns."""

    columns: tuple[str, ...]
    """A name that ends in ``:`` marks a column of numbers, which are aligned to the right."""
    rows: Sequence[Row]
    title: str = ""
    details: str = "details"
    """The name of the column with the details of the rows. Plain text has no such column."""
    limit: int = 20
    """Number of rows in plain text and rich output; if 0, only the title is shown. Markdown shows
    all rows."""
    details_limit: int = 4
    """Number of details of each row in plain text and rich output. Markdown shows all details."""
    hidden: str = ""
    """The title in plain text and rich output if `limit` is 0. If `hidden` is empty, `title` is
    shown."""

    @property
    def terminal_title(self) -> str:
        """The title in plain text and rich output."""
        return self.title if self.limit else self.hidden or self.title


@dataclass(frozen=True)
class Sheet:
    """The description of a result: a headline, tables, notes and suggestions.

    Each output format, such as plain text, Markdown or HTML, is made from this description.
    """

    headline: str
    is_good: bool | None = None
    """The colour of the headline: green for True, red for False, no colour for None."""
    tables: tuple[Table, ...] = ()
    """Tables without rows are left out."""
    notes: tuple[str, ...] = ()
    suggestions: tuple[str, ...] = ()
    suggestions_limit: int = 6
    """Number of suggestions in plain text and rich output. Markdown shows all suggestions."""
    block: str = ""
    """Lines that the user may copy into a file. They are shown last, without changes."""


def without_limits(sheet: Sheet) -> Sheet:
    """Return a sheet with its limits raised, so that plain text and rich output have every row,
    detail and suggestion."""
    tables = tuple(
        dataclasses.replace(table, limit=sys.maxsize, details_limit=sys.maxsize)
        for table in sheet.tables
    )
    return dataclasses.replace(sheet, tables=tables, suggestions_limit=sys.maxsize)


def sheet_markdown(sheet: Sheet) -> str:
    """Return a sheet as Markdown."""
    blocks = [f"### {sheet.headline}"]
    for table in sheet.tables:
        if not table.rows:
            continue
        if table.title:
            blocks.append(f"{capital(table.title)}:")
        names = columns(table)
        rows = [
            [name.rstrip(":") for name in names],
            ["---:" if name.endswith(":") else "---" for name in names],
        ]
        for row in table.rows:
            lines = [[cell] for cell in row.cells] + [list(row.details)]
            rows.append(["<br>".join(map(_markdown, cell)) for cell in lines[: len(names)]])
        blocks.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    blocks += [f"{capital(note)}." for note in sheet.notes]
    if sheet.suggestions:
        blocks += ["Suggestions:", "\n".join(f"- {line}" for line in sheet.suggestions)]
    if sheet.block:
        blocks.append(f"```\n{sheet.block}\n```")
    return "\n\n".join(blocks)


def sheet_text(sheet: Sheet) -> str:
    """Return a sheet as aligned text without colours."""
    lines = [sheet.headline]
    for table in sheet.tables:
        if table.rows:
            lines += _table_lines(table)
    lines += [f"  {note}" for note in sheet.notes]
    if sheet.suggestions:
        lines += ["suggestions:", *_suggestions(sheet)]
    lines += ["", sheet.block] * bool(sheet.block)
    return "\n".join(lines)


def sheet_rich(sheet: Sheet) -> Any:
    """Return a sheet as an object that rich prints."""
    from rich import box
    from rich.console import Group
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    style = {True: "bold green", False: "bold red", None: "bold"}[sheet.is_good]
    parts: list[Any] = [RichText(sheet.headline, style)]
    for table in sheet.tables:
        if not table.rows:
            continue
        if table.title:
            parts.append(RichText(table.terminal_title))
        if table.limit:
            drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
            names = columns(table)
            for name in names:
                right = name.endswith(":")
                drawn.add_column(
                    RichText(name.rstrip(":")), justify="right" if right else "left", no_wrap=right
                )
            for row in table.rows[: table.limit]:
                texts = [*map(_plain, row.cells), "\n".join(_details(table, row))]
                cells = (RichText(text, _STYLES.get(text, "")) for text in texts[: len(names)])
                drawn.add_row(*cells)
            parts += [drawn, *map(RichText, _more(len(table.rows) - table.limit))]
    parts += [RichText(note, "dim") for note in sheet.notes]
    if sheet.suggestions:
        parts.append(RichText("suggestions:", "bold yellow"))
        parts += map(RichText, _suggestions(sheet))
    if sheet.block:
        parts.append(RichText(f"\n{sheet.block}", no_wrap=True, overflow="ignore"))
    return Group(*parts)


_STYLES = {
    "different": "red",
    "regression": "red",
    "improvement": "yellow",
    "large": "red",
    "slow": "red",
    "inconclusive": "yellow",
    "same": "green",
    "fine": "green",
}


def _table_lines(table: Table) -> Iterable[str]:
    indent = "    " if table.title else "  "
    if table.title:
        yield f"  {table.terminal_title}"
    if not table.limit:
        return
    shown = table.rows[: table.limit]
    names = [name.rstrip(":") for name in table.columns]
    grid = [names, *(list(map(_plain, row.cells)) for row in shown)]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    for cells, row in zip(grid, (Row(), *shown), strict=True):
        aligned = (
            cell.rjust(width) if name.endswith(":") else cell.ljust(width)
            for cell, width, name in zip(cells, widths, table.columns, strict=True)
        )
        yield (indent + "  ".join(aligned)).rstrip()
        yield from (f"{indent}    {line}" for line in _details(table, row))
    yield from (indent + line for line in _more(len(table.rows) - len(shown)))


def columns(table: Table) -> tuple[str, ...]:
    """Return the names of a table's columns, including the details if any row has details."""
    return (*table.columns, table.details) if any(r.details for r in table.rows) else table.columns


def _suggestions(sheet: Sheet) -> list[str]:
    shown = [f"  - {line}" for line in sheet.suggestions[: sheet.suggestions_limit]]
    return shown + [f"  {line}" for line in _more(len(sheet.suggestions) - len(shown))]


def _details(table: Table, row: Row) -> list[str]:
    if not table.details_limit:
        return []
    shown = list(map(_plain, row.details[: table.details_limit]))
    return shown + _more(len(row.details) - len(shown), " lines")


def _more(count: int, what: str = "") -> list[str]:
    return [f"and {count} more{what}"] if count > 0 else []


def pieces(text: Text) -> list[str]:
    """Return the non-empty strings of a text. Each line break in a string becomes a space."""
    parts = (text,) if isinstance(text, str) else text
    return [type(part)(" ".join(part.splitlines())) for part in parts if part]


def _plain(text: Text) -> str:
    return " ".join(pieces(text))


def _markdown(text: Text) -> str:
    return " ".join(
        _code(piece) if isinstance(piece, Code) else piece.replace("|", "\\|")
        for piece in pieces(text)
    )


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{text}{fence}".replace("|", "\\|")


def capital(text: str) -> str:
    return text[0].upper() + text[1:]
