"""NVTX ranges of a capture: what XLA notes in them, and which are around a time on a thread."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from jaxmeter._tables.nsys import NsysCapture
from jaxmeter.errors import JaxmeterError

_KINDS = {59: "push", 60: "start"}
THUNK = re.compile(r"Thunk:#(?P<notes>.*)#")
MODULE = re.compile(r"XlaModule:#(?P<notes>.*)#")
_NOTE = re.compile(r"(?P<key>\w+)=(?P<value>.*?)(?=,\w+=|$)")


def ranges_of(capture: NsysCapture) -> pd.DataFrame:
    """NVTX ranges: text, kind, thread, start and end in nanoseconds."""
    columns = {"text": [], "range_kind": [], "thread": [], "start": [], "end": []}
    for row in capture.nvtx.to_dict("records"):
        kind = _KINDS.get(row["eventType"])
        if kind is None or optional(row.get("end")) is None:
            continue
        text = row.get("text")
        if not isinstance(text, str):
            text = capture.strings.get(number(row.get("textId")), "")
        columns["text"].append(text)
        columns["range_kind"].append(kind)
        columns["thread"].append(number(row.get("globalTid")))
        columns["start"].append(int(row["start"]))
        columns["end"].append(int(row["end"]))
    return pd.DataFrame(columns)


def number(value: Any) -> int:
    return -1 if value is None or pd.isna(value) else int(value)


def notes_of(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    match = pattern.search(text)
    return {m["key"]: m["value"] for m in _NOTE.finditer(match["notes"])} if match else {}


class Thread:
    """The nested ranges of one thread."""

    def __init__(self, rows: pd.DataFrame) -> None:
        rows = rows.sort_values(["start", "end"], ascending=[True, False])
        self.texts = rows["text"].tolist()
        self.starts = rows["start"].to_numpy()
        self.ends = rows["end"].tolist()
        self.parents: list[int] = []
        open_ranges: list[int] = []
        for index, start in enumerate(self.starts.tolist()):
            while open_ranges and self.ends[open_ranges[-1]] <= start:
                open_ranges.pop()
            self.parents.append(open_ranges[-1] if open_ranges else -1)
            open_ranges.append(index)

    def around(self, time: int) -> list[str]:
        """The texts of all ranges at a time, the innermost first."""
        found = []
        index = int(np.searchsorted(self.starts, time, side="right")) - 1
        while index >= 0:
            if self.ends[index] > time:
                found.append(self.texts[index])
            index = self.parents[index]
        return found


def optional(value: Any) -> int | None:
    return None if value is None or pd.isna(value) else int(value)


def check_captured(name: str, ops: Mapping[str, Any], ranges: pd.DataFrame) -> None:
    """Make sure that the operations of a program are among those of a capture.

    Raises
    ------
    JaxmeterError
        If XLA's ranges tell of other programs or operations alone.
    """
    programs = {notes_of(MODULE, text).get("hlo_module", "") for text in ranges["text"]} - {""}
    ran = {notes_of(THUNK, text).get("hlo_op", "") for text in ranges["text"]} - {""}
    if (programs and name not in programs) or (ran and not any(op in ops for op in ran)):
        told = ", ".join(sorted(programs)) or "unknown programs"
        raise JaxmeterError(
            f"hlo: got a text of {name} that is not the program that ran: the capture has "
            f"{len(ran)} operations of {told}"
        )
