"""Every result as text: as a table for the terminal, and in Markdown."""

from __future__ import annotations

from typing import Any

from jaxmeter.audit_record import Audit
from jaxmeter.audit_text import audit_markdown, audit_table
from jaxmeter.calibration_record import Calibration, calibration_table
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
    return _rendered("table", _TABLES, result)


def markdown(result: Any) -> str:
    """The same in Markdown.

    Raises
    ------
    JaxmeterError
        If it is no such result.
    """
    return _rendered("markdown", _MARKDOWN, result)


def _rendered(call: str, renderers: dict[type, Any], result: Any) -> str:
    render = renderers.get(type(result))
    if render is None:
        names = ", ".join(f"jaxmeter.{kind.__name__}" for kind in renderers)
        raise JaxmeterError(f"{call}: got {result!r:.80}; give one of {names}")
    return render(result)
