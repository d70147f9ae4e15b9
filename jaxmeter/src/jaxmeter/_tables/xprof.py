"""Get the tables that xprof, a plugin of TensorBoard, makes from a trace.

The table ``xprof_tools`` lists all tools, including tools that gave no rows or failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from jaxmeter._records.argument_types import checking_types
from jaxmeter._tables.schemas import frame
from jaxmeter.errors import JaxmeterError

_TOOLS = (
    *("overview_page", "input_pipeline_analyzer", "framework_op_stats", "hlo_stats"),
    *("op_profile", "kernel_stats", "memory_profile", "roofline_model", "memory_viewer"),
)
Convert = Callable[[list[str], str, dict[str, Any]], Any]


@checking_types
def xprof_tables(
    path: Path, programs: Iterable[str] = (), convert: Convert | None = None
) -> dict[str, pd.DataFrame]:
    """Return the tables that xprof's tools make from a trace, and the table ``xprof_tools``.

    Tables without rows are left out. If xprof fails for a tool, the column ``status`` of
    ``xprof_tools`` has the error.

    Parameters
    ----------
    path : Path
        The ``.xplane.pb`` file.
    programs : iterable of str
        The names of the programs for xprof's memory viewer, such as ``jit_f(30)``.
    convert : callable, optional
        A function that is called as ``convert([path], tool, options)`` and returns JSON. The
        default is xprof's own function.

    Raises
    ------
    JaxmeterError
        If `convert` is not given, and xprof cannot be imported.
    """
    convert = convert or _xprof(path)
    tables: dict[str, pd.DataFrame] = {}
    rows: list[dict[str, Any]] = []
    for tool in _TOOLS:
        for program in programs if tool == "memory_viewer" else ("",):
            row = {"tool": tool, "program": program, "table": ""}
            options = {"module_name": program, "memory_space": "0"} if program else {}
            try:
                answer = json.loads(convert([str(path)], tool, options) or "null")
            except Exception as error:  # a converter may raise any exception: try the other tools
                rows.append({**row, "status": f"{type(error).__name__}: {error}"})
                continue
            found = [table for table in _tables(answer) if len(table)]
            for number, table in enumerate(found):
                label = f"{program} {number}" if program and number else program or number
                name = re.sub(r"\W+", "_", f"xprof_{tool}_{label}").strip("_")
                tables[name] = table
                rows.append(row | {"table": name, "status": "filled", "rows_count": len(table)})
            if not found:
                rows.append({**row, "status": "empty", "rows_count": 0})
    return {"xprof_tools": frame("xprof_tools", rows), **tables}


def _xprof(path: Path) -> Convert:
    try:
        from xprof.convert import raw_to_tool_data  # type: ignore[import-not-found]
    except ImportError as error:
        raise JaxmeterError(
            f"xprof_tables: xprof cannot be imported here ({error}); "
            "run pip install tensorboard-plugin-profile"
        ) from None
    # This call writes the HLO of each program next to the trace, where xprof's tools look for it.
    raw_to_tool_data.xspace_to_tool_names([str(path)])
    return lambda *request: raw_to_tool_data.xspace_to_tool_data(*request)[0]


def _tables(answer: Any) -> list[pd.DataFrame]:
    """Return the tables in the answer of a tool of xprof.

    The answer may be a table in the JSON form of Google's visualisation library, a list of answers,
    or a dictionary in which ``maxHeap`` is the list of buffers at peak memory.
    """
    if isinstance(answer, list):
        return [table for part in answer for table in _tables(part)]
    if not isinstance(answer, dict):
        return []
    if "cols" in answer:
        columns = [column.get("id") or column.get("label", "") for column in answer["cols"]]
        cells = [[(cell or {}).get("v") for cell in row["c"]] for row in answer.get("rows", [])]
        return [pd.DataFrame(cells, columns=columns)] if cells and columns else []
    return [pd.DataFrame(answer["maxHeap"])] if isinstance(answer.get("maxHeap"), list) else []
