"""Describe tables by schemas, make frames that match them, save them, and write docs/tables.md."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from jaxmeter._measure.environment import host_environment
from jaxmeter._records.record import Environment
from jaxmeter.errors import JaxmeterError

TEXT, WHOLE, REAL, TRUTH = "string", "Int64", "Float64", "boolean"
"""The kinds of columns, as pandas names them: values may be missing in all of them."""

_KINDS = {TEXT: "text", WHOLE: "whole", REAL: "number", TRUTH: "true or false"}


@dataclass(frozen=True)
class Schema:
    """The columns of a table.

    Parameters
    ----------
    title : str
        The meaning of a row.
    columns : mapping
        Kind and meaning of each column, units included.
    """

    title: str
    columns: Mapping[str, tuple[str, str]]


SCHEMAS: dict[str, Schema] = {}
"""Every table by name."""


def schema(name: str, title: str, columns: Mapping[str, tuple[str, str]]) -> Schema:
    """Register the schema of a table, so that `frame` and `documentation` find it.

    Parameters
    ----------
    name, title : str
        The table, and the meaning of its rows.
    columns : mapping
        For each column its kind (`TEXT`, `WHOLE`, `REAL` or `TRUTH`) and its meaning.

    Raises
    ------
    ValueError
        If a table of that name is registered already.
    """
    if name in SCHEMAS:
        raise ValueError(f"schema: got name={name!r} twice; give each table its own name")
    SCHEMAS[name] = Schema(title, dict(columns))
    return SCHEMAS[name]


def frame(name: str, rows: Any) -> pd.DataFrame:
    """Return a table with the columns and kinds of its schema, in that order.

    Parameters
    ----------
    name : str
        One of `SCHEMAS`.
    rows : iterable of mapping, mapping of columns, or DataFrame
        Columns that are left out are missing values.

    Raises
    ------
    JaxmeterError
        If a column is not in the schema, or a value does not match its kind.
    """
    known = SCHEMAS[name].columns
    given = pd.DataFrame(rows if isinstance(rows, (Mapping, pd.DataFrame)) else list(rows))
    unknown = [column for column in given.columns if column not in known]
    if unknown:
        raise JaxmeterError(f"frame: got columns {unknown}, which the schema of {name!r} lacks")
    table: dict[str, Any] = {}
    for column, (kind, _) in known.items():
        values = given[column] if column in given else [None] * len(given)
        try:
            table[column] = pd.Series(values, index=given.index).astype(kind)  # type: ignore[call-overload]
        except (TypeError, ValueError) as error:
            raise JaxmeterError(f"frame: got {name}.{column} that is no {kind}: {error}") from error
    return pd.DataFrame(table).reset_index(drop=True)


def most(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Sort a table, the rows with the largest value in a column first."""
    return table.sort_values(column, ascending=False, kind="stable").reset_index(drop=True)


def save(
    tables: Mapping[str, pd.DataFrame],
    folder: Path,
    environment: Environment | None = None,
    *,
    notes: Mapping[str, Any] | None = None,
) -> Path:
    """Write each table as ``NAME.parquet`` and ``NAME.csv``, and ``environment.json``.

    A file is replaced whole or not at all.

    Parameters
    ----------
    tables : mapping
        Frames by name.
    folder : Path
        Made if it does not exist.
    environment : Environment, optional
        Where the tables' numbers were measured; this machine, without JAX's backend, unless given.
    notes : mapping, optional
        Further entries of ``environment.json``, such as the path of a trace.

    Raises
    ------
    JaxmeterError
        If the folder cannot be written.
    """
    environment = environment or host_environment()
    entries = {"environment": environment.to_data(), **(notes or {})}
    text = json.dumps(entries, indent=1, default=str) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            _replace(folder / f"{name}.parquet", lambda path, t=table: t.to_parquet(path))
            _replace(folder / f"{name}.csv", lambda path, t=table: t.to_csv(path, index=False))
        _replace(folder / "environment.json", lambda path: path.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise JaxmeterError(
            f"save: got folder={str(folder)!r} ({error}); give a folder that can be written"
        ) from None
    return folder


def _replace(path: Path, write: Any) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def documentation() -> str:
    """Return the description of all registered tables in Markdown."""
    lines = [
        "# Tables",
        "",
        "The scripts of `profiling/` write these tables, each as Parquet and CSV, next to",
        "`environment.json`. To update this page: `python -m jaxmeter.tables > docs/tables.md`.",
        "",
    ]
    for name, table in SCHEMAS.items():
        lines += [f"## {name}", "", table.title, ""]
        lines += ["| column | kind | meaning |", "| --- | --- | --- |"]
        for column, (kind, meaning) in table.columns.items():
            escaped = meaning.replace("|", "\\|")
            lines.append(f"| `{column}` | {_KINDS[kind]} | {escaped} |")
        lines.append("")
    return "\n".join(lines)
