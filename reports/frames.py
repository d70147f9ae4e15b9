"""The few things asked of pandas in many places, with the types that pandas itself leaves open."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import pandas as pd

# pandas types a column of a frame as almost anything, so columns are taken as such here.
Row = dict[str, Any]


def rows(frame: pd.DataFrame) -> list[Row]:
    """The rows as dictionaries by column."""
    return cast(list[Row], frame.to_dict("records"))


def groups(frame: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[Row, pd.DataFrame]]:
    """The rows that agree in `names`, sorted by them, with what they agree in; missing counts."""
    for key, group in frame.groupby(list(names), dropna=False, sort=True):
        yield dict(zip(names, cast(tuple, key), strict=True)), group


def any_of(column: Any) -> bool:
    """Whether any value of a column of truth values is true."""
    return bool(column.fillna(False).to_numpy(dtype=bool).any())


def whole(column: Any) -> pd.Series:
    """The column as nullable integers if every number in it is whole, else as it is."""
    numbers = column.dropna()
    is_whole = bool((numbers == numbers.round()).all())
    return column.astype("Int64" if is_whole else "float64")


def numeric(column: Any) -> pd.Series:
    """The column as numbers; what is no number becomes a missing one."""
    return cast(pd.Series, pd.to_numeric(column, errors="coerce"))
