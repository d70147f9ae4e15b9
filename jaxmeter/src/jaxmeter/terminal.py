"""Every result as text: as a table for the terminal, and in Markdown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

from jaxmeter.audit_record import Audit
from jaxmeter.audit_text import audit_markdown, audit_table
from jaxmeter.calibration_record import Calibration, calibration_table
from jaxmeter.comparison_record import Comparison
from jaxmeter.comparison_text import comparison_sheet
from jaxmeter.errors import JaxmeterError
from jaxmeter.inventory_record import Inventory, ProgramDiff
from jaxmeter.inventory_text import diff_markdown, diff_table, inventory_table
from jaxmeter.memory_record import MemoryUse, Trade
from jaxmeter.memory_text import memory_markdown, memory_table, trade_markdown, trade_table
from jaxmeter.record import Record
from jaxmeter.record_text import record_table
from jaxmeter.retrace_record import Retraces, Watched
from jaxmeter.retrace_text import (
    retraces_markdown,
    retraces_table,
    watched_markdown,
    watched_table,
)
from jaxmeter.sheet import Sheet, sheet_markdown, sheet_rich, sheet_text

_TABLES = {
    Audit: audit_table,
    Record: record_table,
    Retraces: retraces_table,
    Watched: watched_table,
    Inventory: inventory_table,
    ProgramDiff: diff_table,
    MemoryUse: memory_table,
    Trade: trade_table,
    Calibration: calibration_table,
}
_SHEETS = {Comparison: comparison_sheet}
_MARKDOWN = {
    Audit: audit_markdown,
    Retraces: retraces_markdown,
    Watched: watched_markdown,
    ProgramDiff: diff_markdown,
    MemoryUse: memory_markdown,
    Trade: trade_markdown,
    Calibration: calibration_table,
}


def table(result: Any) -> str:
    """What a result of jaxmeter says, a line for each thing that is known.

    Raises
    ------
    JaxmeterError
        If it is no such result.
    """
    return _rendered("table", _TABLES, sheet_text, result)


def markdown(result: Any) -> str:
    """The same in Markdown.

    Raises
    ------
    JaxmeterError
        If it is no such result.
    """
    return _rendered("markdown", _MARKDOWN, sheet_markdown, result)


def show(result: Any) -> None:
    """Print a result: with rich's tables to a terminal, else as plain text without colours.

    Raises
    ------
    JaxmeterError
        If it is no such result.
    """
    make = _SHEETS.get(type(result))
    if make is not None and sys.stdout.isatty():
        # Without rich, as where jaxmeter was installed without what it asks for, plain text serves.
        with contextlib.suppress(ImportError):
            from rich.console import Console

            Console(highlight=False).print(sheet_rich(make(result)))
            return
    print(table(result))


def _rendered(
    call: str, renderers: dict[type, Any], from_sheet: Callable[[Sheet], str], result: Any
) -> str:
    render, sheet = renderers.get(type(result)), _SHEETS.get(type(result))
    if render is not None:
        return render(result)
    if sheet is not None:
        return from_sheet(sheet(result))
    names = ", ".join(f"jaxmeter.{kind.__name__}" for kind in {**renderers, **_SHEETS})
    raise JaxmeterError(f"{call}: got {result!r:.80}; give one of {names}")
