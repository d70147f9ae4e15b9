"""Tables as a reader sees them: cells of text, made once, then written as HTML or Markdown."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..frames import Row, rows
from ..units import (
    BYTES,
    MISSING,
    SECONDS,
    Unit,
    in_unit,
    own_unit,
    scientific,
    significant,
    unit_for,
)

NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class Cell:
    """What stands in one cell.

    Attributes
    ----------
    text, unit : str
        The number and its unit, or any text and no unit.
    note : str
        Small print below: an interval, the problem of a row.
    exact : str
        The unrounded value, shown on hovering.
    order : float or str
        What the column is sorted by.
    tone : str
        A variant's name (its colour), "good" or "bad"; empty for none.
    """

    text: str
    unit: str = ""
    note: str = ""
    exact: str = ""
    order: float | str = ""
    tone: str = ""

    @property
    def plain(self) -> str:
        """The cell on one line of Markdown."""
        value = f"{self.text} {self.unit}".rstrip()
        return f"{value} ({self.note})" if self.note else value


@dataclass(frozen=True)
class Column:
    """A column: its title, what it means, and how each row of a data frame becomes a cell."""

    title: str
    cells: Callable[[pd.DataFrame], list[Cell]]
    meaning: str = ""
    is_text: bool = False


@dataclass(frozen=True)
class DisplayTable:
    """A table ready to be written; `group_starts` are the rows that begin a new problem."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    group_starts: frozenset[int] = frozenset()


def display_table(
    frame: pd.DataFrame,
    columns: Sequence[Column],
    *,
    name: str,
    caption: str,
    group_by: Sequence[str] = (),
) -> DisplayTable:
    """Turn `frame` into cells; columns that have nothing to show in any row are left out."""
    made = [(column, column.cells(frame)) for column in columns]
    shown = [(c, cells) for c, cells in made if any(cell.text != MISSING for cell in cells)]
    keys = list(frame[list(group_by)].astype(str).itertuples(index=False)) if group_by else []
    starts = frozenset(i for i in range(1, len(keys)) if keys[i] != keys[i - 1])
    lines = tuple(zip(*(cells for _, cells in shown), strict=True))
    return DisplayTable(name, caption, tuple(column for column, _ in shown), lines, starts)


def problem_name(row: Any) -> str:
    """`w7x half period, d = 6`, from the row's workload, half_period and digits."""
    digits = "" if pd.isna(row["digits"]) else f", {digits_name(row)}"
    return f"{workload_name(row)}{digits}"


def workload_name(row: Any) -> str:
    """`w7x half period`, from the row's workload and half_period."""
    workload = "unnamed" if pd.isna(row["workload"]) else str(row["workload"])
    if pd.isna(row["half_period"]):
        return workload
    return f"{workload} {'half' if row['half_period'] else 'full'} period"


def digits_name(row: Any) -> str:
    """`d = 6`, kept on one line."""
    return f"d{NO_BREAK}={NO_BREAK}{int(row['digits'])}"


def row_head(title: str, text: Callable[[Any], str], note: Callable[[Any], str]) -> Column:
    """The first column: what the row is, with its problem below; sorted as the rows stand."""

    def cells(frame: pd.DataFrame) -> list[Cell]:
        return [
            Cell(text(row), note=note(row), order=i, tone=str(row.get("variant", "")))
            for i, row in enumerate(rows(frame))
        ]

    return Column(title, cells, is_text=True)


def text(title: str, name: str, meaning: str = "") -> Column:
    """A column of plain text."""

    def cells(frame: pd.DataFrame) -> list[Cell]:
        return [_missing() if pd.isna(v) else Cell(str(v), order=str(v)) for v in frame[name]]

    return Column(title, cells, meaning, is_text=True)


def time(title: str, stem: str, meaning: str = "", *, interval: bool = True) -> Column:
    """Seconds `<stem>_median_seconds`, with the interval of its `_low_` and `_high_` columns."""

    def cells(frame: pd.DataFrame) -> list[Cell]:
        return _quantity(
            frame,
            SECONDS,
            f"{stem}_median_seconds",
            f"{stem}_low_seconds" if interval else None,
            f"{stem}_high_seconds" if interval else None,
        )

    return Column(title, cells, meaning)


def size(title: str, name: str, meaning: str = "") -> Column:
    """Bytes, with the exact count on hovering."""
    return Column(title, lambda frame: _quantity(frame, BYTES, name), meaning)


def ratio(title: str, stem: str, meaning: str = "", *, interval: bool = True) -> Column:
    """`<stem>_ratio`, with the interval of its `_low_ratio` and `_high_ratio` columns."""

    def cells(frame: pd.DataFrame) -> list[Cell]:
        return _quantity(
            frame,
            (Unit("×", 1.0),),
            f"{stem}_ratio",
            f"{stem}_low_ratio" if interval else None,
            f"{stem}_high_ratio" if interval else None,
        )

    return Column(title, cells, meaning)


def count(title: str, name: str, meaning: str = "") -> Column:
    def cells(frame: pd.DataFrame) -> list[Cell]:
        return [_missing() if pd.isna(v) else Cell(f"{v:.0f}", order=float(v)) for v in frame[name]]

    return Column(title, cells, meaning)


def error(title: str, name: str, meaning: str = "", *, within: str | None = None) -> Column:
    """A relative error; toned by the boolean column `within` where one is named.

    A row whose `checked_errors_count` is 0 has no error to show; elsewhere NaN is what was found.
    """

    def cells(frame: pd.DataFrame) -> list[Cell]:
        return [_error_cell(row, row[name], within) for row in rows(frame)]

    return Column(title, cells, meaning)


def _error_cell(row: Row, value: float, within: str | None) -> Cell:
    if pd.isna(value) and row.get("checked_errors_count") == 0:
        return _missing()
    tone = "" if within is None else ("good" if row[within] else "bad")
    order = math.inf if pd.isna(value) else float(value)
    return Cell(scientific(float(value)), exact=repr(float(value)), order=order, tone=tone)


def _quantity(
    frame: pd.DataFrame,
    units: tuple[Unit, ...],
    name: str,
    low: str | None = None,
    high: str | None = None,
) -> list[Cell]:
    """Cells of one measured column in one shared unit, the interval as a note."""
    if name not in frame:
        return [_missing()] * len(frame)
    values = [math.nan if pd.isna(v) else float(v) for v in frame[name]]
    shared = unit_for(values, units)
    cells = []
    for index, value in enumerate(values):
        if math.isnan(value):
            cells.append(_missing())
            continue
        unit = own_unit(value, shared, units)
        note = ""
        if low is not None and high is not None:
            ends = [float(frame[end].iloc[index]) / unit.factor for end in (low, high)]
            note = "–".join(significant(end) for end in ends) if ends[0] != ends[1] else ""
        base = next((u.name for u in units if u.factor == 1.0), "")
        cells.append(
            Cell(
                in_unit(value, unit),
                unit.name,
                note,
                exact=f"{value:.10g} {base}".rstrip(),
                order=value,
            )
        )
    return cells


def _missing() -> Cell:
    return Cell(MISSING, order=-math.inf)
