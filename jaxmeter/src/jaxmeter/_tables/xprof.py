"""The tables that xprof, TensorBoard's plugin, makes of a trace; empty ones are named."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from jaxmeter._tables.schemas import TEXT, WHOLE, frame, schema
from jaxmeter.errors import JaxmeterError

TOOLS = (
    *("overview_page", "input_pipeline_analyzer", "framework_op_stats", "hlo_stats"),
    *("op_profile", "kernel_stats", "memory_profile", "roofline_model", "memory_viewer"),
)

schema(
    "xprof_tools",
    "A table that xprof could make of the trace. Those that are filled are saved as "
    "`xprof_TOOL_N`, with the columns that xprof gives them.",
    {
        "tool": (TEXT, "xprof's name of it"),
        "program": (TEXT, "of what program, where a tool shows one"),
        "table": (TEXT, "under which name it is saved; empty if it is not"),
        "status": (TEXT, "`filled`, `empty`, or why there is none"),
        "rows_count": (WHOLE, "its rows"),
    },
)

INSTALL = "xprof is not installed here; pip install tensorboard-plugin-profile for its tables"

Convert = Callable[[list[str], str, dict[str, Any]], Any]


def xprof_tables(
    path: Path, programs: Iterable[str] = (), convert: Convert | None = None
) -> dict[str, pd.DataFrame]:
    """What xprof makes of a trace: ``xprof_tools`` and the tables with data.

    Parameters
    ----------
    path : Path
        The ``.xplane.pb`` file.
    programs : iterable of str
        Those whose memory to show: ``jit_f(30)``.
    convert : callable, optional
        ``convert([path], tool, options)`` to JSON; xprof's own unless given.

    Raises
    ------
    JaxmeterError
        If xprof is not installed.
    """
    convert = convert or _xprof(path)
    tables: dict[str, pd.DataFrame] = {}
    rows: list[dict[str, Any]] = []
    for tool in TOOLS:
        for program in programs if tool == "memory_viewer" else ("",):
            options = {"module_name": program, "memory_space": "0"} if program else {}
            try:
                told = json.loads(convert([str(path)], tool, options) or "null")
            except Exception as error:  # whatever a converter raises; the other tools go on
                status = f"{type(error).__name__}: {error}"
                rows.append({"tool": tool, "program": program, "table": "", "status": status})
                continue
            found = [table for table in _tables(told) if len(table)]
            for number, table in enumerate(found):
                name = re.sub(r"\W+", "_", f"xprof_{tool}_{program or number}").strip("_")
                tables[name] = table
                row = {"table": name, "status": "filled", "rows_count": len(table)}
                rows.append({"tool": tool, "program": program, **row})
            if not found:
                row = {"table": "", "status": "empty", "rows_count": 0}
                rows.append({"tool": tool, "program": program, **row})
    return {"xprof_tools": frame("xprof_tools", rows), **tables}


def _xprof(path: Path) -> Convert:
    try:
        from xprof.convert import raw_to_tool_data  # type: ignore[import-not-found]
    except ImportError as error:
        raise JaxmeterError(f"xprof: {INSTALL} ({error})") from None
    # This lays each program's HLO beside the trace, where the viewers look for it.
    raw_to_tool_data.xspace_to_tool_names([str(path)])
    return lambda paths, tool, options: raw_to_tool_data.xspace_to_tool_data(paths, tool, options)[
        0
    ]


def _tables(told: Any) -> list[pd.DataFrame]:
    """The tables in what a tool tells: Google's visualisation JSON, or a heap at its peak."""
    if isinstance(told, list):
        return [table for part in told for table in _tables(part)]
    if not isinstance(told, dict):
        return []
    if "cols" in told:
        columns = [column.get("id") or column.get("label", "") for column in told["cols"]]
        cells = [[(cell or {}).get("v") for cell in row["c"]] for row in told.get("rows", [])]
        return [pd.DataFrame(cells, columns=columns)] if cells and columns else []
    if isinstance(told.get("maxHeap"), list):
        return [pd.DataFrame(told["maxHeap"])]
    return []
