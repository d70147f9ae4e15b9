"""Tidy tables of what was measured: nothing is summarised here but a process's own samples.

One row is one measurement, that is one process; units stand in the column names. The tables hold
every commit and every environment of the store; whoever summarises groups by both, since numbers
of two machines or two JAX versions are never pooled.
"""

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from .frames import groups, last_known, numeric, whole
from .load import SkippedFile, Store, StoredRecord

# Parameters that identify a kind of measurement; others become `parameter_<name>`.
CHUNKS = ("chunk_size", "target_chunk_size")
PARAMETERS = ("workload", "half_period", "variant", "digits", *CHUNKS)
RUNS_COUNT = 20  # of which a script's standard deviation is taken
FIELD_ERRORS = ("error_relative", "reference_error_relative")
PLACE = ("commit", "environment_key")
IDENTITY = (*PLACE, "suite", "case", "round_index", "status")

# Fields of a record's environment, and what they are called as columns.
ENVIRONMENT = {
    "machine": "machine",
    "platform": "platform",
    "cpu_model": "cpu_model",
    "cpus_available": "cpus_available_count",
    "ram_bytes": "ram_bytes",
    "python": "python_version",
    "jax": "jax_version",
    "jaxlib": "jaxlib_version",
    "numpy": "numpy_version",
    "jaxmeter": "jaxmeter_version",
    "backend": "backend",
    "device_kind": "device_kind",
    "device_count": "device_count",
    "xla_flags": "xla_flags",
    "jax_options": "jax_options",
}
PER_PROCESS_ENVIRONMENT = ("load_1min_before", "load_1min_after", "started_utc")
# Columns that come later: of the environment, and those that readers of the table add.
ADDED = ("environment", "side", "position", "trace_lower_compile_seconds")
TAKEN = frozenset((*ENVIRONMENT.values(), *PER_PROCESS_ENVIRONMENT, *ADDED))
FAILURE = ("phase", "kind", "message", "traceback")
MEASURED = ("phases", "constants", "counts", "program", "memory", "checks", "extras")


def measurements(store: Store) -> pd.DataFrame:
    """Return one row for each process: its place, its parameters, and all its measurements."""
    return frame_of_rows([measurement_row(stored) for stored in store.records])


