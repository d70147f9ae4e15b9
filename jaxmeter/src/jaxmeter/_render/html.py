"""Write a `Sheet` as HTML for a notebook. The HTML has no colours or scripts, to fit any theme."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from jaxmeter._render.sheet import Code, Row, Sheet, Table, Text, columns, pieces

_PLAIN = "text-align:left;vertical-align:top"
_NUMBER = "text-align:right;vertical-align:top;white-space:nowrap"


def sheet_html(sheet: Sheet) -> str:
    """Return a sheet as HTML. Rows, details and suggestions beyond the limits of the sheet are
    collapsed."""
    parts = [f"<strong>{escape(sheet.headline)}</strong>"]
    for table in sheet.tables:
        if table.rows:
            parts += _table(table)
    parts += [f"<p><em>{escape(note)}</em></p>" for note in sheet.notes]
    if sheet.suggestions:
        limit = sheet.suggestions_limit
        shown, rest = sheet.suggestions[:limit], sheet.suggestions[limit:]
        parts += ["suggestions:", _list(shown), *_folded(len(rest), _list(rest))]
    if sheet.block:
        parts.append(f"<pre>{escape(sheet.block)}</pre>")
    return f'<div class="jaxmeter" style="overflow-x:auto">{"".join(parts)}</div>'


def _table(table: Table) -> Iterable[str]:
    if table.title:
        yield f"<p>{escape(table.title)}</p>"
    shown, rest = table.rows[: table.limit], table.rows[table.limit :]
    if shown:
        yield _rows(table, shown)
    yield from _folded(len(rest), _rows(table, rest))


def _rows(table: Table, rows: Sequence[Row]) -> str:
    names = columns(table)
    styles = [_NUMBER if name.endswith(":") else _PLAIN for name in names]
    heads = zip(names, styles, strict=True)
    head = "".join(f'<th style="{style}">{escape(name.rstrip(":"))}</th>' for name, style in heads)
    body = ""
    for row in rows:
        cells = [_text(cell) for cell in row.cells]
        if len(names) > len(row.cells):
            cells.append(_details(table, row))
        pairs = zip(cells, styles, strict=True)
        row_html = "".join(f'<td style="{style}">{cell}</td>' for cell, style in pairs)
        body += f"<tr>{row_html}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _details(table: Table, row: Row) -> str:
    lines, limit = list(map(_text, row.details)), table.details_limit
    rest = lines[limit:]
    return "<br>".join(lines[:limit]) + "".join(_folded(len(rest), "<br>".join(rest)))


def _folded(count: int, content: str) -> list[str]:
    return [f"<details><summary>{count} more</summary>{content}</details>"] if count else []


def _list(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"


def _text(text: Text) -> str:
    return " ".join(
        f"<code>{escape(piece)}</code>" if isinstance(piece, Code) else escape(piece)
        for piece in pieces(text)
    )
