"""Write numbers, types and source lines in a form that people can read."""

from __future__ import annotations

import os
import sys
from typing import Any


def seconds_text(seconds: float | None, digits: int = 3) -> str:
    """Return a time in seconds as text with a suitable unit; empty for None.

    The number is rounded to `digits` significant digits.
    """
    if seconds is None:
        return ""
    seconds = float(f"{seconds:.{digits}g}")
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.{digits + 2}g} {unit}"
    return f"{seconds * 1e9:.{digits + 2}g} ns"


def bytes_text(size: float | None) -> str:
    """Return a size in bytes as text; empty for None.

    Sizes below 10 kB are in B, larger sizes in kB, MB or GB (powers of 1000).
    """
    if size is None:
        return ""
    if size < 10_000:
        return f"{size:.0f} B"
    for unit, factor in (("kB", 1e3), ("MB", 1e6)):
        if size < 1000 * factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size / 1e9:.4g} GB"


def count_text(count: int, what: str) -> str:
    """Return a count with its noun: ``1 array``, ``2 arrays``, ``2 processes``."""
    plural = f"{what}es" if what.endswith("s") else f"{what}s"
    return f"{count} {what if count == 1 else plural}"


def quantity_text(quantity: str, value: float) -> str:
    """Return a value as text, with a unit if the quantity's name ends in seconds or bytes."""
    if quantity.endswith("seconds"):
        return seconds_text(value)
    return bytes_text(value) if quantity.endswith("bytes") else f"{value:,.0f}"


def type_text(array: Any) -> str:
    """Return the type of an object with a dtype and a shape: ``float32[64, 3]``."""
    return f"{array.dtype}[{', '.join(map(str, array.shape))}]"


def place_text(place: str) -> str:
    """Return ``file:line``, with a relative path if the file is inside the current directory.

    A line in a notebook is given by the number of its cell: ``In [3]:7``.
    """
    if "ipykernel" in place and (cell := _cell_text(place)):
        return cell
    path = os.path.relpath(place) if os.path.isabs(place) else place
    return place if path.startswith("..") else path


def _cell_text(place: str) -> str | None:
    """Return ``In [3]:7`` for line 7 of notebook cell 3; None if ``place`` is not in a cell.

    IPython stores each cell in a temporary file. ``place`` is a ``file:line``.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    numbers = getattr(getattr(shell, "compile", None), "_filename_map", {})
    file, _, line = place.rpartition(":")
    return f"In [{numbers[file]}]:{line}" if file in numbers else None


def devices_notes(count: int | None) -> tuple[str, ...]:
    """Return a note that the numbers are per device; no note if the count is 1 or not known."""
    if count is None or count < 2:
        return ()
    numbers = "flops, bytes accessed, arguments, outputs and temporaries"
    return (f"runs on {count} devices; {numbers} are per device",)
