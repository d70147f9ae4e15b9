"""Make tables of text cells from data frames, to be written as HTML or Markdown."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .. import units
from ..quantities import Row
from ..tables import rows
from ..units import BYTES, MISSING, RATIOS, SECONDS, Unit

NO_BREAK = "\u00a0"


@dataclass(frozen=True)
class Cell:
    """The text of one cell."""

    text: str  # a number, or any text without a unit
    unit: str = ""
    note: str = ""  # small print below the text, such as an interval or the problem of a row
    exact: str = ""  # the value with more digits, shown when the pointer is on the cell
    order: float | str = ""  # the value that the column is sorted by
    tone: str = ""  # the colour: the name of a variant, "good" or "bad"; empty for no colour


ABSENT = Cell(MISSING, order=-math.inf)
WHY_ABSENT = (
    f"{MISSING}: this number was not measured or cannot be computed. Processes that failed or were "
    "skipped are listed at the end, with their reasons."
)


@dataclass(frozen=True)
class Column:
    """A column: its title, its meaning, and how the rows of a summary become cells."""

    title: str
    cells: Callable[[Sequence[Row]], list[Cell]]
    meaning: str = ""
    is_text: bool = False


@dataclass(frozen=True)
class Table:
    """A table of cells.

    `group_starts` has the index of the first row of each group except the first group. `note` is
    shown below the table.
    """

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    group_starts: frozenset[int] = frozenset()
    note: str = ""


def table(
    frame: pd.DataFrame,
    columns: Sequence[Column],
    name: str,
    caption: str,
    *,
    group_by: Sequence[str] = (),
) -> Table:
    """Return the table of `frame`, without columns that have no value in any row.

    Neighbouring rows with equal values in the columns `group_by` form a group.
    """
    found = rows(frame)
    made = [(column, column.cells(found)) for column in columns]
    shown = [(c, cells) for c, cells in made if any(cell.text != MISSING for cell in cells)]
    keys = [[str(row[name]) for name in group_by] for row in found]
    starts = frozenset(i for i in range(1, len(keys)) if keys[i] != keys[i - 1])
    lines = tuple(zip(*(cells for _, cells in shown), strict=True))
    note = WHY_ABSENT if any(ABSENT in cells for _, cells in shown) else ""
    return Table(name, caption, tuple(column for column, _ in shown), lines, starts, note)


def problem_name(row: Any) -> str:
    """Return a name such as `w7x half period, d = 6`, or `N = 64` for a row with a size."""
    if not pd.isna(row.get("size")):
        return f"N{NO_BREAK}={NO_BREAK}{int(row['size'])}"
    digits = "" if pd.isna(row["digits"]) else f", {digits_name(row)}"
    return f"{workload_name(row)}{digits}"


def workload_name(row: Any) -> str:
    """Return a name such as `w7x half period`, from the row's workload and half_period."""
    workload = "unnamed" if pd.isna(row["workload"]) else str(row["workload"])
    if pd.isna(row["half_period"]):
        return workload
    return f"{workload} {'half' if row['half_period'] else 'full'} period"


def digits_name(row: Any) -> str:
    """Return the requested digits, such as `d = 6`, with spaces at which lines do not break."""
    return f"d{NO_BREAK}={NO_BREAK}{int(row['digits'])}"


def row_head(title: str, text: Callable[[Any], str], note: Callable[[Any], str]) -> Column:
    """Return the first column, with the name and a note of each row.

    Sorting a table by this column restores the original order of the rows.
    """

    def cells(found: Sequence[Row]) -> list[Cell]:
        return [
            Cell(text(row), note=note(row), order=i, tone=str(row.get("variant", "")))
            for i, row in enumerate(found)
        ]

    return Column(title, cells, is_text=True)


def text(title: str, name: str, meaning: str = "") -> Column:
    return _values(title, name, lambda v: Cell(str(v), order=str(v)), meaning, is_text=True)


def count(title: str, name: str, meaning: str = "") -> Column:
    return _values(title, name, lambda v: Cell(f"{v:.0f}", order=float(v)), meaning)


def _values(
    title: str, name: str, cell: Callable[[Any], Cell], meaning: str, *, is_text: bool = False
) -> Column:
    """Return a column of values; the cell of a missing value is a dash."""

    def cells(found: Sequence[Row]) -> list[Cell]:
        values = (row.get(name, math.nan) for row in found)
        return [ABSENT if pd.isna(value) else cell(value) for value in values]

    return Column(title, cells, meaning, is_text)


def time(title: str, stem: str, meaning: str = "") -> Column:
    """Make a column of the medians `<stem>_median_seconds`, with their intervals as notes."""
    names = [f"{stem}_{end}_seconds" for end in ("median", "low", "high")]
    return _quantity(title, meaning, SECONDS, *names)


def size(title: str, name: str, meaning: str = "") -> Column:
    """Make a column of bytes."""
    return _quantity(title, meaning, BYTES, name)


def ratio(title: str, stem: str, meaning: str = "", *, interval: bool = True) -> Column:
    """Make a column of the ratios `<stem>_ratio`; `interval` adds their intervals as notes."""
    ends = (f"{stem}_low_ratio", f"{stem}_high_ratio") if interval else ()
    return _quantity(title, meaning, RATIOS, f"{stem}_ratio", *ends)


def _quantity(title: str, meaning: str, choices: tuple[Unit, ...], name: str, *ends: str) -> Column:
    """Make a column of the numbers `name`, each with a unit from `choices`.

    The columns `ends` have the ends of an interval, which becomes the note of the number.
    """
    base = next((unit.name for unit in choices if unit.factor == 1.0), "")

    def cell(row: Row, shared: Unit) -> Cell:
        if pd.isna(row.get(name, math.nan)):
            return ABSENT
        value = float(row[name])
        unit = units.own_unit(value, shared, choices)
        interval = dict.fromkeys(float(row[end]) / unit.factor for end in ends)
        note = "–".join(map(units.significant, interval)) if len(interval) > 1 else ""
        exact = f"{value:.10g} {base}".rstrip()
        return Cell(units.in_unit(value, unit), unit.name, note, exact=exact, order=value)

    def cells(found: Sequence[Row]) -> list[Cell]:
        values = (float(row[name]) for row in found if not pd.isna(row.get(name, math.nan)))
        shared = units.unit_for(values, choices)
        return [cell(row, shared) for row in found]

    return Column(title, cells, meaning)


def error(title: str, name: str, meaning: str = "", *, within: str | None = None) -> Column:
    """Make a column of relative errors, coloured by the boolean column `within` if it is given.

    A missing error becomes a dash if there is no column `name`, or if `checked_errors_count` is 0.
    Any other missing error is shown as NaN.
    """

    def cell(row: Row) -> Cell:
        value: Any = row.get(name, math.nan)
        if name not in row or (pd.isna(value) and row.get("checked_errors_count") == 0):
            return ABSENT
        tone = "" if within is None else ("good" if row[within] else "bad")
        order = math.inf if pd.isna(value) else float(value)
        text = units.scientific(float(value))
        return Cell(text, exact=repr(float(value)), order=order, tone=tone)

    return Column(title, lambda found: [cell(row) for row in found], meaning)


PHASES = (
    time("Trace", "trace", "Running the Python function once on abstract values"),
    time("Lower", "lower", "From the jaxpr to StableHLO"),
    time("Compile", "compile", "Compilation by XLA, without a cache"),
)
