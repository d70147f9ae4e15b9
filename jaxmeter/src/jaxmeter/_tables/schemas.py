"""Define the schemas of tables, make tables that match a schema, and save and describe tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from jaxmeter._measure.environment import host_environment
from jaxmeter._records.argument_types import checking_types
from jaxmeter._records.files import file_errors, write_file
from jaxmeter._records.record import Environment
from jaxmeter.errors import JaxmeterError

_TEXT, _WHOLE, _REAL, _TRUTH = "string", "Int64", "Float64", "boolean"
_WHOLE_ENDINGS = ("bytes", "count", "position", "step")
_REAL_ENDINGS = ("seconds", "second", "fraction", "ratio", "occupancy", "relative")
# A row of a Markdown table in `documentation`, with the name, kind and meaning of a column.
_COLUMN = re.compile(r"^\| `(\w+)` \| [a-z ]+ \| (.*) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Schema:
    """The columns of a table. Any column may have missing values."""

    title: str
    """The meaning of the rows."""
    columns: Mapping[str, tuple[str, str]]
    """The name of the pandas type of each column, and the meaning of the column with its unit."""


SCHEMAS: dict[str, Schema] = {}
"""The schemas of all tables, by the name of the table."""


def _kind(column: str) -> str:
    """Return the type of a column, which its name decides: booleans if the name begins with
    ``is_``, numbers if it ends in a unit such as ``_seconds`` or ``_count``, otherwise text."""
    if column.startswith("is_"):
        return _TRUTH
    ending = column.rpartition("_")[2]
    if ending in _WHOLE_ENDINGS:
        return _WHOLE
    return _REAL if ending in _REAL_ENDINGS else _TEXT


def documentation() -> str:
    """Return the Markdown text that describes all tables. The schemas are made from this text."""
    return Path(__file__).with_name("tables.md").read_text(encoding="utf-8")


for _section in documentation().split("\n## ")[1:]:
    _name, _title, _columns = _section.split("\n\n")[:3]
    SCHEMAS[_name] = Schema(
        _title, {column: (_kind(column), meaning) for column, meaning in _COLUMN.findall(_columns)}
    )


@checking_types
def frame(name: str, rows: Iterable[Any]) -> pd.DataFrame:
    """Return a table with the columns of its schema, in order, converted to the schema's types.

    Parameters
    ----------
    name : str
        The name of a table in `SCHEMAS`.
    rows : iterable of mapping, or DataFrame
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
    given = pd.DataFrame(rows if isinstance(rows, pd.DataFrame) else list(rows))
    unknown = [column for column in given.columns if column not in known]
    if unknown:
        raise JaxmeterError(
            f"frame: got columns {unknown}, which the schema of {name!r} lacks; give only columns "
            "of the schema"
        )
    table = given.reindex(columns=list(known)).reset_index(drop=True)
    for column, (kind, _) in known.items():
        values = pd.Series(table[column])
        try:
            if kind == _TEXT and is_numeric_dtype(values) and values.notna().any():
                raise TypeError(
                    "the name of a column of numbers must end in a unit, such as _seconds, and the "
                    "name of a column of booleans must begin with is_"
                )
            table[column] = values.astype(kind)  # type: ignore[call-overload]
        except (TypeError, ValueError, OverflowError) as error:
            raise JaxmeterError(
                f"frame: got values of {name}.{column} that are not {kind} ({error}); convert the "
                "values or rename the column"
            ) from error
    return table


def most(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a table sorted by a column, the largest value first."""
    return table.sort_values(column, ascending=False, kind="stable").reset_index(drop=True)


def kernel_table(launches: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the table ``kernels``; launches that differ only in duration share a row.

    Each launch is a dictionary with the columns that describe the kernel, and the duration in
    ``seconds``.
    """
    if not launches:
        return frame("kernels", [])
    each = pd.DataFrame(launches)
    same = [column for column in each.columns if column != "seconds"]
    sums = each.groupby(same, dropna=False, sort=False)["seconds"].agg(
        launches_count="size", total_seconds="sum", mean_seconds="mean", longest_seconds="max"
    )
    return most(frame("kernels", sums.reset_index()), "total_seconds")


def mismatch(name: str, place: str, programs: Iterable[str], found: str) -> JaxmeterError:
    """Return the error for an HLO text that does not match the operations of a trace or capture.

    `found` says how many of these operations are in the text, as in ``3 of the 20 operations of the
    trace``.
    """
    listed = ", ".join(sorted(programs)) or "unknown"
    return JaxmeterError(
        f"hlo: got an HLO text of {name} that does not match the {place}: programs in the {place} "
        f"are {listed}, and {found} are in the text; give the HLO text of the program that ran"
    )


@checking_types
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
        machine. In the default, fields that need JAX, such as the backend, are empty.
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
    with file_errors("save", folder, "give a folder that can be written"):
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            write_file(folder / f"{name}.parquet", table.to_parquet())
            write_file(folder / f"{name}.csv", table.to_csv(index=False))
        write_file(folder / "environment.json", text)
    return folder
