"""Commits at which every process of a case failed."""

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from ..frames import Row, groups, rows

MOST_CHARACTERS = 240  # of a failure's message


@dataclass(frozen=True)
class Failed:
    """One case at one commit, all of whose processes failed; `commit` is its position."""

    case: str
    commit: int
    processes_count: int
    reason: str


def all_failed(table: pd.DataFrame) -> Iterator[Failed]:
    """Return the cases and commits of which every process failed, in their order.

    Parameters
    ----------
    table : DataFrame
        Measurements of one environment with their commits' `position`.
    """
    where = ["position", "case"]
    is_good = table["status"].eq("ok").groupby([table[name] for name in where]).transform("any")
    for key, found in groups(table.loc[~is_good], where):
        first = rows(found.sort_values("round_index"))[0]
        yield Failed(str(key["case"]), int(key["position"]), len(found), _reason(first))


def _reason(row: Row) -> str:
    """Return the phase, the error's name and the first line of its message."""
    parts = {name: row.get(f"failure_{name}") for name in ("phase", "kind", "message")}
    known = {name: text.strip() for name, text in parts.items() if isinstance(text, str)}
    lines = known.get("message", "").splitlines()
    said = ": ".join(filter(None, [known.get("kind"), *lines[:1]])) or str(row["status"])
    text = f"in {known['phase']}: {said}" if known.get("phase") else said
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"
