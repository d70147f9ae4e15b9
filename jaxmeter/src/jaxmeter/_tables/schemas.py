"""Define the schemas of tables, make and save tables that match, and write docs/tables.md."""

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
"""The kinds of columns, as names of pandas types. Values may be missing in columns of all kinds."""

_KINDS = {TEXT: "text", WHOLE: "whole", REAL: "number", TRUTH: "true or false"}


@dataclass(frozen=True)
class Schema:
    """The columns of a table.

    Parameters
    ----------
    title : str
        The meaning of the rows.
    columns : mapping
        The kind and the meaning of each column, including units.
    """

    title: str
    columns: Mapping[str, tuple[str, str]]


SCHEMAS: dict[str, Schema] = {}
"""The schemas of all tables by the table's name."""


def schema(name: str, title: str, columns: Mapping[str, tuple[str, str]]) -> Schema:
    """Register the schema of a table, so that `frame` and `documentation` find it.

    Parameters
    ----------
    name, title : str
        The name of the table, and the meaning of its rows.
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
    """Return a table with all columns of its schema, in order, with values of the right kinds.

    Parameters
    ----------
    name : str
        The name of a table in `SCHEMAS`.
    rows : iterable of mapping, mapping of columns, or DataFrame
        The values. A column that is left out is filled with missing values.

    Raises
    ------
    JaxmeterError
        If no schema has this name, a column is not in the schema, or a value does not match the
        kind of its column.
    """
    if name not in SCHEMAS:
        raise JaxmeterError(
            f"frame: got name={name!r}; give the name of a schema: {', '.join(sorted(SCHEMAS))}"
        )
    known = SCHEMAS[name].columns
    given = pd.DataFrame(rows if isinstance(rows, (Mapping, pd.DataFrame)) else list(rows))
    unknown = [column for column in given.columns if column not in known]
    if unknown:
        raise JaxmeterError(
            f"frame: got columns {unknown}, which the schema of {name!r} lacks; give only columns "
            "of the schema"
        )
    table: dict[str, Any] = {}
    for column, (kind, _) in known.items():
        values = given[column] if column in given else [None] * len(given)
        try:
            table[column] = pd.Series(values, index=given.index).astype(kind)  # type: ignore[call-overload]
        except (TypeError, ValueError) as error:
            raise JaxmeterError(
                f"frame: got values of {name}.{column} that are not {kind} ({error}); convert them"
            ) from error
    return pd.DataFrame(table).reset_index(drop=True)


def most(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Sort a table by a column, the largest value first."""
    return table.sort_values(column, ascending=False, kind="stable").reset_index(drop=True)


def save(
    tables: Mapping[str, pd.DataFrame],
    folder: Path,
    environment: Environment | None = None,
    *,
    notes: Mapping[str, Any] | None = None,
) -> Path:
    """Write each table as a Parquet file and as a CSV file, and the environment as a JSON file.

    The files are ``NAME.parquet``, ``NAME.csv`` and ``environment.json``. Each file is either
    replaced completely or left unchanged.

    Parameters
    ----------
    tables : mapping
        The tables by name.
    folder : Path
        The folder for the files; it is created if it does not exist.
    environment : Environment, optional
        The environment in which the numbers were measured. The default is the environment of this
        machine, without JAX's backend.
    notes : mapping, optional
        More entries for ``environment.json``, such as the path of a trace.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    JaxmeterError
        If the folder cannot be written.
    """
    environment = environment or host_environment()
    entries = {"environment": json.loads(environment.to_json()), **(notes or {})}
    text = json.dumps(entries, indent=1, default=str) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            _replace(folder / f"{name}.parquet", lambda path, t=table: t.to_parquet(path))
            _replace(folder / f"{name}.csv", lambda path, t=table: t.to_csv(path, index=False))
        _replace(folder / "environment.json", lambda path: path.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise JaxmeterError(
            f"save: got folder={str(folder)!r} ({error.strerror or error}); give a folder that can "
            "be written"
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
        "The scripts of `profiling/` write these tables as Parquet and CSV files, next to the file",
        "`environment.json`. Only the tables `compile_*` have no script:",
        "`jaxmeter.tables.compile_tables` makes them. `python -m jaxmeter.tables > docs/tables.md`",
        "updates this page.",
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
