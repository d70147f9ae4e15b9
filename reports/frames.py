"""Small helpers around pandas, with the types that pandas itself leaves open."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pandas as pd

Row = dict[str, Any]


def rows(frame: pd.DataFrame) -> list[Row]:
    """Return the rows as dictionaries by column."""
    return cast(list[Row], frame.to_dict("records"))


def groups(frame: Any, names: Sequence[str]) -> Iterator[tuple[Row, Any]]:
    """Yield the values of `names` and the rows that have them, sorted; missing is a value too."""
    for key, group in frame.groupby(list(names), dropna=False, sort=True):
        yield dict(zip(names, key, strict=True)), group


def any_of(column: Any) -> bool:
    """Return whether any value of a boolean column is true."""
    return bool(column.fillna(False).to_numpy(dtype=bool).any())


def whole(column: Any) -> pd.Series:
    """Return the column as nullable integers if all its numbers are whole, else as it is."""
    numbers = column.dropna()
    is_whole = bool((numbers == numbers.round()).all())
    return column.astype("Int64" if is_whole else "float64")


def numeric(column: Any) -> pd.Series:
    """Return the column as numbers; other values become missing."""
    return cast(pd.Series, pd.to_numeric(column, errors="coerce"))


def last_known(column: Any) -> Any:
    """Return the last value that is not missing: a process that failed early records less."""
    known = column.dropna()
    return None if known.empty else known.iloc[-1]


def row_of_largest(frame: pd.DataFrame, name: str) -> Any:
    """Return the row with the largest value of a column; None where there is no value."""
    column: Any = frame.get(name)
    return None if column is None or column.isna().all() else frame.loc[column.idxmax()]
