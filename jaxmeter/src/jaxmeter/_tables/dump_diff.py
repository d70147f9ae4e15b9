"""In what two dumps of XLA differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from jaxmeter._tables.schemas import frame

_SIZES = (
    *("argument_bytes", "output_bytes", "temp_bytes", "largest_temp_bytes", "constant_bytes"),
    *("instructions_count", "fusions_count", "custom_calls_count"),
)
# Table, what tells its rows apart, its column of bytes and of numbers.
_TABLES = (
    ("buffer", "dump_buffers", ("buffer_kind", "opcode", "scope", "source"), "bytes"),
    ("fusion", "dump_fusions", ("operations", "scope", "source"), "bytes"),
    ("constant", "dump_constants", ("shape", "value"), "bytes"),
    ("opcode", "dump_opcodes", ("opcode",), "result_bytes"),
    ("precision", "dump_precision", ("dtype", "scope"), "result_bytes"),
    ("call", "dump_custom_calls", ("call_target", "scope"), "bytes"),
)


def diff_dumps(before: Mapping[str, pd.DataFrame], now: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """What differs between the tables of two dumps; what is the same in both is left out.

    Parameters
    ----------
    before, now : mapping
        From `dump_tables`; of two chunk sizes, variants or commits.
    """
    old, new = (tables["dump"].to_dict("records")[0] for tables in (before, now))
    rows: list[dict[str, Any]] = []
    for name in _SIZES:
        unit = "bytes" if name.endswith("_bytes") else "count"
        sides = {f"before_{unit}": old[name], f"now_{unit}": new[name]}
        rows.append({"what": "size", "item": name, **sides})
    for what, table, keys, size in _TABLES:
        sides = [_grouped(tables[table], keys, size) for tables in (before, now)]
        for key in dict.fromkeys([*sides[0], *sides[1]]):
            (count, total, shape), (count_now, total_now, shape_now) = (
                side.get(key, (0, 0, "")) for side in sides
            )
            rows.append(
                {
                    "what": what,
                    "item": " ".join(part for part in key if part),
                    "before_count": count,
                    "now_count": count_now,
                    "before_bytes": total,
                    "now_bytes": total_now,
                    "before_shape": shape,
                    "now_shape": shape_now,
                }
            )
    changed = [row for row in map(_compared, rows) if row is not None]
    changed.sort(key=lambda row: -(row.get("change_bytes") or 0))
    same = old["module"] == new["module"]
    return frame("dump_diff", [{**row, "is_same_program": same} for row in changed])


def _grouped(table: pd.DataFrame, keys: tuple[str, ...], size: str) -> dict[tuple, tuple]:
    """Number, bytes and the largest shape of the rows that agree."""
    found: dict[tuple, tuple[int, int, str]] = {}
    if "stage" in table:
        table = table[table["stage"] == "after"]  # type: ignore[assignment]
    for row in table.to_dict("records"):
        key = tuple(row[name] for name in keys)
        count, total, shape = found.get(key, (0, 0, row.get("shape", "")))
        found[key] = (count + row.get("count", 1), total + row[size], shape)
    return found


def _compared(row: dict[str, Any]) -> dict[str, Any] | None:
    values = {name: None if pd.isna(v) else v for name, v in row.items()}
    names = ("count", "bytes", "shape")
    pairs = {name: (values.get(f"before_{name}"), values.get(f"now_{name}")) for name in names}
    if all(old == new for old, new in pairs.values()):
        return None
    old, new = pairs["bytes"]
    if old is not None and new is not None:
        values["change_bytes"] = new - old
    for a, b in (pairs["bytes"], pairs["count"]):
        if a and b is not None:
            values["ratio"] = b / a
            break
    return values
