"""Every result as text: as a table for the terminal, and in Markdown."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from jaxmeter._records.audit import Audit
from jaxmeter._records.calibration import Calibration, calibration_table
from jaxmeter._records.comparison import Comparison
from jaxmeter._records.inventory import Inventory, ProgramDiff
from jaxmeter._records.memory import MemoryUse, Tradeoff
from jaxmeter._records.record import Record
from jaxmeter._records.retraces import Retraces, Watched
from jaxmeter._render.audit import audit_sheet, audit_table
from jaxmeter._render.comparison import comparison_sheet
from jaxmeter._render.inventory import diff_sheet, diff_table, inventory_table
from jaxmeter._render.memory import memory_sheet, memory_table, tradeoff_sheet, tradeoff_table
from jaxmeter._render.record import record_sheet, record_table
from jaxmeter._render.retraces import (
    retraces_sheet,
    retraces_table,
    watched_sheet,
    watched_table,
)
from jaxmeter._render.sheet import Sheet, sheet_markdown, sheet_rich, sheet_text
from jaxmeter.errors import JaxmeterError

_TABLES = {
    Audit: audit_table,
    Record: record_table,
    Retraces: retraces_table,
    Watched: watched_table,
    Inventory: inventory_table,
    ProgramDiff: diff_table,
    MemoryUse: memory_table,
    Tradeoff: tradeoff_table,
    Calibration: calibration_table,
}
_SHEETS = {
    Audit: audit_sheet,
    Record: record_sheet,
    Retraces: retraces_sheet,
    Watched: watched_sheet,
    ProgramDiff: diff_sheet,
    MemoryUse: memory_sheet,
    Tradeoff: tradeoff_sheet,
    Comparison: comparison_sheet,
}


def table(result: Any) -> str:
    """What a result of jaxmeter says, a line for each thing that is known.

    Raises
    ------
    JaxmeterError
        If it is no such result.
    """
    render = _TABLES.get(type(result))
    return sheet_text(_sheet("table", result)) if render is None else render(result)


def markdown(result: Any) -> str:
    """The same in Markdown.

    Raises
    ------
    JaxmeterError
        If it is no such result.
    """
    if isinstance(result, Calibration):
        return calibration_table(result)
    return sheet_markdown(_sheet("markdown", result))


def show(result: Any) -> None:
    """Print a result: as rich's tables to a terminal, else as plain text without colours.

    Raises
    ------
    JaxmeterError
        If it is no such result.
    """
    if type(result) in _SHEETS and sys.stdout.isatty():
        # Without rich, as where jaxmeter was installed without what it asks for, plain text serves.
        with contextlib.suppress(ImportError):
            from rich.console import Console

            Console(highlight=False).print(sheet_rich(_sheet("show", result)))
            return
    print(table(result))


@contextlib.contextmanager
def leaving_reader() -> Iterator[None]:
    """Print to a reader that may leave before the end, as ``head`` does; that is no error."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left goes nowhere, or Python would fail once more when it ends:
        # https://docs.python.org/3/library/signal.html#note-on-sigpipe
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _sheet(call: str, result: Any) -> Sheet:
    make = _SHEETS.get(type(result))
    if make is None:
        kinds = {**_SHEETS, **_TABLES} if call == "table" else _SHEETS
        names = ", ".join(f"jaxmeter.{kind.__name__}" for kind in kinds)
        raise JaxmeterError(f"{call}: got {result!r:.80}; give one of {names}")
    return make(result)
