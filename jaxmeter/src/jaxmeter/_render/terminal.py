"""Return any result of jaxmeter as text, Markdown or HTML, or print it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from jaxmeter._records.audit import Audit, Calibration
from jaxmeter._records.cache import CacheDiagnosis
from jaxmeter._records.comparison import Comparison
from jaxmeter._records.compile import CompileProfile
from jaxmeter._records.inventory import Inventory, ProgramDiff
from jaxmeter._records.lock import LockCheck
from jaxmeter._records.memory import MemoryUse, Tradeoff
from jaxmeter._records.record import Record
from jaxmeter._records.retraces import Retraces, Watched
from jaxmeter._records.run import WatchedRun
from jaxmeter._render.audit import audit_sheet, calibration_sheet
from jaxmeter._render.cache import cache_sheet
from jaxmeter._render.comparison import comparison_sheet
from jaxmeter._render.compile import compile_sheet
from jaxmeter._render.html import sheet_html
from jaxmeter._render.inventory import diff_sheet, inventory_sheet
from jaxmeter._render.lock import lock_sheet
from jaxmeter._render.memory import memory_sheet, tradeoff_sheet
from jaxmeter._render.record import record_sheet
from jaxmeter._render.retraces import retraces_sheet, watched_sheet
from jaxmeter._render.run.text import run_sheet
from jaxmeter._render.sheet import Sheet, sheet_markdown, sheet_rich, sheet_text, without_limits
from jaxmeter.errors import JaxmeterError

_SHEETS: dict[type, Callable[[Any], Sheet]] = {
    Audit: audit_sheet,
    CacheDiagnosis: cache_sheet,
    Calibration: calibration_sheet,
    Comparison: comparison_sheet,
    CompileProfile: compile_sheet,
    LockCheck: lock_sheet,
    Inventory: inventory_sheet,
    MemoryUse: memory_sheet,
    ProgramDiff: diff_sheet,
    Record: record_sheet,
    Retraces: retraces_sheet,
    Tradeoff: tradeoff_sheet,
    Watched: watched_sheet,
    WatchedRun: run_sheet,
}


def table(result: Any, *, every: bool = False) -> str:
    """Return a result as plain text.

    Parameters
    ----------
    result : any result of jaxmeter
    every : bool
        Whether to show every row, detail and suggestion. Otherwise long tables and lists are cut.

    Raises
    ------
    JaxmeterError
        If `result` is not a result of jaxmeter.
    """
    return sheet_text(_sheet("table", result, every=every))


def markdown(result: Any) -> str:
    """Return a result as Markdown.

    Raises
    ------
    JaxmeterError
        If `result` is not a result of jaxmeter.
    """
    return sheet_markdown(_sheet("markdown", result))


def html(result: Any) -> str:
    """Return a result as HTML for a notebook. Raise a `JaxmeterError` for any other object."""
    return sheet_html(_sheet("html", result))


def show(result: Any, *, every: bool = False) -> None:
    """Print a result. In a terminal, the result has colours; elsewhere, it is plain text.

    If ``every`` is true, print every row, detail and suggestion.
    """
    sheet = _sheet("show", result, every=every)
    if sys.stdout.isatty():
        from rich.console import Console

        Console(highlight=False).print(sheet_rich(sheet))
    else:
        print(sheet_text(sheet))


@contextlib.contextmanager
def leaving_reader() -> Iterator[None]:
    """Ignore the broken pipe if the reader of standard output stops early, as ``head`` does."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Send later output to the null device; otherwise Python would fail again when it ends:
        # https://docs.python.org/3/library/signal.html#note-on-sigpipe
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _sheet(call: str, result: Any, *, every: bool = False) -> Sheet:
    describe = _SHEETS.get(type(result))
    if describe is None:
        names = ", ".join(f"jaxmeter.{kind.__name__}" for kind in _SHEETS)
        raise JaxmeterError(f"{call}: got {result!r:.80}; give a result of type {names}")
    sheet = describe(result)
    return without_limits(sheet) if every else sheet
