"""Reads asv's results folder with asv's own reader."""

import itertools
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from jaxmeter import check_file, read_file

from .errors import ReportError
from .load import SkippedFile, skipped_file
from .tables import numeric

ASV_BYTES = 2**26
OTHERS = ("machine.json", "benchmarks.json")  # in asv's folder beside the results
COLUMNS = (
    *("commit", "commit_date_utc", "machine", "environment_key", "benchmark", "parameters"),
    *("value", "unit", "interval_low", "interval_high", "samples_count"),
)


@dataclass(frozen=True)
class AsvResults:
    """The values that asv stores, as a table, and the files that could not be read."""

    table: pd.DataFrame
    skipped: tuple[SkippedFile, ...]


def read_asv(root: str | Path) -> AsvResults:
    """Read one row for each value in asv: benchmark x parameters x commit x environment.

    Values without a number (skipped or failed) have a missing `value`. `interval_low` and
    `interval_high` are asv's 99 % interval in the row's `unit`, where it stored samples.

    Raises
    ------
    ReportError
        If `root` is no folder, or asv is not installed.
    """
    root = Path(root)
    if not root.is_dir():
        raise ReportError(f"read_asv: {root} is no folder; run asv first, or leave --asv out")
    try:
        from asv.results import Results
    except ImportError as error:
        raise ReportError(
            f"read_asv: asv cannot be imported ({error}); pip install asv, or leave --asv out"
        ) from error
    rows: list[dict[str, Any]] = []
    skipped: list[SkippedFile] = []
    units = _units(root)
    for path, machine in _files(root, skipped):
        try:
            check_file(path, ASV_BYTES)
            rows += list(_rows_of(Results.load(str(path), machine_name=machine), units))
        except Exception as error:  # asv's reader raises anything for files of another format
            skipped.append(skipped_file(root, path, error))
    table = pd.DataFrame(rows, columns=pd.Index(COLUMNS))
    for name in ("value", "interval_low", "interval_high"):
        table[name] = numeric(table[name])
    return AsvResults(table, tuple(skipped))


def _files(root: Path, skipped: list[SkippedFile]) -> Iterator[tuple[Path, str]]:
    """Yield asv's files of results with the machine of their folder."""
    for folder, _, names in os.walk(root):
        results = [name for name in sorted(names) if name.endswith(".json") and name not in OTHERS]
        if not results:
            continue
        about = Path(folder, "machine.json")
        try:
            machine = json.loads(read_file(about))["machine"]
        except FileNotFoundError:
            continue
        except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
            skipped.append(skipped_file(root, about, error))
            continue
        yield from ((Path(folder, name), str(machine)) for name in results)


def _rows_of(kept: Any, units: dict[str, str]) -> Iterator[dict[str, Any]]:
    for key in sorted(kept.get_all_result_keys()):
        params = kept.get_result_params(key)
        values, stats = kept.get_result_value(key, params), kept.get_result_stats(key, params)
        for combination, value, stat in zip(
            itertools.product(*params), values, stats, strict=False
        ):
            stat = stat or {}
            yield {
                "commit": kept.commit_hash,
                "commit_date_utc": pd.to_datetime(kept.date, unit="ms", utc=True),
                "machine": kept.params.get("machine"),
                # Spelled as in the store of cases, so that the tables can be joined.
                "environment_key": re.sub(r"[^\w.+-]+", "-", kept.env_name or ""),
                "benchmark": key,
                "parameters": ", ".join(value.strip("'") for value in combination),
                "value": value,
                "unit": units.get(key, ""),
                "interval_low": stat.get("ci_99_a"),
                "interval_high": stat.get("ci_99_b"),
                "samples_count": stat.get("repeat"),
            }


def _units(root: Path) -> dict[str, str]:
    """Return the unit of each benchmark; empty if asv's list of benchmarks cannot be read."""
    try:
        listed = json.loads(read_file(root / "benchmarks.json", ASV_BYTES))
        benchmarks = {name: entry for name, entry in listed.items() if isinstance(entry, dict)}
    except (OSError, ValueError, RecursionError, AttributeError):
        return {}
    return {name: str(entry.get("unit", "")) for name, entry in benchmarks.items()}
