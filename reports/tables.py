"""Make tidy tables of the measurements in a store, and group, convert and select their values.

In `measurements`, each row is one process. Repeated times of a process are summarised, for example
as the median and the standard deviation of the steady-state samples. The names of times and sizes
end in their units.

The tables contain every commit and every environment of the store. Summaries group the rows by
commit and by the name of the environment's folder. The name contains the version of JAX. In a store
that ``python -m reports merge`` wrote, the name also contains the machine.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pandas as pd

from .quantities import ENVIRONMENT, FAILURE, PARAMETERS, Row, measurement_row, place_row
from .store.load import SkippedFile, Store

PLACE = ("commit", "environment_key")
IDENTITY = (*PLACE, "suite", "case", "round_index")


def measurements(store: Store) -> pd.DataFrame:
    """Return one row for each process: commit, environment, case, parameters and measurements."""
    rows = [measurement_row(stored) for stored in store.records]
    found = [name for row in rows for name in row]
    columns = pd.Index(dict.fromkeys([*IDENTITY, "status", *PARAMETERS, *found]))
    frame = pd.DataFrame(rows, columns=columns)
    started = pd.to_datetime(frame["started_utc"], utc=True, format="ISO8601", errors="coerce")
    frame["started_utc"] = started
    # Integers stay integers even if values are missing, so that bytes can be compared exactly.
    endings = ("_seconds", "_bytes", "_count", "_relative", "_before", "_after")
    for name in frame.columns:
        if name.endswith(endings) or name in ("digits", "flops", "size"):
            frame[name] = numeric(frame[name])
        if name.endswith(("_bytes", "_count")) or name == "digits":
            frame[name] = whole(frame[name])
    return frame.astype({"half_period": "boolean"})


def samples(store: Store) -> pd.DataFrame:
    """Return one row for each steady-state run of each process, in the order of the runs."""
    rows = [
        {**place_row(stored), "sample_index": index, "steady_seconds": seconds}
        for stored in store.records
        for index, seconds in enumerate(stored.record.samples_seconds)
    ]
    return pd.DataFrame(rows, columns=pd.Index([*IDENTITY, "sample_index", "steady_seconds"]))


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
    own = ("array_index", "array_shape", "array_dtype", "array_bytes", "array_where")
    return pd.DataFrame(rows, columns=pd.Index([*IDENTITY, *own]))


def failures(frame: pd.DataFrame, skipped: tuple[SkippedFile, ...]) -> pd.DataFrame:
    """Return one row for each process that did not succeed, and for each skipped file."""
    columns = [*IDENTITY, "status", *(f"failure_{name}" for name in FAILURE)]
    failed = frame.loc[frame["status"] != "ok"].reindex(columns=columns)
    unread = [
        {"case": str(item.path), "status": "unreadable", "failure_message": item.reason}
        for item in skipped
    ]
    skipped_rows = pd.DataFrame(unread, columns=pd.Index(columns), dtype=object)
    return pd.concat([failed.astype(object), skipped_rows], ignore_index=True)


def environments(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each commit and environment: machine, versions, start times, load."""
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
                # A process that is bound to one CPU counts only this CPU, so use the largest count.
                "cpus_available_count": group["cpus_available_count"].max(),
            }
        )
    return pd.DataFrame(rows)


def rows(frame: pd.DataFrame) -> list[Row]:
    """Return each row as a dictionary from column names to values."""
    return cast(list[Row], frame.to_dict("records"))


def groups(frame: Any, names: Sequence[str]) -> Iterator[tuple[Row, Any]]:
    """Yield the groups of rows that agree in the columns `names`, sorted by these columns.

    Each group is a pair: a dictionary with the values of these columns, and a table of its rows.
    Rows with a missing value form groups too.
    """
    for key, group in frame.groupby(list(names), dropna=False, sort=True):
        yield dict(zip(names, key, strict=True)), group


def whole(column: Any) -> pd.Series:
    """Return the column as nullable integers if all its numbers are whole, else as floats."""
    numbers = column.dropna()
    is_whole = bool((numbers == numbers.round()).all())
    return column.astype("Int64" if is_whole else "float64")


def numeric(column: Any) -> pd.Series:
    """Return the column as numbers; values that are not numbers become missing."""
    return cast(pd.Series, pd.to_numeric(column, errors="coerce"))


def last_known(column: Any) -> Any:
    """Return the last value that is not missing; None if all values are missing."""
    known = column.dropna()
    return None if known.empty else known.iloc[-1]


def row_of_largest(frame: pd.DataFrame, name: str) -> Any:
    """Return the row with the largest value of a column; None if no row has a value."""
    column: Any = frame.get(name)
    return None if column is None or column.isna().all() else frame.loc[column.idxmax()]
