"""Tables to files: Parquet and CSV beside the environment they were made in."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from jaxmeter._records.record import Environment
from jaxmeter.errors import JaxmeterError


def save(
    tables: Mapping[str, pd.DataFrame],
    folder: Path,
    environment: Environment,
    *,
    notes: Mapping[str, Any] | None = None,
) -> Path:
    """Write each table as ``NAME.parquet`` and ``NAME.csv`` and the environment beside them.

    A file is replaced whole or not at all.

    Parameters
    ----------
    tables : mapping
        Frames by name.
    folder : Path
        Made if it is not there.
    environment : Environment
        Where the artefact, or else the tables, were made.
    notes : mapping, optional
        More to keep in ``environment.json``, such as the artefact's path.

    Raises
    ------
    JaxmeterError
        If the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            _replace(folder / f"{name}.parquet", lambda path, t=table: t.to_parquet(path))
            _replace(folder / f"{name}.csv", lambda path, t=table: t.to_csv(path, index=False))
        told = {"environment": environment.to_data(), **(notes or {})}
        text = json.dumps(told, indent=1, default=str) + "\n"
        _replace(folder / "environment.json", lambda path: path.write_text(text, encoding="utf-8"))
    except OSError as error:
        raise JaxmeterError(
            f"save: got folder={str(folder)!r} ({error}); give one to write"
        ) from None
    return folder


def _replace(path: Path, write: Any) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
