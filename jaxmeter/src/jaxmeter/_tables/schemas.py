"""What every table holds: the one description that frames are made by, checked by and documented
by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from jaxmeter.errors import JaxmeterError

TEXT, WHOLE, REAL, TRUTH = "string", "Int64", "Float64", "boolean"
"""The kinds of columns, as pandas names them: in each a value may be missing."""


@dataclass(frozen=True)
class Schema:
    """The columns of a table and what they mean.

    Parameters
    ----------
    title : str
        What a row is.
    columns : mapping
        For each column its kind and its meaning, units included.
    """

    title: str
    columns: Mapping[str, tuple[str, str]]


SCHEMAS: dict[str, Schema] = {}
"""Every table by name."""


def schema(name: str, title: str, columns: Mapping[str, tuple[str, str]]) -> Schema:
    """Describe a table.

    Raises
    ------
    ValueError
        If there is a table of that name.
    """
    if name in SCHEMAS:
        raise ValueError(f"schema: got name={name!r} twice; give each table a name of its own")
    SCHEMAS[name] = Schema(title, dict(columns))
    return SCHEMAS[name]


def frame(name: str, rows: Any) -> pd.DataFrame:
    """A table of the columns and kinds that its schema tells, in that order.

    Parameters
    ----------
    name : str
        One of `SCHEMAS`.
    rows : iterable of mapping, mapping of columns, or DataFrame
        What is left out is missing.

    Raises
    ------
    JaxmeterError
        If there is a column that the schema does not know, or a value not of its kind.
    """
    known = SCHEMAS[name].columns
    given = pd.DataFrame(rows if isinstance(rows, (Mapping, pd.DataFrame)) else list(rows))
    unknown = [column for column in given.columns if column not in known]
    if unknown:
        raise JaxmeterError(f"frame: got columns {unknown} for {name!r}; its schema has no such")
    table: dict[str, Any] = {}
    for column, (kind, _) in known.items():
        values = given[column] if column in given else [None] * len(given)
        try:
            table[column] = pd.Series(values, index=given.index).astype(kind)  # type: ignore[call-overload]
        except (TypeError, ValueError) as error:
            raise JaxmeterError(f"frame: got {name}.{column} that is no {kind}: {error}") from error
    return pd.DataFrame(table).reset_index(drop=True)


def most(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows with most in a column first."""
    return table.sort_values(column, ascending=False, kind="stable").reset_index(drop=True)


def documentation() -> str:
    """All tables in Markdown."""
    lines = [
        "# Tables",
        "",
        "What the scripts of `profiling/` write: each table as Parquet and CSV, beside",
        "`environment.json`. This page: `python -m jaxmeter._tables > docs/tables.md`.",
        "",
    ]
    for name, one in SCHEMAS.items():
        lines += [
            f"## {name}",
            "",
            one.title,
            "",
            "| column | kind | meaning |",
            "| --- | --- | --- |",
        ]
        for column, (kind, meaning) in one.columns.items():
            escaped = meaning.replace("|", "\\|")
            lines.append(f"| `{column}` | {_KINDS[kind]} | {escaped} |")
        lines.append("")
    return "\n".join(lines)


_KINDS = {TEXT: "text", WHOLE: "whole", REAL: "number", TRUTH: "true or false"}