def frame_of_rows(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return the table of rows of `measurement_row`, each column with its type."""
    first = [*IDENTITY, *PARAMETERS]
    found = [name for row in rows for name in row]
    frame = pd.DataFrame(rows, columns=pd.Index(dict.fromkeys([*first, *found])))
    started = pd.to_datetime(frame["started_utc"], utc=True, format="ISO8601", errors="coerce")
    frame["started_utc"] = started
    return _typed(frame)


def samples(store: Store) -> pd.DataFrame:
    """Return one row for each steady-state run, raw, in the order of the runs."""
    rows = [
        {**place_row(stored), "sample_index": index, "steady_seconds": seconds}
        for stored in store.records
        for index, seconds in enumerate(stored.record.samples_seconds)
    ]
    columns = [name for name in IDENTITY if name != "status"]
    return pd.DataFrame(rows, columns=pd.Index([*columns, "sample_index", "steady_seconds"]))


def captured_arrays(store: Store) -> pd.DataFrame:
    """Return one row for each captured array of each process."""
    rows = [
        {
            **place_row(stored),
            "array_index": index,
            "array_shape": json.dumps(array.shape),
            "array_dtype": array.dtype,
            "array_bytes": array.bytes,
            "array_where": array.where,
        }
        for stored in store.records
        for index, array in enumerate(stored.record.constants.arrays)
    ]
    columns = [name for name in IDENTITY if name != "status"]
    columns += ["array_index", "array_shape", "array_dtype", "array_bytes", "array_where"]
    return pd.DataFrame(rows, columns=pd.Index(columns))


def failures(frame: pd.DataFrame, skipped: tuple[SkippedFile, ...]) -> pd.DataFrame:
    """Return one row for each process that did not succeed, and for each skipped file."""
    columns = [*IDENTITY, *(f"failure_{name}" for name in FAILURE)]
    failed = frame.loc[frame["status"] != "ok"].reindex(columns=columns)
    unread = [
        {"case": str(item.path), "status": "unreadable", "failure_message": item.reason}
        for item in skipped
    ]
    skipped_rows = pd.DataFrame(unread, columns=pd.Index(columns), dtype=object)
    return pd.concat([failed.astype(object), skipped_rows], ignore_index=True)


def environments(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each commit and environment: machine, versions, times and load."""
    rows = []
    for place, group in groups(frame, PLACE):
        newest_last = group.sort_values("started_utc", na_position="first")
        rows.append(
            {
                **place,
                "first_started_utc": group["started_utc"].min(),
                "last_started_utc": group["started_utc"].max(),
                "processes_count": len(group),
                "cases_count": group["case"].nunique(),
                "load_1min_before_highest": group["load_1min_before"].max(),
                **{name: last_known(newest_last[name]) for name in ENVIRONMENT.values()},
                # Workers bound to one processor see only that.
                "cpus_available_count": group["cpus_available_count"].max(),
            }
        )
    return pd.DataFrame(rows)


def measurement_row(stored: StoredRecord) -> dict[str, Any]:
    """Return one row of `measurements`."""
    record = stored.record
    row: dict[str, Any] = {
        **place_row(stored),
        "status": record.status,
        **{f"failure_{name}": getattr(record.failure, name, None) for name in FAILURE},
        **_parameters(record.params),
        "factory_seconds": record.setup_seconds,
        # Distinguishes an error that is NaN from an error that was not checked.
        "checked_errors_count": sum(name in FIELD_ERRORS for name in record.checks),
        "not_a_number": _not_a_number({**record.extras, **record.checks}),
        "wall_seconds": record.wall_seconds,
        **_steady(record.samples_seconds),
        "naive_std_seconds": naive_std(record.phases.first_call_seconds, record.samples_seconds),
    }
    for group in MEASURED:
        section = getattr(record, group)
        values = section if isinstance(section, dict) else vars(section)
        for name, value in values.items():
            if name != "arrays":
                # Two groups may use one name, or a case that of a column: it then says whose it is.
                row[f"{group}_{name}" if name in row or name in TAKEN else name] = value
    environment = vars(record.environment) if record.environment else {}
    for name, column in ENVIRONMENT.items():
        value = environment.get(name)
        row[column] = json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
    return row | {name: environment.get(name) for name in PER_PROCESS_ENVIRONMENT}


def place_row(stored: StoredRecord) -> dict[str, Any]:
    """Return the place of a record as columns."""
    return {
        "commit": stored.commit,
        "environment_key": stored.environment_key,
        "suite": stored.case.split("/")[0],
        "case": stored.case,
        "round_index": stored.round_index,
    }


def _parameters(params: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as columns; chunk sizes as text, since "auto" is one; None is one chunk."""
    row: dict[str, Any] = dict.fromkeys(PARAMETERS)
    for name, value in params.items():
        if name in CHUNKS:
            row[name] = "none" if value is None else str(value)
        elif name in PARAMETERS:
            row[name] = value
        else:
            row[f"parameter_{name}"] = None if value is None else str(value)
    return row


def _not_a_number(found: Mapping[str, float]) -> str | None:
    """Return the names of NaN values, as text; None where there is none."""
    return ", ".join(sorted(name for name, value in found.items() if math.isnan(value))) or None


def _steady(seconds: Sequence[float]) -> dict[str, float | int | None]:
    """Return the process's own median and standard deviation; one run has no deviation."""
    return {
        "steady_count": len(seconds),
        "steady_median_seconds": statistics.median(seconds) if seconds else None,
        "steady_std_seconds": _std(seconds) if len(seconds) > 1 else None,
        "steady_minimum_seconds": min(seconds, default=None),
        "steady_maximum_seconds": max(seconds, default=None),
    }


def naive_std(first_call: float | None, steady: Sequence[float]) -> float | None:
    """Return the standard deviation of 20 runs as a script times them, the first call included.

    None where there are fewer.
    """
    if first_call is None or len(steady) < RUNS_COUNT - 1:
        return None
    return _std([first_call, *steady[: RUNS_COUNT - 1]])


def _std(values: Sequence[float]) -> float:
    """Return the standard deviation, much faster than `statistics.stdev`."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _typed(frame: pd.DataFrame) -> pd.DataFrame:
    """Whole numbers stay whole beside missing ones, so that bytes can be compared exactly."""
    endings = ("_seconds", "_bytes", "_count", "_relative", "_before", "_after")
    for name in frame.columns:
        if name.endswith(endings) or name in ("digits", "flops"):
            frame[name] = numeric(frame[name])
        if name.endswith(("_bytes", "_count")) or name == "digits":
            frame[name] = whole(frame[name])
    return frame.astype({"half_period": "boolean"})
